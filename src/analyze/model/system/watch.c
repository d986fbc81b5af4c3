/* watch.c - see watch.h. */
#include "analyze/model/system/watch.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { SPANS_MOST = 1 << 18, PROCESSES_MOST = 1 << 18, EVENTS_MOST = 1 << 16 };

static const int64_t IDLE_LEAST = 60000000000, /* ns of a stretch */
    STEP_LEAST = 10000000000;                  /* ns between consecutive samples, at most */

void sum_watch_init(struct model *m)
{
    (void)m;
}

void sum_watch_fini(struct model *m)
{
    struct sum_watch *s = &m->watch;
    for (size_t i = 0; i < s->device_count; i++) {
        mem_free(s->devices[i].idle.items);
        mem_free(s->devices[i].slowed.items);
    }
    mem_free(s->devices);
    mem_free(s->processes);
    mem_free(s->open);
    mem_free(s->events);
    *s = (struct sum_watch){.is_monitor = false};
}

static int ensure(struct sum_watch *s, uint32_t device)
{
    int rc = mem_grow(&s->devices, &s->device_cap, device + 1, sizeof *s->devices, DEVICES_MAX);
    if (rc)
        return rc;
    for (; s->device_count <= device; s->device_count++)
        s->devices[s->device_count] = (struct watch_device){
            .lost_since = CELL_NULL, .idle.open = CELL_NULL, .slowed.open = CELL_NULL};
    return 0;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static int append(struct sum_watch *s, struct watch_spans *spans, struct watch_span x)
{
    if (spans->count == SPANS_MOST) {
        s->left_out++;
        return 0;
    }
    int rc = mem_grow(&spans->items, &spans->cap, spans->count + 1, sizeof x, SPANS_MOST);
    if (!rc)
        spans->items[spans->count++] = x;
    return rc;
}

/* Ends the span that goes on; a span that is shorter than `least` is dropped. */
static int end_span(struct sum_watch *s, struct watch_spans *spans, int64_t to, int64_t least)
{
    int64_t from = spans->open;
    spans->open = CELL_NULL;
    return from != CELL_NULL && to > from && to - from >= least
               ? append(s, spans, (struct watch_span){from, to})
               : 0;
}

static int compare_spans(const void *a, const void *b)
{
    const struct watch_span *x = a, *y = b;
    return x->from != y->from ? ORDER(x->from, y->from) : ORDER(x->to, y->to);
}

/* Sorts the spans, and joins those that touch. */
static void settle(struct watch_spans *spans)
{
    size_t kept = 0;
    if (!spans->count)
        return;
    qsort(spans->items, spans->count, sizeof *spans->items, compare_spans);
    for (size_t i = 1; i < spans->count; i++) {
        struct watch_span *last = &spans->items[kept];
        if (spans->items[i].from > last->to)
            spans->items[++kept] = spans->items[i];
        else if (spans->items[i].to > last->to)
            last->to = spans->items[i].to;
    }
    spans->count = kept + 1;
}

int64_t sum_watch_overlap(struct watch_span x, const struct watch_spans *s)
{
    int64_t time = 0;
    size_t low = 0, high = s->count;
    while (low < high) { /* the first one that ends after x begins */
        size_t middle = low + (high - low) / 2;
        if (s->items[middle].to <= x.from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && s->items[low].from < x.to; low++) {
        int64_t from = s->items[low].from > x.from ? s->items[low].from : x.from;
        int64_t to = s->items[low].to < x.to ? s->items[low].to : x.to;
        time = cells_sum(time, to > from ? to - from : 0);
    }
    return time;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Adds the time since the previous sample, if the two are consecutive. */
static int take_step(struct sum_watch *s, struct watch_device *d, int64_t time, bool idle,
                     int64_t reasons)
{
    int64_t bad = reasons == CELL_NULL ? 0 : reasons & (WATCH_HEAT | WATCH_HARDWARE);
    int64_t step = time - d->at, most = cells_sum(cells_sum(d->step, d->step), d->step);
    most = most > STEP_LEAST ? most : STEP_LEAST;
    bool follows = d->at && step > 0 && step <= most;
    int rc = 0;
    if (follows) {
        d->seen = cells_sum(d->seen, step);
        d->step = !d->step || step < d->step ? step : d->step;
        if (d->was_slowed && bad) {
            d->heat = cells_sum(d->heat, bad & WATCH_HEAT ? step : 0);
            d->hardware = cells_sum(d->hardware, bad & WATCH_HARDWARE ? step : 0);
        }
    } else if (d->at && step > 0 && !d->step) {
        d->step = step; /* rare samples are consecutive at their own interval */
    }
    if (!follows || !idle)
        rc = end_span(s, &d->idle, d->at, IDLE_LEAST);
    if (!rc && (!follows || !bad))
        rc = end_span(s, &d->slowed, d->at, 1);
    if (idle && d->idle.open == CELL_NULL)
        d->idle.open = time;
    if (bad && d->slowed.open == CELL_NULL)
        d->slowed.open = time;
    d->at = time;
    d->was_idle = idle;
    d->was_slowed = bad != 0;
    return rc;
}

static int take_sample(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_watch *s = &m->watch;
    uint32_t device;
    int64_t time = cells_get(b, COL_device_metric_time, i);
    int rc = sum_devices_expect(m, cells_get(b, COL_device_metric_device, i), &device);
    if (!rc && device && cells_time_ok(time) && time > 0)
        rc = ensure(s, device);
    if (rc || !device || !cells_time_ok(time) || time <= 0)
        return rc;
    return take_step(s, &s->devices[device], time, cells_get(b, COL_device_metric_gpu_util, i) == 0,
                     cells_get(b, COL_device_metric_throttle, i));
}

/* Ends the process with that pid, if it is open. */
static void end_process(struct sum_watch *s, uint32_t device, int64_t pid, int64_t time)
{
    for (size_t k = s->open_count; k-- > 0;) {
        struct watch_process *p = &s->processes[s->open[k]];
        if (p->pid != pid || p->device != device)
            continue;
        p->time.to = time > p->time.from ? time : p->time.from;
        s->open[k] = s->open[--s->open_count];
    }
}

static int take_process(struct model *m, const struct wire_batch *b, size_t i)
{
    enum { BEGAN, CEASED };
    struct sum_watch *s = &m->watch;
    uint32_t device;
    int64_t time = cells_get(b, COL_gpu_process_time, i),
            pid = cells_get(b, COL_gpu_process_pid, i);
    int rc = sum_devices_expect(m, cells_get(b, COL_gpu_process_device, i), &device);
    if (rc || !device || !cells_time_ok(time))
        return rc;
    s->is_monitor = true;
    end_process(s, device, pid, time);
    if (cells_get(b, COL_gpu_process_phase, i) == CEASED)
        return 0;
    if (s->process_count == PROCESSES_MOST) {
        s->left_out++;
        return 0;
    }
    rc = mem_grow(&s->processes, &s->process_cap, s->process_count + 1, sizeof *s->processes,
                  PROCESSES_MOST);
    rc = rc ? rc
            : mem_grow(&s->open, &s->open_cap, s->open_count + 1, sizeof *s->open, PROCESSES_MOST);
    if (rc)
        return rc;
    s->open[s->open_count++] = s->process_count;
    s->processes[s->process_count++] = (struct watch_process){
        .device = device,
        .name = model_name_cell(m, cells_get(b, COL_gpu_process_name, i)),
        .pod = model_name_cell(m, cells_get(b, COL_gpu_process_pod, i)),
        .pod_name = model_name_cell(m, cells_get(b, COL_gpu_process_pod_name, i)),
        .job = model_name_cell(m, cells_get(b, COL_gpu_process_job, i)),
        .pid = pid,
        .uid = cells_get(b, COL_gpu_process_uid, i),
        .time = {time, CELL_NULL}};
    return 0;
}

static int put_event(struct sum_watch *s, const struct watch_event *x)
{
    for (size_t i = 0; i < s->event_count; i++) {
        struct watch_event *e = &s->events[i];
        if (e->device != x->device || e->kind != x->kind || e->code != x->code)
            continue;
        e->count = cells_sum(e->count, x->count);
        e->first = x->first < e->first ? x->first : e->first;
        e->last = x->last > e->last ? x->last : e->last;
        return 0;
    }
    if (s->event_count == EVENTS_MOST) {
        s->left_out++;
        return 0;
    }
    int rc = mem_grow(&s->events, &s->event_cap, s->event_count + 1, sizeof *x, EVENTS_MOST);
    if (!rc)
        s->events[s->event_count++] = *x;
    return rc;
}

/* Notes a GPU that does not answer: it is lost until it answers again, or is no longer listed. */
static void note_lost(struct watch_device *d, const char *kind, int64_t time)
{
    bool lost = strcmp(kind, "lost") == 0;
    if (lost && d->lost_since == CELL_NULL)
        d->lost_since = time;
    if (lost || d->lost_since == CELL_NULL ||
        (strcmp(kind, "back") && strcmp(kind, "appeared") && strcmp(kind, "gone")))
        return;
    d->lost = cells_sum(d->lost, time > d->lost_since ? time - d->lost_since : 0);
    d->lost_since = CELL_NULL;
}

static int take_event(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_watch *s = &m->watch;
    struct watch_event x = {.kind = model_name_cell(m, cells_get(b, COL_gpu_event_kind, i)),
                            .code = cells_get(b, COL_gpu_event_code, i),
                            .count = cells_or(b, COL_gpu_event_count, i, 1),
                            .first = cells_get(b, COL_gpu_event_time, i)};
    int64_t device = cells_or(b, COL_gpu_event_device, i, 0);
    int rc = device ? sum_devices_expect(m, device, &x.device) : 0;
    if (rc || !x.device || !x.kind || !cells_time_ok(x.first) || x.count <= 0)
        return rc;
    x.last = x.first;
    rc = ensure(s, x.device);
    if (rc)
        return rc;
    s->is_monitor = true;
    note_lost(&s->devices[x.device], model_text(m, x.kind), x.first);
    return put_event(s, &x);
}

/* The counters run from the monitor's start over all its sessions, so the highest value is the
 * sum. */
static void take_counts(struct sum_watch *s, const struct wire_batch *b)
{
    s->is_monitor |= b->rows > 0;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t slept = cells_or(b, COL_monitor_suspended, i, 0);
        int64_t missed = cells_or(b, COL_monitor_rounds_missed, i, 0);
        s->slept = slept > s->slept ? slept : s->slept;
        s->missed = missed > s->missed ? missed : s->missed;
    }
}

int sum_watch_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    if (b->type == RECORD_monitor)
        take_counts(&m->watch, b);
    for (size_t i = 0; !rc && i < b->rows; i++) {
        if (b->type == RECORD_device_metric)
            rc = take_sample(m, b, i);
        else if (b->type == RECORD_gpu_process)
            rc = take_process(m, b, i);
        else if (b->type == RECORD_gpu_event)
            rc = take_event(m, b, i);
    }
    return rc;
}

/* ---- several sessions ------------------------------------------------------------------------ */

static int merge_spans(struct sum_watch *s, struct watch_spans *to, const struct watch_spans *from,
                       int64_t shift)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count; i++)
        rc = append(s, to,
                    (struct watch_span){cells_sum(from->items[i].from, shift),
                                        cells_sum(from->items[i].to, shift)});
    return rc;
}

static int merge_device(struct sum_watch *s, struct watch_device *to,
                        const struct watch_device *from, int64_t shift)
{
    to->seen = cells_sum(to->seen, from->seen);
    to->heat = cells_sum(to->heat, from->heat);
    to->hardware = cells_sum(to->hardware, from->hardware);
    to->lost = cells_sum(to->lost, from->lost);
    int rc = merge_spans(s, &to->idle, &from->idle, shift);
    return rc ? rc : merge_spans(s, &to->slowed, &from->slowed, shift);
}

static int merge_process(struct sum_watch *s, struct watch_process p, uint32_t device,
                         int64_t shift)
{
    if (s->process_count == PROCESSES_MOST) {
        s->left_out++;
        return 0;
    }
    p.device = device;
    p.time = (struct watch_span){cells_sum(p.time.from, shift), cells_sum(p.time.to, shift)};
    int rc =
        mem_grow(&s->processes, &s->process_cap, s->process_count + 1, sizeof p, PROCESSES_MOST);
    if (!rc)
        s->processes[s->process_count++] = p;
    return rc;
}

int sum_watch_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_watch *s = &into->watch;
    const struct sum_watch *o = &from->watch;
    const uint32_t *at = into->devices.merged;
    int rc = 0;
    s->is_monitor |= o->is_monitor;
    s->left_out += o->left_out;
    s->slept = o->slept > s->slept ? o->slept : s->slept;
    s->missed = o->missed > s->missed ? o->missed : s->missed;
    for (size_t i = 1; !rc && i < o->device_count; i++) {
        rc = ensure(s, at[i]);
        rc = rc ? rc : merge_device(s, &s->devices[at[i]], &o->devices[i], shift);
    }
    for (size_t i = 0; !rc && i < o->process_count; i++)
        rc = merge_process(s, o->processes[i], at[o->processes[i].device], shift);
    for (size_t i = 0; !rc && i < o->event_count; i++) {
        struct watch_event x = o->events[i];
        x.device = at[x.device];
        x.first = cells_sum(x.first, shift);
        x.last = cells_sum(x.last, shift);
        rc = put_event(s, &x);
    }
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b)
{
    const struct watch_process *x = a, *y = b;
    if (x->device != y->device)
        return ORDER(x->device, y->device);
    return x->time.from != y->time.from ? ORDER(x->time.from, y->time.from) : ORDER(x->pid, y->pid);
}

/* Adds the idle time within one span in which the GPU was held. */
static void note_held(struct watch_device *d, struct watch_span held)
{
    d->held = cells_sum(d->held, held.to > held.from ? held.to - held.from : 0);
    d->held_idle = cells_sum(d->held_idle, sum_watch_overlap(held, &d->idle));
    for (size_t i = 0; i < d->idle.count; i++) {
        int64_t from = d->idle.items[i].from > held.from ? d->idle.items[i].from : held.from;
        int64_t to = d->idle.items[i].to < held.to ? d->idle.items[i].to : held.to;
        if (to - from > d->longest.to - d->longest.from)
            d->longest = (struct watch_span){from, to};
    }
}

/* Makes the union of the times of the sorted processes. */
static void find_held(struct sum_watch *s)
{
    for (size_t i = 0; i < s->process_count;) {
        const struct watch_process *first = &s->processes[i];
        struct watch_span held = first->time;
        for (i++; i < s->process_count && s->processes[i].device == first->device &&
                  s->processes[i].time.from <= held.to;
             i++)
            held.to = s->processes[i].time.to > held.to ? s->processes[i].time.to : held.to;
        if (first->device < s->device_count)
            note_held(&s->devices[first->device], held);
    }
}

static int finish_device(struct sum_watch *s, struct watch_device *d, int64_t end)
{
    int rc = end_span(s, &d->idle, d->at, IDLE_LEAST);
    rc = rc ? rc : end_span(s, &d->slowed, d->at, 1);
    if (d->lost_since != CELL_NULL && end > d->lost_since)
        d->lost = cells_sum(d->lost, end - d->lost_since);
    d->lost_since = CELL_NULL;
    settle(&d->idle);
    settle(&d->slowed);
    d->held = d->held_idle = 0;
    d->longest = (struct watch_span){0, 0};
    return rc;
}

int sum_watch_finish(struct model *m)
{
    struct sum_watch *s = &m->watch;
    int rc = 0;
    for (size_t i = 0; !rc && i < s->device_count; i++)
        rc = finish_device(s, &s->devices[i], m->facts.end);
    for (size_t i = 0; i < s->process_count; i++) {
        struct watch_span *t = &s->processes[i].time;
        if (t->to == CELL_NULL)
            t->to = m->facts.end > t->from ? m->facts.end : t->from;
    }
    s->open_count = 0; /* sorting has changed the indexes */
    if (s->process_count)
        qsort(s->processes, s->process_count, sizeof *s->processes, compare_processes);
    find_held(s);
    return rc;
}

/* ---- who ------------------------------------------------------------------------------------- */

static bool is_same(const struct watch_process *a, const struct watch_process *b)
{
    return a->device == b->device && a->pid == b->pid && a->uid == b->uid && a->name == b->name &&
           a->pod == b->pod && a->pod_name == b->pod_name && a->job == b->job;
}

const struct watch_process *sum_watch_who(const struct model *m, uint32_t device,
                                          const struct watch_spans *spans, int64_t *time)
{
    const struct sum_watch *s = &m->watch;
    const struct watch_process *who = NULL;
    int64_t most = 0;
    *time = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct watch_process *p = &s->processes[i];
        int64_t t = p->device == device ? sum_watch_overlap(p->time, spans) : 0;
        if (t > most) {
            most = t;
            who = p;
        }
    }
    for (size_t i = 0; who && i < s->process_count; i++)
        if (is_same(&s->processes[i], who))
            *time = cells_sum(*time, sum_watch_overlap(s->processes[i].time, spans));
    return who;
}
