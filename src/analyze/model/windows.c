/* windows.c - see windows.h. Rows come in order. */
#include "analyze/model/windows.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/order.h"

#include <string.h>

void sum_windows_init(struct model *m)
{
    busy_init(&m->windows.capture.recorded);
    busy_init(&m->windows.kernels.recorded);
}

void sum_windows_fini(struct model *m)
{
    busy_fini(&m->windows.capture.recorded);
    busy_fini(&m->windows.kernels.recorded);
    memset(&m->windows, 0, sizeof m->windows);
    sum_windows_init(m);
}

static int take(struct windows *w, bool opens, int64_t time)
{
    if (opens && w->open++ == 0) {
        w->opened++;
        w->since = time;
    } else if (!opens && w->open > 0 && --w->open == 0 && time > w->since) {
        return busy_add(&w->recorded, w->since, time);
    }
    return 0;
}

int sum_windows_batch(struct model *m, const struct wire_batch *b)
{
    enum { CAPTURE = 1, KERNELS };
    int rc = 0;
    m->windows.finished = false;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t time = cells_get(b, COL_window_time, i);
        int64_t kind = cells_or(b, COL_window_capture, i, 0);
        bool opens = cells_or(b, COL_window_phase, i, 0) == 0;
        if (!cells_time_ok(time) || (kind != CAPTURE && kind != KERNELS))
            continue;
        rc = take(kind == CAPTURE ? &m->windows.capture : &m->windows.kernels, opens, time);
    }
    return rc;
}

/* Returns true if the session's kernels are unknown, because its engine records none or they cannot
 * be read. */
static bool without_kernels(const struct model *m)
{
    enum known why = sum_known_why(m, KNOWN_KERNELS);
    return why == KNOWN_UNRECORDED || why == KNOWN_DAMAGED;
}

static int merge(struct windows *into, const struct windows *from, int64_t shift)
{
    into->opened += from->opened;
    into->open += from->open;
    into->without |= from->without;
    into->cut |= from->cut;
    int rc = busy_merge(&into->recorded, &from->recorded, shift);
    return rc ? rc : busy_settle(&into->recorded);
}

int sum_windows_merge(struct model *into, const struct model *from, int64_t shift)
{
    into->windows.finished = true;
    int rc = merge(&into->windows.capture, &from->windows.capture, shift);
    return rc ? rc : merge(&into->windows.kernels, &from->windows.kernels, shift);
}

/* Closes the open windows. until: ns, the session's end. */
static int finish(struct windows *w, const struct sum_facts *f, int64_t until)
{
    int64_t since = w->open ? w->since : f->start;
    if ((w->open || !w->opened) && until > since)
        return busy_add(&w->recorded, since, until);
    return 0;
}

/* Adds the parts of `from` before `until`. */
static int add_until(struct busy *to, const struct busy *from, int64_t until)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count && from->spans[i].start < until; i++)
        rc = busy_add(to, from->spans[i].start,
                      from->spans[i].end < until ? from->spans[i].end : until);
    return rc;
}

/* Finishes one session; merged sessions are finished already. */
static int finish_session(struct model *m)
{
    struct windows *c = &m->windows.capture, *k = &m->windows.kernels;
    int64_t end = m->facts.end, ended = sum_facts_ended(m), until = ended < end ? ended : end;
    int rc = finish(c, &m->facts, end);
    rc = rc ? rc : busy_settle(&c->recorded);
    k->without = !k->opened && without_kernels(m);
    k->cut = ended < end;
    m->windows.finished = true;
    if (rc || k->without)
        return rc;
    return c->opened && !k->opened ? add_until(&k->recorded, &c->recorded, until)
                                   : finish(k, &m->facts, until);
}

int sum_windows_finish(struct model *m)
{
    int rc = m->windows.finished ? 0 : finish_session(m);
    rc = rc ? rc : busy_settle(&m->windows.capture.recorded);
    return rc ? rc : busy_settle(&m->windows.kernels.recorded);
}

/* ---- answers ------------------------------------------------------------------------------- */

bool sum_windows_any(const struct model *m)
{
    return m->windows.capture.opened > 0;
}

bool sum_windows_gpu_any(const struct model *m)
{
    return sum_windows_any(m) || m->windows.kernels.opened > 0;
}

static int64_t time_of(const struct windows *w)
{
    struct busy_result r;
    busy_result(&w->recorded, &r);
    return r.busy;
}

bool sum_windows_partly(const struct model *m)
{
    const struct windows *w = &m->windows.kernels;
    return (w->without || w->cut) && !sum_windows_gpu_any(m) && time_of(w) > 0;
}

int64_t sum_windows_time(const struct model *m)
{
    return sum_windows_any(m) ? time_of(&m->windows.capture) : sum_facts_duration(m);
}

int64_t sum_windows_gpu_time(const struct model *m)
{
    const struct windows *w = &m->windows.kernels;
    return w->opened || w->cut || sum_windows_partly(m) ? time_of(w) : sum_windows_time(m);
}

const char *sum_windows_whole(const struct model *m)
{
    return sum_windows_any(m) ? "the windows" : "the run";
}

int64_t sum_windows_of_whole(const struct model *m, int64_t gpu_ns)
{
    if (!m->windows.kernels.opened)
        return gpu_ns;
    return cells_whole((double)gpu_ns *
                       cells_share((double)sum_windows_time(m), (double)sum_windows_gpu_time(m)));
}

bool sum_windows_cover(const struct model *m, int64_t start, int64_t end)
{
    const struct busy *b = m->windows.kernels.opened || m->windows.kernels.cut
                               ? &m->windows.kernels.recorded
                               : &m->windows.capture.recorded;
    if (!sum_windows_gpu_any(m) && !m->windows.kernels.cut)
        return true;
    size_t low = ORDER_PLACE(b->count, i, b->spans[i].end < end);
    return low < b->count && b->spans[low].start <= start;
}
