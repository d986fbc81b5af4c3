/* gap.c - finds the calls of threads that lie in a gap, and blames each for its part. */
#include "analyze/model/idle/gap.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

enum {
    THREADS_MAX = 1024,
    STEPS_MOST = 256, /* calls of a thread that are looked at for one gap */
};

/* Calls of one thread, in order. */
struct idle_thread {
    uint32_t id;
    uint32_t *calls; /* owned: places in the list of waits */
    size_t count;
    size_t cursor; /* where the last search ended: gaps come mostly in order */
};

void idle_gap_drop_threads(struct sum_idle *s)
{
    for (size_t i = 0; i < s->thread_count; i++)
        mem_free(s->threads[i].calls);
    mem_free(s->threads);
    s->threads = NULL;
    s->thread_count = s->waits = 0;
}

/* ---- threads and their calls ------------------------------------------------------------- */

static struct idle_thread *find_thread(struct sum_idle *s, uint32_t id)
{
    for (size_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].id == id)
            return &s->threads[i];
    return NULL;
}

/* Counts the calls of each thread of a list; threads beyond the limit are left out. */
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
    idle_gap_drop_threads(s);
    int rc = count_threads(s, *list);
    rc = rc ? rc : list_calls(s, *list);
    s->waits = (*list)->count;
    return rc;
}

/* How many calls of the thread begin before t. */
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
    uint32_t thread; /* launched the work that ended the gap; 0: unknown */
    const struct idle_span *before, *after;
    bool queued;   /* the work that ended the gap had been launched before the gap began */
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

void idle_gap_add(struct idle_sum *s, int64_t ns)
{
    s->gaps++;
    s->time = cells_sum(s->time, ns);
}

static int note(struct keyed *k, uint32_t stack, uint32_t what, int64_t ns)
{
    struct idle_blame key = {.stack = stack, .what = what};
    uint32_t at;
    int rc = keyed_put(k, &key, &at, NULL);
    if (!rc && at) {
        struct idle_blame *b = keyed_at(k, at);
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

/* Blames a call for at most ns of the rest of the gap. */
static void blame_call(struct gap *g, const struct sync_wait *w, int64_t ns)
{
    ns = ns < g->left ? ns : g->left;
    if (ns <= 0)
        return;
    g->left -= ns;
    add_part(g, cause_of(w->call), ns);
    g->code = g->code ? g->code : note(&g->m->idle.calls, w->stack, w->call, ns);
}

/* The time of a call without the engines that were set up inside it. */
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

/* True where the work that ended the gap was launched before this call. */
static bool launched_before(const struct gap *g, const struct sync_wait *w)
{
    if (w->correlation && g->after->first)
        return idle_later(w->correlation, g->after->first);
    return w->end > g->end;
}

/* True where nothing had been launched since the call when the gap began. */
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

/* True where the thread can have launched the work that ended the gap, by the launches counted at
 * its calls. i: number of its calls that begin before the gap's end. */
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

/* The thread that launched the work that ended the gap: named by its row, or the only possible
 * one. NULL also where that thread has made no calls. */
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

/* Blames the host's own time before the launch for the part that no call explains. */
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

int idle_gap_blame(void *arg, const struct idle_span *before, const struct idle_span *after)
{
    struct model *m = arg;
    struct gap g = {.m = m,
                    .start = before->end,
                    .end = after->start,
                    .left = after->start - before->end,
                    .before = before,
                    .after = after};
    g.device = m->idle.current;
    if (!sum_windows_cover(m, g.start, g.end))
        return 0; /* nobody knows what the GPU did in it */
    if (g.left < IDLE_BACK_TO_BACK) {
        idle_gap_add(&g.device->causes[IDLE_BETWEEN], g.left);
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
