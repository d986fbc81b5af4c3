/* sum_windows.c - see sum_windows.h. Rows come in order. */
#include "analyze/sum_windows.h"

#include "analyze/cells.h"
#include "analyze/model.h"

#include <string.h>

void sum_windows_init(struct model *m)
{
    busy_init(&m->windows.recorded);
}

void sum_windows_fini(struct model *m)
{
    busy_fini(&m->windows.recorded);
    memset(&m->windows, 0, sizeof m->windows);
    sum_windows_init(m);
}

int sum_windows_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_windows *s = &m->windows;
    int code = 0;
    for (size_t i = 0; !code && i < b->rows; i++) {
        int64_t time = cells_get(b, COL_window_time, i);
        if (cells_or(b, COL_window_capture, i, 0) != 1 || !cells_time_ok(time))
            continue;
        bool opens = cells_or(b, COL_window_phase, i, 0) == 0;
        if (opens && s->open++ == 0) {
            s->opened++;
            s->since = time;
        } else if (!opens && s->open > 0 && --s->open == 0 && time > s->since) {
            code = busy_add(&s->recorded, s->since, time);
        }
    }
    return code;
}

int sum_windows_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_windows *s = &into->windows;
    s->opened += from->windows.opened;
    s->open += from->windows.open;
    int code = busy_merge(&s->recorded, &from->windows.recorded, shift);
    return code ? code : busy_settle(&s->recorded);
}

int sum_windows_finish(struct model *m)
{
    struct sum_windows *s = &m->windows;
    const struct sum_facts *f = &m->facts;
    int64_t since = s->open ? s->since : f->start;
    int code = 0;
    if ((s->open || !s->opened) && f->end > since)
        code = busy_add(&s->recorded, since, f->end);
    return code ? code : busy_settle(&s->recorded);
}

bool sum_windows_any(const struct model *m)
{
    return m->windows.opened > 0;
}

int64_t sum_windows_time(const struct model *m)
{
    struct busy_result r;
    if (!sum_windows_any(m))
        return sum_facts_duration(m);
    busy_result(&m->windows.recorded, &r);
    return r.busy;
}

const char *sum_windows_whole(const struct model *m)
{
    return sum_windows_any(m) ? "the windows" : "the run";
}

bool sum_windows_cover(const struct model *m, int64_t start, int64_t end)
{
    const struct busy *b = &m->windows.recorded;
    size_t low = 0, high = b->count;
    if (!sum_windows_any(m))
        return true;
    while (low < high) { /* the first that ends at `end` or behind */
        size_t middle = (low + high) / 2;
        if (b->spans[middle].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->count && b->spans[low].start <= start;
}
