/* idle.c - gaps, and the calls of threads that lie in them. */
#include "analyze/model/idle/idle.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALLS_MAX = 1 << 20,
    THREADS_MAX = 1024,
    STEPS_MOST = 256, /* calls of a thread that are looked at for one gap */
};

static const struct {
    const char *key, *text;
} causes[IDLE_CAUSES] = {
    [IDLE_SYNC] = {"host_sync", "the host waited for the GPU"},
    [IDLE_COPY] = {"copy", "the host was in a copy that blocks it"},
    [IDLE_MEMORY] = {"memory", "the host allocated or freed GPU memory"},
    [IDLE_CODE] = {"code", "the host loaded code"},
    [IDLE_QUEUED] = {"queued", "work waited for an event, a stream or another device"},
    [IDLE_BETWEEN] = {"back_to_back", "between kernels back to back"},
    [IDLE_SLOW] = {"slow_launches", "the host launched more slowly than the GPU ran"},
    [IDLE_LATE] = {"late_launch", "the host did something else before it launched"},
    [IDLE_NOTHING] = {"nothing_submitted", "nothing was submitted for more than 10 ms"},
    [IDLE_BEFORE] = {"before_first", "before the first work"},
    [IDLE_AFTER] = {"after_last", "after the last work"},
    [IDLE_ENGINE] = {"engine", "an engine of the profiler was set up, read or given back"},
};

const char *sum_idle_key(enum idle_cause c)
{
    return causes[c].key;
}

const char *sum_idle_text(enum idle_cause c)
{
    return causes[c].text;
}

/* ns of idle time by what the log calls it. */
struct blame {
    uint32_t stack, what; /* id of the log; wait.call, or enum idle_cause */
    uint64_t gaps;        /* not of the key */
    int64_t time;
};

/* Calls of one thread, in order. */
struct idle_thread {
    uint32_t id;
    uint32_t *calls; /* owned: places in the list of waits */
    size_t count;
    size_t cursor; /* of the gap before: gaps come mostly in order */
};

static void drop_threads(struct sum_idle *s)
{
    for (size_t i = 0; i < s->thread_count; i++)
        mem_free(s->threads[i].calls);
    mem_free(s->threads);
    s->threads = NULL;
    s->thread_count = s->waits = 0;
}

void sum_idle_init(struct model *m)
{
    struct sum_idle *s = &m->idle;
    memset(s, 0, sizeof *s);
    s->max_spans = IDLE_SPANS;
    keyed_init(&s->calls, sizeof(struct blame), offsetof(struct blame, gaps), CALLS_MAX);
    keyed_init(&s->by_stack, sizeof(struct blame), offsetof(struct blame, gaps), CALLS_MAX);
    keyed_init(&s->launches, sizeof(struct idle_launch), offsetof(struct idle_launch, gaps),
               CALLS_MAX);
}

void sum_idle_fini(struct model *m)
{
    struct sum_idle *s = &m->idle;
    for (size_t i = 0; i < s->device_count; i++)
        idle_spans_fini(&s->devices[i].spans);
    drop_threads(s);
    idle_engines_fini(&s->engines);
    mem_free(s->devices);
    keyed_fini(&s->calls);
    keyed_fini(&s->by_stack);
    keyed_fini(&s->launches);
    sum_idle_init(m);
}

/* ---- threads and their calls ------------------------------------------------------------- */

static struct idle_thread *find_thread(struct sum_idle *s, uint32_t id)
{
    for (size_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].id == id)
            return &s->threads[i];
    return NULL;
}

/* The threads of a list and how many calls each has made; those beyond the limit are left out. */
static int count_threads(struct sum_idle *s, const struct sync_list *l)
{
    size_t cap = 0;
    int rc = 0;
    struct idle_thread *t = NULL;
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (!t || t->id != l->items[i].thread)
            t = find_thread(s, l->items[i].thread);
        if (!t && s->thread_count < THREADS_MAX) {
            rc = mem_grow(&s->threads, &cap, s->thread_count + 1, sizeof *t, THREADS_MAX);
            if (rc)
                break;
            t = &s->threads[s->thread_count++];
            *t = (struct idle_thread){.id = l->items[i].thread};
        }
        if (t)
            t->count++;
    }
    return rc;
}

static int list_calls(struct sum_idle *s, const struct sync_list *l)
{
    int rc = 0;
    struct idle_thread *t = NULL;
    for (size_t i = 0; i < s->thread_count; i++) {
        s->threads[i].calls = mem_array(s->threads[i].count + 1, sizeof(uint32_t));
        rc = s->threads[i].calls ? rc : GPUFL_E_NOMEM;
        s->threads[i].count = 0;
    }
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (!t || t->id != l->items[i].thread)
            t = find_thread(s, l->items[i].thread);
        if (t && sum_sync_blocks(l->items[i].call))
            t->calls[t->count++] = (uint32_t)i;
    }
    return rc;
}

/* The list as it is now, by thread. */
static int prepare(struct model *m, const struct sync_list **list)
{
    struct sum_idle *s = &m->idle;
    *list = sum_sync_waits(m);
    if (!*list)
        return GPUFL_E_NOMEM;
    if (s->waits == (*list)->count)
        return 0;
    drop_threads(s);
    int rc = count_threads(s, *list);
    rc = rc ? rc : list_calls(s, *list);
    s->waits = (*list)->count;
    return rc;
}

/* How many of the thread's calls begin before t. */
static size_t calls_before(struct idle_thread *h, const struct sync_list *l, int64_t t)
{
    size_t low = 0, high = h->count;
    if (h->cursor && l->items[h->calls[h->cursor - 1]].start < t)
        low = h->cursor;
    for (size_t step = 1; low + step < high; step *= 2) /* mostly it is near */
        if (l->items[h->calls[low + step]].start >= t)
            high = low + step;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (l->items[h->calls[middle]].start < t)
            low = middle + 1;
        else
            high = middle;
    }
    h->cursor = low;
    return low;
}

/* ---- one gap ----------------------------------------------------------------------------- */

struct gap {
    struct model *m;
    struct idle_device *device;
    const struct sync_list *list;
    int64_t start, end;
    int64_t left;    /* ns not blamed yet */
    uint32_t thread; /* that launched what ended it; 0: unknown */
    const struct idle_span *before, *after;
    bool queued;   /* the work that ended it had been launched before it began */
    uint32_t seen; /* causes that have a part in it: bits */
    int code;
};

static enum idle_cause cause_of(int call)
{
    switch (call) {
    case SYNC_COPY:
    case SYNC_FILL:
        return IDLE_COPY;
    case SYNC_FREE:
    case SYNC_ALLOC:
        return IDLE_MEMORY;
    case SYNC_CODE:
        return IDLE_CODE;
    default:
        return IDLE_SYNC;
    }
}

static void add(struct idle_sum *s, int64_t ns)
{
    s->gaps++;
    s->time = cells_sum(s->time, ns);
}

static int note(struct keyed *k, uint32_t stack, uint32_t what, int64_t ns)
{
    struct blame key = {.stack = stack, .what = what};
    uint32_t at;
    int rc = keyed_put(k, &key, &at, NULL);
    if (!rc && at) {
        struct blame *b = keyed_at(k, at);
        b->gaps++;
        b->time = cells_sum(b->time, ns);
    }
    return rc;
}

/* A cause's part of the gap; there may be several. */
static void add_part(struct gap *g, enum idle_cause c, int64_t ns)
{
    struct idle_sum *s = &g->device->causes[c];
    s->gaps += !(g->seen & 1u << c);
    s->time = cells_sum(s->time, ns);
    g->seen |= 1u << c;
}

/* At most ns of what is left of the gap. */
static void blame_call(struct gap *g, const struct sync_wait *w, int64_t ns)
{
    ns = ns < g->left ? ns : g->left;
    if (ns <= 0)
        return;
    g->left -= ns;
    add_part(g, cause_of(w->call), ns);
    g->code = g->code ? g->code : note(&g->m->idle.calls, w->stack, w->call, ns);
}

/* What of a call is its own: an engine may be set up inside of it. */
static int64_t call_within(const struct gap *g, const struct sync_wait *w, int64_t start,
                           int64_t end)
{
    if (end <= start)
        return 0;
    return end - start - idle_engines_within(&g->m->idle.engines, w->thread, start, end);
}

static int64_t call_time(const struct gap *g, const struct sync_wait *w)
{
    return call_within(g, w, w->start, w->end);
}

static int64_t overlap(const struct gap *g, const struct sync_wait *w)
{
    return call_within(g, w, w->start > g->start ? w->start : g->start,
                       w->end < g->end ? w->end : g->end);
}

/* Was the work that ended the gap launched before this call? */
static bool launched_before(const struct gap *g, const struct sync_wait *w)
{
    if (w->correlation && g->after->first)
        return idle_later(w->correlation, g->after->first);
    return w->end > g->end;
}

/* Had nothing been launched since the call when the gap began? */
static bool nothing_since(const struct gap *g, const struct sync_wait *w)
{
    return w->end > g->start || idle_later(w->correlation, g->before->newest);
}

/* The calls of the thread that ended the gap, from the last one back to that in which it began. */
static void blame_thread(struct gap *g, struct idle_thread *h)
{
    size_t steps = 0;
    for (size_t i = calls_before(h, g->list, g->end); i-- > 0 && g->left > 0;) {
        const struct sync_wait *w = &g->list->items[h->calls[i]];
        if (launched_before(g, w)) {
            g->queued |= w->start <= g->start || steps == STEPS_MOST;
            if (steps++ == STEPS_MOST)
                break;
            continue;
        }
        int64_t inside = overlap(g, w);
        blame_call(g, w, inside);
        if (w->start > g->start)
            continue;
        if (!g->queued && nothing_since(g, w))
            blame_call(g, w, call_time(g, w) - inside);
        break;
    }
}

/* Can the thread have launched what ended the gap? Its launches are counted at each call; i: its
 * calls that begin before the gap's end. */
static bool can_be_launcher(const struct gap *g, const struct idle_thread *h, size_t i)
{
    const struct sync_wait *next = i < h->count ? &g->list->items[h->calls[i]] : NULL;
    for (size_t n = 0; i && launched_before(g, &g->list->items[h->calls[i - 1]]); n++) {
        if (n == STEPS_MOST)
            return true;
        next = &g->list->items[h->calls[--i]];
    }
    const struct sync_wait *last = i ? &g->list->items[h->calls[i - 1]] : NULL;
    if (last && last->correlation && last->correlation == g->after->first)
        return true;
    return !next || !next->counted || next->launches != (last ? last->launches : 0);
}

/* The thread that launched what ended the gap: told by its row, or the only one it can be. NULL
 * also where it has made no calls. */
static struct idle_thread *launcher(struct gap *g)
{
    struct sum_idle *s = &g->m->idle;
    struct idle_thread *found = NULL;
    if (g->after->thread)
        return find_thread(s, g->after->thread);
    for (size_t t = 0; t < s->thread_count; t++) {
        struct idle_thread *h = &s->threads[t];
        size_t i = calls_before(h, g->list, g->end);
        if (i && g->after->first && g->list->items[h->calls[i - 1]].correlation == g->after->first)
            return h; /* a call that copies or launches itself */
        if (!can_be_launcher(g, h, i))
            continue;
        if (found)
            return NULL;
        found = h;
    }
    return found;
}

/* A call of any thread in which the gap began and which returned in it: the last to return. */
static const struct sync_wait *find_other(struct gap *g)
{
    const struct sync_wait *found = NULL;
    struct sum_idle *s = &g->m->idle;
    for (size_t t = 0; t < s->thread_count; t++) {
        struct idle_thread *h = &s->threads[t];
        size_t i = calls_before(h, g->list, g->start + 1);
        const struct sync_wait *w = i ? &g->list->items[h->calls[i - 1]] : NULL;
        if (w && w->end > g->start && w->end <= g->end && !launched_before(g, w) &&
            (!found || w->end > found->end))
            found = w;
    }
    return found;
}

/* What no call explains is the host's own time before the launch. */
static void blame_host(struct gap *g)
{
    enum idle_cause c = g->left < IDLE_LAUNCHES ? IDLE_SLOW
                        : g->left < IDLE_WORK   ? IDLE_LATE
                                                : IDLE_NOTHING;
    if (g->queued)
        c = IDLE_QUEUED;
    add_part(g, c, g->left);
    if (g->after->stack && !g->code)
        g->code = note(&g->m->idle.by_stack, g->after->stack, (uint32_t)c, g->left);
}

static void blame_engines(struct gap *g)
{
    int64_t ns = idle_engines_within(&g->m->idle.engines, g->thread, g->start, g->end);
    if (ns > 0)
        add_part(g, IDLE_ENGINE, ns);
    g->left -= ns;
}

static int tell_gap(void *arg, const struct idle_span *before, const struct idle_span *after)
{
    struct model *m = arg;
    struct gap g = {.m = m,
                    .start = before->end,
                    .end = after->start,
                    .left = after->start - before->end,
                    .before = before,
                    .after = after};
    g.device = m->idle.telling;
    if (!sum_windows_cover(m, g.start, g.end))
        return 0; /* what the GPU did in it is not known */
    if (g.left < IDLE_BACK_TO_BACK) {
        add(&g.device->causes[IDLE_BETWEEN], g.left);
        return 0;
    }
    g.code = prepare(m, &g.list);
    if (g.code)
        return g.code;
    struct idle_thread *h = launcher(&g);
    g.thread = after->thread ? after->thread : h ? h->id : 0;
    blame_engines(&g);
    int64_t all = g.left;
    if (h)
        blame_thread(&g, h);
    if (g.left == all && !g.queued) {
        const struct sync_wait *w = find_other(&g);
        if (w)
            blame_call(&g, w, call_time(&g, w));
    }
    if (g.left > 0)
        blame_host(&g);
    return g.code;
}

/* ---- rows -------------------------------------------------------------------------------- */

static int ensure_device(struct model *m, uint32_t index)
{
    struct sum_idle *s = &m->idle;
    int rc = mem_grow(&s->devices, &s->device_cap, index + 1, sizeof *s->devices, DEVICES_MAX);
    for (; !rc && s->device_count <= index; s->device_count++) {
        s->devices[s->device_count] = (struct idle_device){0};
        idle_spans_init(&s->devices[s->device_count].spans, tell_gap, m);
        s->devices[s->device_count].spans.max_spans = s->max_spans;
    }
    return rc;
}

struct columns {
    unsigned stream, correlation;
    int stack, thread; /* -1: the record has none */
};

static uint32_t id_cell(const struct wire_batch *b, int column, size_t i)
{
    int64_t v = column < 0 ? 0 : cells_or(b, (unsigned)column, i, 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Those that the vendor's library tells of itself are not taken: they lie in calls of the program, and
 * some, as that of its compiler, are there without a profiler, too. */
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

int sum_idle_batch(struct model *m, const struct wire_batch *b)
{
    static const struct columns kernel = {COL_kernel_stream, COL_kernel_correlation,
                                          COL_kernel_stack, COL_kernel_thread},
                                graph = {COL_graph_run_stream, COL_graph_run_correlation,
                                         COL_graph_run_stack, COL_graph_run_thread},
                                copy = {COL_memcpy_stream, COL_memcpy_correlation, COL_memcpy_stack,
                                        -1},
                                fill = {COL_memset_stream, COL_memset_correlation, -1, -1};
    const struct columns *c = b->type == RECORD_kernel      ? &kernel
                              : b->type == RECORD_graph_run ? &graph
                              : b->type == RECORD_memcpy    ? &copy
                                                            : &fill;
    int rc = 0;
    if (!b->col[0] || !b->col[1])
        return 0;
    if (b->type == RECORD_overhead)
        return take_overhead(m, b);
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct idle_span a = {.start = b->col[0][i]};
        uint32_t device = model_stream_device(m, cells_get(b, c->stream, i));
        if (!cells_interval(a.start, b->col[1][i], &a.end))
            continue;
        a.first = a.newest = id_cell(b, (int)c->correlation, i);
        a.stack = id_cell(b, c->stack, i);
        a.thread = id_cell(b, c->thread, i);
        if (device >= m->idle.device_count)
            rc = ensure_device(m, device);
        if (rc)
            break;
        m->idle.telling = &m->idle.devices[device];
        rc = idle_spans_add(&m->idle.devices[device].spans, &a);
    }
    return rc;
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Work of the device that the log does not name is that of the only one there is. */
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
    s->telling = &s->devices[only];
    for (size_t i = 0; !rc && i < s->devices[0].spans.count; i++)
        rc = idle_spans_add(&s->devices[only].spans, &s->devices[0].spans.spans[i]);
    for (int c = 0; c < IDLE_CAUSES; c++) {
        s->devices[only].causes[c].gaps += s->devices[0].causes[c].gaps;
        s->devices[only].causes[c].time += s->devices[0].causes[c].time;
        s->devices[0].causes[c] = (struct idle_sum){0};
    }
    s->devices[only].spans.doubtful += s->devices[0].spans.doubtful;
    idle_spans_fini(&s->devices[0].spans);
    return rc;
}

/* Before the first work of the session, or after its last. */
static void tell_edge(struct model *m, struct idle_device *d, enum idle_cause c, uint32_t thread,
                      int64_t start, int64_t end)
{
    int64_t ns = idle_engines_within(&m->idle.engines, thread, start, end);
    if (ns > 0)
        add(&d->causes[IDLE_ENGINE], ns);
    if (end - start > ns)
        add(&d->causes[c], end - start - ns);
}

static int finish_device(struct model *m, struct idle_device *d)
{
    const struct sum_facts *f = &m->facts;
    m->idle.telling = d;
    int rc = idle_spans_tell(&d->spans);
    if (rc || !d->spans.count)
        return rc;
    d->any = true;
    d->watched = sum_windows_gpu_time(m);
    if (d->spans.spans[0].start > f->start && !sum_windows_gpu_any(m))
        tell_edge(m, d, IDLE_BEFORE, d->spans.spans[0].thread, f->start, d->spans.spans[0].start);
    if (d->spans.spans[0].end < f->end && !sum_windows_gpu_any(m) && !m->windows.kernels.cut)
        tell_edge(m, d, IDLE_AFTER, 0, d->spans.spans[0].end, f->end);
    m->idle.doubtful = cells_sum(m->idle.doubtful, d->spans.doubtful);
    idle_spans_fini(&d->spans);
    return 0;
}

static int add_launch(struct model *m, uint32_t node, uint32_t cause, uint64_t gaps, int64_t ns)
{
    struct idle_launch key = {.node = node, .cause = cause};
    uint32_t at, place;
    int rc = stacks_find_place(m, node, &place);
    rc = rc || !node ? rc : keyed_put(&m->idle.launches, &key, &at, NULL);
    if (!rc && node && at) {
        struct idle_launch *l = keyed_at(&m->idle.launches, at);
        l->gaps += gaps;
        l->time = cells_sum(l->time, ns);
    }
    return rc;
}

int sum_idle_finish(struct model *m)
{
    struct sum_idle *s = &m->idle;
    int rc = give_to_only(m);
    for (size_t i = 0; !rc && i < s->device_count; i++)
        if (i || !s->unknown_device)
            rc = finish_device(m, &s->devices[i]);
    for (size_t i = 1; !rc && i < s->calls.count; i++) {
        const struct blame *b = keyed_at(&s->calls, i);
        rc = sum_sync_blame(m, b->stack, (int)b->what, b->time);
    }
    for (size_t i = 1; !rc && i < s->by_stack.count; i++) {
        const struct blame *b = keyed_at(&s->by_stack, i);
        rc = add_launch(m, stacks_node_of(&m->stacks, b->stack), b->what, b->gaps, b->time);
    }
    drop_threads(s);
    idle_engines_fini(&s->engines);
    keyed_fini(&s->calls);
    keyed_fini(&s->by_stack);
    return rc;
}

int sum_idle_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_idle *s = &into->idle;
    const struct sum_idle *o = &from->idle;
    int rc = 0;
    (void)shift;
    for (uint32_t i = 0; !rc && i < o->device_count; i++) {
        uint32_t at = into->devices.merged[i];
        rc = ensure_device(into, at);
        for (int c = 0; !rc && c < IDLE_CAUSES; c++) {
            struct idle_sum *to = &s->devices[at].causes[c];
            to->gaps += o->devices[i].causes[c].gaps;
            to->time = cells_sum(to->time, o->devices[i].causes[c].time);
        }
        if (rc)
            break;
        s->devices[at].any |= o->devices[i].any;
        s->devices[at].watched = cells_sum(s->devices[at].watched, o->devices[i].watched);
    }
    for (size_t i = 1; !rc && i < o->launches.count; i++) {
        const struct idle_launch *l = keyed_at(&o->launches, i);
        rc = add_launch(into, into->stacks.merged[l->node], l->cause, l->gaps, l->time);
    }
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
            *all = cells_sum(*all, m->idle.devices[i].causes[c].time);
        }
    }
    return devices;
}

int64_t sum_idle_watched(const struct model *m)
{
    int64_t watched = 0;
    for (size_t i = 0; i < m->idle.device_count; i++)
        watched = cells_sum(watched, m->idle.devices[i].watched);
    return watched;
}

int64_t sum_idle_of_run(const struct model *m, int64_t ns)
{
    return cells_whole((double)ns *
                       cells_share((double)sum_windows_time(m), (double)sum_idle_watched(m)));
}

void sum_idle_put(const struct model *m, int64_t ns, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t watched = sum_idle_watched(m);
    buf_printf(out, "%s (%s of ", units_time(a, ns), units_percent(b, (double)ns, (double)watched));
    if (watched == sum_windows_time(m))
        buf_printf(out, "%s)", sum_windows_whole(m));
    else
        buf_printf(out, "the %s in which %s)", units_time(c, watched),
                   m->windows.kernels.opened ? "kernels were recorded"
                                             : "GPUs were watched, summed over sessions and GPUs");
}
