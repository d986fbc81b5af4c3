/* host_time.c - see host_time.h. */
#include "analyze/model/host/host_time.h"

#include "analyze/common/cells.h"
#include "analyze/model/idle/lines.h"
#include "analyze/model/model.h"
#include "analyze/model/threads/calls.h"
#include "analyze/model/threads/looks.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>

enum { ROWS_MAX = 1 << 20 };

void sum_host_time_init(struct model *m)
{
    m->host_time = (struct sum_host_time){0};
    keyed_init(&m->host_time.rows, sizeof(struct host_part), offsetof(struct host_part, exact),
               ROWS_MAX);
}

void sum_host_time_fini(struct model *m)
{
    keyed_fini(&m->host_time.rows);
    sum_host_time_init(m);
}

/* Has nothing to do: the rows are made from what other parts keep. */
int sum_host_time_batch(struct model *m, const struct wire_batch *b)
{
    (void)m;
    (void)b;
    return 0;
}

/* Adds to the row with the key of `row`. */
static int add(struct model *m, const struct host_part *row)
{
    struct sum_host_time *s = &m->host_time;
    struct host_part key = {.reason = row->reason, .doing = row->doing, .call = row->call};
    uint32_t at, place;
    int rc = stacks_find_place(m, row->node, &place);
    if (!rc && place)
        key.node = row->node;
    if (!key.node && !key.reason)
        key.reason = IDLE_NO_STACK;
    rc = rc ? rc : keyed_put(&s->rows, &key, &at, NULL);
    if (rc)
        return rc;
    if (!at) {
        s->lost = cells_sum(s->lost, cells_sum(row->exact, row->estimated));
        return 0;
    }
    struct host_part *to = keyed_at(&s->rows, at);
    to->exact = cells_sum(to->exact, row->exact);
    to->estimated = cells_sum(to->estimated, row->estimated);
    to->looks += row->looks;
    to->variance += row->variance;
    return 0;
}

/* ---- a thread's time --------------------------------------------------------------------- */

/* Samples with equal stacks and states. */
struct seen {
    uint32_t place, node, doing, reason;
    uint64_t count;
};

/* Describes one thread while its time is divided. */
struct host_thread {
    struct model *m;
    const struct wait_list *waits;
    const uint32_t *calls; /* places in waits, in order */
    size_t call_count;
    const struct idle_look *const *looks; /* of the thread, in order */
    size_t look_count;
    struct seen *seen; /* room for look_count */
    size_t seen_count;
};

static int compare(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    int o = ORDER(x->place, y->place);
    o = o ? o : ORDER(x->doing, y->doing);
    o = o ? o : ORDER(x->reason, y->reason);
    return o ? o : ORDER(x->node, y->node);
}

static int see(struct host_thread *t, const struct idle_look *k)
{
    struct seen *s = &t->seen[t->seen_count++];
    uint32_t stack = idle_looks_stack(&t->m->idle.looks, k);
    *s = (struct seen){.node = stacks_node_of(&t->m->stacks, stack),
                       .doing = k->state ? IDLE_DOING(k->state, k->syscall) : 0,
                       .count = 1};
    s->reason = s->node ? IDLE_KNOWN : k->torn ? IDLE_LOST : stack ? IDLE_NO_STACK : IDLE_NO_PYTHON;
    return stacks_find_place(t->m, s->node, &s->place);
}

/* Adds up equal samples. */
static void join(struct host_thread *t)
{
    size_t n = 0;
    if (t->seen_count)
        qsort(t->seen, t->seen_count, sizeof *t->seen, compare);
    for (size_t i = 0; i < t->seen_count; i++) {
        if (n && !compare(&t->seen[n - 1], &t->seen[i]))
            t->seen[n - 1].count += t->seen[i].count;
        else
            t->seen[n++] = t->seen[i];
    }
    t->seen_count = n;
}

/* Returns the squared half width of the interval around the samples at the place and state of one;
 * 0 except for the first one of them. */
static double variance_of(const struct host_thread *t, size_t at, uint64_t all, int64_t ns)
{
    const struct seen *s = t->seen;
    uint64_t hits = 0;
    if (at && s[at - 1].place == s[at].place && s[at - 1].doing == s[at].doing)
        return 0;
    for (size_t i = at; i < t->seen_count && s[i].place == s[at].place && s[i].doing == s[at].doing;
         i++)
        hits += s[i].count;
    double half = idle_lines_half_width(hits, all) * (double)ns;
    return half * half;
}

/* Divides the time outside of calls among the samples outside of calls. */
static int divide(struct host_thread *t, int64_t ns)
{
    uint64_t *counts = mem_array(t->seen_count + 1, sizeof *counts), all = t->seen_count;
    int64_t *parts = mem_array(t->seen_count + 1, sizeof *parts);
    int rc = counts && parts ? 0 : GPUFL_E_NOMEM;
    join(t);
    for (size_t i = 0; !rc && i < t->seen_count; i++)
        counts[i] = t->seen[i].count;
    if (!rc && all < IDLE_POOL_LEAST)
        rc = add(t->m, &(struct host_part){.reason = IDLE_FEW, .estimated = ns, .looks = all});
    else
        rc = rc ? rc : idle_lines_divide(ns, counts, t->seen_count, all, parts);
    for (size_t i = 0; !rc && all >= IDLE_POOL_LEAST && i < t->seen_count; i++) {
        const struct seen *s = &t->seen[i];
        struct host_part row = {.node = s->node,
                                .reason = s->reason,
                                .doing = s->doing,
                                .estimated = parts[i],
                                .looks = s->count,
                                .variance = variance_of(t, i, all, ns)};
        rc = add(t->m, &row);
    }
    mem_free(counts);
    mem_free(parts);
    return rc;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds the thread's calls, and divides the rest of its time. */
static int add_thread(struct host_thread *t)
{
    struct sum_host_time *to = &t->m->host_time;
    int64_t begin = INT64_MAX, end, waited = 0;
    size_t k = 0;
    int rc = 0;
    if (t->call_count)
        begin = t->waits->items[t->calls[0]].start;
    if (t->look_count && t->looks[0]->time < begin)
        begin = t->looks[0]->time;
    end = begin;
    for (size_t i = 0; !rc && i < t->call_count; i++) {
        const struct wait_item *w = &t->waits->items[t->calls[i]];
        int64_t from = later(w->start, end);
        struct host_part row = {.node = stacks_node_of(&t->m->stacks, w->stack),
                                .call = (uint32_t)w->call + 1,
                                .exact = later(w->end, from) - from};
        for (; !rc && k < t->look_count && t->looks[k]->time < from; k++)
            rc = t->looks[k]->time >= end ? see(t, t->looks[k]) : 0;
        end = later(w->end, end);
        waited = cells_sum(waited, row.exact);
        rc = rc ? rc : add(t->m, &row);
    }
    for (; !rc && k < t->look_count; k++)
        rc = t->looks[k]->time >= end ? see(t, t->looks[k]) : 0;
    if (t->look_count)
        end = later(t->looks[t->look_count - 1]->time, end);
    int64_t time = end - begin, recorded = sum_windows_time(t->m);
    if (t->m->windows.capture.opened && time > recorded)
        time = later(recorded, waited);
    to->threads++;
    to->time = cells_sum(to->time, time);
    to->looks += t->seen_count;
    return rc || time <= waited ? rc : divide(t, time - waited);
}

/* ---- all threads ------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const struct idle_look *x = *(const struct idle_look *const *)a,
                           *y = *(const struct idle_look *const *)b;
    int o = ORDER(x->thread, y->thread);
    return o ? o : ORDER(x, y); /* the rows are in order of time */
}

/* Returns the samples of all threads, by thread and time. */
static const struct idle_look **list_looks(const struct idle_looks *l)
{
    const struct idle_look **list = mem_array(l->count + 1, sizeof *list);
    for (size_t i = 0; list && i < l->count; i++)
        list[i] = &l->rows[i];
    if (list && l->count)
        qsort(list, l->count, sizeof *list, by_thread);
    return list;
}

/* Gives t the samples of a thread. */
static void take_looks(struct host_thread *t, const struct idle_look **list, size_t count,
                       uint32_t thread)
{
    size_t begin = ORDER_PLACE(count, i, list[i]->thread < thread),
           end = ORDER_PLACE(count, i, list[i]->thread <= thread);
    t->looks = list + begin;
    t->look_count = end - begin;
}

/* Returns the thread with most samples. */
static uint32_t most_seen(const struct idle_look **list, size_t count)
{
    size_t most = 0;
    uint32_t thread = 0;
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && list[i + n]->thread == list[i]->thread;)
            n++;
        if (n > most) {
            most = n;
            thread = list[i]->thread;
        }
    }
    return thread;
}

/* The main thread counts if it runs Python: a runtime may call the GPU from other threads. */
static int add_threads(struct model *m, const struct wait_list *waits,
                       const struct idle_look **list, struct seen *seen)
{
    const struct sum_idle *s = &m->idle;
    int64_t pid = m->facts.pid;
    uint32_t extra = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0;
    int rc = 0;
    extra = idle_looks_at(&s->looks, extra) ? extra : 0;
    for (size_t i = 0; !rc && i < s->thread_count; i++) {
        struct host_thread t = {.m = m,
                                .waits = waits,
                                .calls = s->threads[i].calls,
                                .call_count = s->threads[i].count,
                                .seen = seen};
        if (!s->threads[i].count || !s->threads[i].id)
            continue;
        extra = s->threads[i].id == extra ? 0 : extra;
        take_looks(&t, list, s->looks.count, s->threads[i].id);
        rc = add_thread(&t);
    }
    if (!rc && !extra && !m->host_time.threads)
        extra = most_seen(list, s->looks.count);
    struct host_thread t = {.m = m, .waits = waits, .seen = seen};
    take_looks(&t, list, s->looks.count, extra);
    return rc || !extra ? rc : add_thread(&t);
}

int sum_host_time_finish(struct model *m)
{
    struct idle_looks *l = &m->idle.looks;
    const struct wait_list *waits;
    if (!l->count || sum_known_is(m, KNOWN_KERNELS))
        return 0;
    idle_looks_sort(l);
    int rc = idle_calls_prepare(m, &waits);
    if (rc)
        return rc;
    const struct idle_look **list = list_looks(l);
    struct seen *seen = mem_array(l->count + 1, sizeof *seen);
    rc = list && seen ? add_threads(m, waits, list, seen) : GPUFL_E_NOMEM;
    mem_free(list);
    mem_free(seen);
    return rc;
}

int sum_host_time_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_host_time *to = &into->host_time;
    const struct sum_host_time *o = &from->host_time;
    int rc = 0;
    (void)shift;
    for (size_t i = 1; !rc && i < o->rows.count; i++) {
        struct host_part row = *(const struct host_part *)keyed_at(&o->rows, i);
        row.node = into->stacks.merged[row.node];
        rc = add(into, &row);
    }
    to->threads += o->threads;
    to->time = cells_sum(to->time, o->time);
    to->lost = cells_sum(to->lost, o->lost);
    to->looks += o->looks;
    return rc;
}
