/* idle.c - makes spans of work from rows, and sums of causes from the gaps between spans. */
#include "analyze/model/idle/idle.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/gap.h"
#include "analyze/model/idle/lead.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "analyze/model/threads/calls.h"
#include "analyze/model/threads/plans.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 1 << 20 };

static const struct {
    const char *key, *name, *text;
} causes[IDLE_CAUSES] = {
    [IDLE_SYNC] = {"host_sync", "host waits", "the host waited for the GPU"},
    [IDLE_COPY] = {"copy", "blocking copies", "the host was in a copy that blocks it"},
    [IDLE_MEMORY] = {"memory", "allocating, freeing", "the host allocated or freed GPU memory"},
    [IDLE_CODE] = {"code", "loading code", "the host loaded code"},
    [IDLE_QUEUED] = {"queued", "held up by other work",
                     "work waited for an event, a stream or another device"},
    [IDLE_BETWEEN] = {"back_to_back", "between kernels", "between kernels back to back"},
    [IDLE_SLOW] = {"slow_launches", "slow launches",
                   "the host launched more slowly than the GPU ran"},
    [IDLE_LATE] = {"late_launch", "late launches",
                   "the host did something else before it launched"},
    [IDLE_NOTHING] = {"nothing_submitted", "nothing submitted",
                      "nothing was submitted for more than 10 ms"},
    [IDLE_BEFORE] = {"before_first", "before the first work", "before the first work"},
    [IDLE_AFTER] = {"after_last", "after the last work", "after the last work"},
    [IDLE_ENGINE] = {"engine", "profiler's engine",
                     "an engine of the profiler was set up, read or given back"},
    [IDLE_OTHER] = {"other_process", "other processes on the GPU", "another process used the GPU"},
    [IDLE_START_UP] = {"start_up", "start-up", "before the steady part began"},
};

const char *sum_idle_key(enum idle_cause c)
{
    return causes[c].key;
}

const char *sum_idle_name(enum idle_cause c)
{
    return causes[c].name;
}

const char *sum_idle_text(enum idle_cause c)
{
    return causes[c].text;
}

void sum_idle_init(struct model *m)
{
    struct sum_idle *s = &m->idle;
    memset(s, 0, sizeof *s);
    s->max_spans = IDLE_SPANS;
    s->ended = INT64_MIN;
    keyed_init(&s->calls, sizeof(struct idle_blame), offsetof(struct idle_blame, gaps), CALLS_MAX);
    idle_looks_init(&s->looks);
    idle_parts_init(&s->parts);
    idle_lines_init(&s->lines);
    idle_gap_list_init(&s->gaps);
    idle_holders_init(&s->holders);
}

/* Frees what refers to ids of the log. */
static void drop_rows(struct sum_idle *s)
{
    idle_calls_drop(s);
    idle_engines_fini(&s->engines);
    idle_captured_fini(&s->captured);
    idle_looks_fini(&s->looks);
    idle_others_fini(&s->others);
    idle_parts_fini(&s->parts);
    keyed_fini(&s->calls);
}

void sum_idle_fini(struct model *m)
{
    struct sum_idle *s = &m->idle;
    for (size_t i = 0; i < s->device_count; i++)
        idle_spans_fini(&s->devices[i].spans);
    drop_rows(s);
    idle_lines_fini(&s->lines);
    idle_gap_list_fini(&s->gaps);
    idle_holders_fini(&s->holders);
    mem_free(s->devices);
    sum_idle_init(m);
}

/* ---- rows -------------------------------------------------------------------------------- */

static int ensure_device(struct model *m, uint32_t index)
{
    struct sum_idle *s = &m->idle;
    int rc = mem_grow(&s->devices, &s->device_cap, index + 1, sizeof *s->devices, DEVICES_MAX);
    for (; !rc && s->device_count <= index; s->device_count++) {
        s->devices[s->device_count] = (struct idle_device){0};
        idle_spans_init(&s->devices[s->device_count].spans, idle_gap_blame, m);
        s->devices[s->device_count].spans.max_spans = s->max_spans;
    }
    return rc;
}

struct columns {
    unsigned stream, correlation, scope;
    int stack, thread, inherited; /* -1: the record has none */
};

static uint32_t id_cell(const struct wire_batch *b, int column, size_t i)
{
    int64_t v = column < 0 ? 0 : cells_or(b, (unsigned)column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Takes the engines' overhead. Overhead that the vendor's library reports is not taken: it is
 * inside calls of the program, and some of it, such as its compiler's, happens without a profiler,
 * too. */
static int take_overhead(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    int64_t end;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        uint32_t kind = model_name_cell(m, cells_get(b, COL_overhead_kind, i));
        if (kind && strcmp(model_text(m, kind), OVERHEAD_ENGINE) == 0 &&
            cells_interval(b->col[0][i], b->col[1][i], &end))
            rc = idle_engines_add(&m->idle.engines, b->col[0][i], end,
                                  id_cell(b, COL_overhead_thread, i));
    }
    return rc;
}

/* Takes how many processes used a device. */
static int take_processes(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = idle_others_add(
            &m->idle.others, model_device_cell(m, cells_get(b, COL_device_metric_device, i)),
            cells_get(b, COL_device_metric_time, i), cells_get(b, COL_device_metric_processes, i));
    return rc;
}

static int take_work(struct model *m, const struct wire_batch *b, const struct columns *c)
{
    int64_t last = 0; /* rows of one scope mostly follow each other */
    bool last_heir = false;
    uint32_t handle = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct idle_span a = {.start = b->col[0][i], .count = 1};
        uint32_t device = model_stream_device(m, cells_get(b, c->stream, i));
        int64_t scope = cells_or(b, c->scope, i, 0);
        if (!cells_interval(a.start, b->col[1][i], &a.end))
            continue;
        a.first = a.newest = id_cell(b, (int)c->correlation, i);
        a.stack = id_cell(b, c->stack, i);
        a.thread = id_cell(b, c->thread, i);
        bool heir = id_cell(b, c->inherited, i) == 1;
        if (scope != last || heir != last_heir)
            rc = scope_path_handle(m, scope, heir, &handle);
        last = scope;
        last_heir = heir;
        a.scope = handle;
        if (!rc && device >= m->idle.device_count)
            rc = ensure_device(m, device);
        if (rc)
            break;
        m->idle.current = &m->idle.devices[device];
        rc = idle_spans_add(&m->idle.devices[device].spans, &a);
    }
    return rc;
}

int sum_idle_batch(struct model *m, const struct wire_batch *b)
{
    static const struct columns
        kernel = {COL_kernel_stream, COL_kernel_correlation, COL_kernel_scope,
                  COL_kernel_stack,  COL_kernel_thread,      COL_kernel_inherited},
        graph = {COL_graph_run_stream, COL_graph_run_correlation, COL_graph_run_scope,
                 COL_graph_run_stack,  COL_graph_run_thread,      -1},
        copy =
            {COL_memcpy_stream, COL_memcpy_correlation, COL_memcpy_scope, COL_memcpy_stack, -1, -1},
        fill = {COL_memset_stream, COL_memset_correlation, COL_memset_scope, -1, -1, -1};
    if (b->type == RECORD_launch)
        return idle_captured_batch(&m->idle.captured, b);
    if (b->type == RECORD_host_sample)
        return idle_looks_batch(&m->idle.looks, b);
    if (b->type == RECORD_device_metric)
        return take_processes(m, b);
    if (!b->col[0] || !b->col[1])
        return 0;
    if (b->type == RECORD_overhead)
        return take_overhead(m, b);
    return take_work(m, b,
                     b->type == RECORD_kernel      ? &kernel
                     : b->type == RECORD_graph_run ? &graph
                     : b->type == RECORD_memcpy    ? &copy
                                                   : &fill);
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Work without a device in the log belongs to the only device, if there is only one. */
static int give_to_only(struct model *m)
{
    struct sum_idle *s = &m->idle;
    uint32_t only = sum_devices_resolve(m, 0);
    if (!s->device_count || !s->devices[0].spans.count)
        return 0;
    if (!only && m->devices.count > 1) {
        s->unknown_device = true;
        return 0;
    }
    if (!only)
        return 0;
    int rc = ensure_device(m, only);
    rc = rc ? rc : idle_spans_settle(&s->devices[0].spans);
    s->current = &s->devices[only];
    for (size_t i = 0; !rc && i < s->devices[0].spans.count; i++)
        rc = idle_spans_add(&s->devices[only].spans, &s->devices[0].spans.spans[i]);
    for (int c = 0; c < IDLE_CAUSES; c++) {
        s->devices[only].causes[c].gaps += s->devices[0].causes[c].gaps;
        s->devices[only].causes[c].time += s->devices[0].causes[c].time;
        idle_longest_put(&s->devices[only].causes[c].longest, &s->devices[0].causes[c].longest, 0);
        s->devices[0].causes[c] = (struct idle_sum){0};
    }
    s->devices[only].spans.doubtful += s->devices[0].spans.doubtful;
    idle_spans_fini(&s->devices[0].spans);
    return rc;
}

/* Adds the time before the first work of the session, or after its last. */
static int blame_edge(struct model *m, struct idle_device *d, enum idle_cause c, uint32_t thread,
                      int64_t start, int64_t end)
{
    int64_t ns = idle_engines_within(&m->idle.engines, thread, start, end);
    if (ns > 0) {
        idle_gap_add(&d->causes[IDLE_ENGINE], ns);
        idle_parts_none(&m->idle.parts, IDLE_ENGINE, IDLE_OF_PROFILER, ns);
    }
    if (end - start <= ns)
        return 0;
    idle_gap_add(&d->causes[c], end - start - ns);
    idle_longest_put(&d->causes[c].longest, &(struct idle_longest){start, end, end - start - ns},
                     0);
    return idle_gap_blame_edge(m, c, start, end, end - start - ns);
}

/* Adds the time before the first work; time before the steady part is start-up. */
static int blame_before(struct model *m, struct idle_device *d)
{
    int64_t start = m->facts.start, end = d->spans.spans[0].start, begins;
    int rc = sum_steps_begin(m, &begins);
    if (!rc && begins > start && end > start) {
        int64_t until = begins < end ? begins : end;
        rc = idle_gap_blame_start(m, d->spans.spans[0].thread, start, until);
        start = until;
    }
    if (!rc && end > start)
        rc = blame_edge(m, d, IDLE_BEFORE, d->spans.spans[0].thread, start, end);
    return rc;
}

/* Adds the time after the last work of a device. The steady part lasts until the last work of all
 * devices: until then, a device that has finished is idle. */
static int blame_after(struct model *m, struct idle_device *d)
{
    int64_t end = d->spans.spans[0].end, last = m->idle.ended, until = m->facts.end;
    int rc = 0;
    if (m->steps.steady && last > end) {
        enum idle_cause c = last - end < IDLE_WORK ? IDLE_LATE : IDLE_NOTHING;
        rc = blame_edge(m, d, c, 0, end, last < until ? last : until);
        end = last;
    }
    return rc || end >= until ? rc : blame_edge(m, d, IDLE_AFTER, 0, end, until);
}

/* Adds the time before and after a device's work. Call after report_device. */
static int finish_device(struct model *m, struct idle_device *d)
{
    int rc = 0;
    m->idle.current = d;
    if (!d->spans.count)
        return 0;
    d->any = true;
    d->watched = d->steady = sum_windows_gpu_time(m);
    if (m->steps.steady) {
        d->after = m->idle.ended < m->facts.end ? m->facts.end - m->idle.ended : 0;
        d->steady -= m->steps.start_up + d->after;
        d->steady = d->steady > 0 ? d->steady : 0;
    }
    if (!sum_windows_gpu_any(m))
        rc = blame_before(m, d);
    if (!rc && !sum_windows_gpu_any(m) && !m->windows.kernels.cut)
        rc = blame_after(m, d);
    m->idle.doubtful = cells_sum(m->idle.doubtful, d->spans.doubtful);
    idle_spans_fini(&d->spans);
    return rc;
}

/* Finds the causes of a device's gaps, and the end of the last work of all devices. */
static int report_device(struct model *m, struct idle_device *d)
{
    m->idle.current = d;
    int rc = idle_spans_report(&d->spans);
    if (!rc && d->spans.count && d->spans.spans[0].end > m->idle.ended)
        m->idle.ended = d->spans.spans[0].end;
    return rc;
}

/* Returns false if rows of work were lost or not recorded, so that no time is known to be idle. */
static bool work_is_known(const struct model *m)
{
    enum known copies = sum_known_why(m, KNOWN_COPIES);
    return sum_known_is(m, KNOWN_KERNELS) && !sum_known_is_cut(m, KNOWN_KERNELS) &&
           copies != KNOWN_DAMAGED && copies != KNOWN_LOST;
}

/* Drops the gaps that were reported before it was known that rows of work are missing. */
static void drop_gaps(struct sum_idle *s)
{
    for (size_t i = 0; i < s->device_count; i++)
        memset(s->devices[i].causes, 0, sizeof s->devices[i].causes);
    idle_lines_fini(&s->lines);
    idle_lines_init(&s->lines);
    idle_gap_list_fini(&s->gaps);
    idle_gap_list_init(&s->gaps);
}

int sum_idle_finish(struct model *m)
{
    struct sum_idle *s = &m->idle;
    int rc = give_to_only(m);
    rc = rc ? rc : idle_plans_find(m);
    size_t first = s->unknown_device, devices = work_is_known(m) ? s->device_count : 0;
    for (size_t i = first; !rc && i < devices; i++)
        rc = report_device(m, &s->devices[i]);
    for (size_t i = first; !rc && i < devices; i++)
        rc = finish_device(m, &s->devices[i]);
    for (size_t i = 1; !rc && i < s->calls.count; i++) {
        const struct idle_blame *b = keyed_at(&s->calls, i);
        rc = sum_wait_lines_blame(m, b->stack, (int)b->what, b->time);
    }
    rc = rc ? rc : idle_activity_count(m);
    rc = rc ? rc : idle_holders_find(m);
    rc = rc ? rc : idle_lines_finish(m);
    if (!work_is_known(m))
        drop_gaps(s);
    idle_gap_list_sort(&s->gaps);
    rc = rc ? rc : idle_lead_find(m);
    if (!rc && s->ended > INT64_MIN)
        rc = sum_steps_end(m, s->ended);
    for (size_t i = 0; i < s->others.count; i++)
        if (s->others.rows[i].processes > 1 && s->others.rows[i].device < s->device_count)
            s->devices[s->others.rows[i].device].shared = true;
    s->ended = INT64_MIN;
    drop_rows(s);
    return rc;
}

int sum_idle_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_idle *s = &into->idle;
    const struct sum_idle *o = &from->idle;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < o->device_count; i++) {
        uint32_t at = into->devices.merged[i];
        rc = ensure_device(into, at);
        for (int c = 0; !rc && c < IDLE_CAUSES; c++) {
            struct idle_sum *to = &s->devices[at].causes[c];
            to->gaps += o->devices[i].causes[c].gaps;
            to->time = cells_sum(to->time, o->devices[i].causes[c].time);
            idle_longest_put(&to->longest, &o->devices[i].causes[c].longest, shift);
        }
        if (rc)
            break;
        s->devices[at].any |= o->devices[i].any;
        s->devices[at].shared |= o->devices[i].shared;
        s->devices[at].watched = cells_sum(s->devices[at].watched, o->devices[i].watched);
        s->devices[at].steady = cells_sum(s->devices[at].steady, o->devices[i].steady);
        s->devices[at].after = cells_sum(s->devices[at].after, o->devices[i].after);
        s->devices[at].start_up_engine =
            cells_sum(s->devices[at].start_up_engine, o->devices[i].start_up_engine);
    }
    s->loads.all += o->loads.all;
    s->loads.later += o->loads.later;
    for (int a = 0; a < ACTIVITIES; a++) {
        s->stretches[a].all += o->stretches[a].all;
        s->stretches[a].later += o->stretches[a].later;
        s->stretches[a].mixed += o->stretches[a].mixed;
        s->stretches[a].steps += o->stretches[a].steps;
        s->stretches[a].of += o->stretches[a].of;
    }
    idle_changed_merge(into, from);
    rc = rc ? rc : idle_lines_merge(into, from, shift);
    rc = rc ? rc : idle_holders_merge(into, from);
    s->doubtful = cells_sum(s->doubtful, o->doubtful);
    s->unknown_device |= o->unknown_device;
    return rc;
}

unsigned sum_idle_total(const struct model *m, struct idle_sum sums[IDLE_CAUSES], int64_t *all)
{
    unsigned devices = 0;
    *all = 0;
    memset(sums, 0, IDLE_CAUSES * sizeof *sums);
    for (size_t i = 0; i < m->idle.device_count; i++) {
        devices += m->idle.devices[i].any;
        for (int c = 0; c < IDLE_CAUSES; c++) {
            sums[c].gaps += m->idle.devices[i].causes[c].gaps;
            sums[c].time = cells_sum(sums[c].time, m->idle.devices[i].causes[c].time);
            idle_longest_put(&sums[c].longest, &m->idle.devices[i].causes[c].longest, 0);
            *all = cells_sum(*all, m->idle.devices[i].causes[c].time);
        }
    }
    return devices;
}

int64_t sum_idle_start_up_engine(const struct model *m)
{
    int64_t ns = 0;
    for (size_t i = 0; i < m->idle.device_count; i++)
        ns = cells_sum(ns, m->idle.devices[i].start_up_engine);
    return ns;
}

void sum_idle_device_steady(const struct model *m, const struct idle_device *d,
                            struct idle_sum sums[IDLE_CAUSES])
{
    struct idle_sum *after = &sums[IDLE_AFTER];
    if (!sum_steps_steady(m))
        return;
    after->time -= d->after < after->time ? d->after : after->time;
    sums[IDLE_START_UP] = (struct idle_sum){0};
}

unsigned sum_idle_steady(const struct model *m, struct idle_sum sums[IDLE_CAUSES], int64_t *all)
{
    unsigned devices = sum_idle_total(m, sums, all);
    if (!sum_steps_steady(m))
        return devices;
    for (size_t i = 0; i < m->idle.device_count; i++)
        sum_idle_device_steady(m, &m->idle.devices[i], sums);
    *all = 0;
    for (int c = 0; c < IDLE_CAUSES; c++)
        *all = cells_sum(*all, sums[c].time);
    return devices;
}

bool sum_idle_counts(const struct model *m, enum idle_cause c)
{
    return !sum_steps_steady(m) || (c != IDLE_START_UP && c != IDLE_AFTER);
}

int64_t sum_idle_watched(const struct model *m)
{
    int64_t watched = 0;
    for (size_t i = 0; i < m->idle.device_count; i++)
        watched = cells_sum(watched, m->idle.devices[i].steady);
    return watched;
}

bool sum_idle_is_known(const struct model *m)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    return sum_idle_total(m, sums, &all) > 0 ||
           (sum_known_is(m, KNOWN_KERNELS) && !sum_known_is_cut(m, KNOWN_KERNELS));
}

/* Concurrent sessions count separately, like their idle time. Time that is not idle is busy; the
 * unions of the work divide it into kernels and other work. */
void sum_idle_busy(const struct model *m, int64_t idle, struct idle_busy *out)
{
    int64_t compute = m->devices.compute_ns, any = m->devices.any_ns,
            busy = sum_idle_watched(m) - idle;
    if (sum_steps_steady(m)) {
        compute -= m->steps.compute_before < compute ? m->steps.compute_before : compute;
        any -= m->steps.any_before < any ? m->steps.any_before : any;
    }
    busy = busy < 0 ? 0 : busy;
    out->any = sum_windows_gpu_any(m) && any < busy ? any : busy;
    out->kernels = cells_whole((double)out->any * cells_share((double)compute, (double)any));
    out->unknown = busy - out->any;
}

int64_t sum_idle_of_run(const struct model *m, int64_t ns)
{
    return cells_whole((double)ns *
                       cells_share((double)sum_steps_time(m), (double)sum_idle_watched(m)));
}

void sum_idle_put(const struct model *m, int64_t ns, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t watched = sum_idle_watched(m);
    buf_printf(out, "%s (%s of ", units_time(a, ns), units_percent(b, (double)ns, (double)watched));
    if (watched == sum_steps_time(m))
        buf_printf(out, "%s)", sum_steps_whole(m));
    else if (!m->windows.kernels.opened && sum_steps_steady(m))
        buf_printf(out, "the GPUs' steady parts, %s together)", units_time(c, watched));
    else
        buf_printf(out, "the %s in which %s)", units_time(c, watched),
                   m->windows.kernels.opened ? "kernels were recorded"
                                             : "GPUs were watched, summed over sessions and GPUs");
}
