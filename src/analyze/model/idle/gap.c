/* gap.c - finds the calls of threads in a gap, and gives each its part of the gap. */
#include "analyze/model/idle/gap.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/threads/calls.h"

enum { STEPS_MOST = 256 /* calls of a thread that are looked at for one gap */ };

static enum idle_cause cause_of(int call)
{
    switch (call) {
    case WAIT_COPY:
    case WAIT_FILL:
        return IDLE_COPY;
    case WAIT_FREE:
    case WAIT_ALLOC:
        return IDLE_MEMORY;
    case WAIT_MODULE:
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

void idle_gap_part(struct idle_gap *g, enum idle_cause c, int64_t ns)
{
    struct idle_sum *s = &g->device->causes[c];
    s->gaps += !(g->seen & 1u << c);
    s->time = cells_sum(s->time, ns);
    idle_longest_put(&s->longest, &(struct idle_longest){g->start, g->end, ns}, 0);
    g->seen |= 1u << c;
}

void idle_gap_main(struct idle_gap *g, enum idle_cause c, uint32_t stack, uint32_t flags,
                   int64_t ns)
{
    if (ns > g->main.ns)
        g->main = (struct idle_main){ns, (uint32_t)c, stack, flags};
}

int idle_gap_keep(const struct idle_gap *g)
{
    struct sum_idle *s = &g->m->idle;
    const struct idle_kept_gap kept = {.start = g->start,
                                       .end = g->end,
                                       .device = (uint32_t)(g->device - s->devices),
                                       .cause = g->main.cause,
                                       .stack = g->main.stack,
                                       .thread = g->thread,
                                       .flags = g->main.flags};
    return idle_gap_list_add(&s->gaps, &kept);
}

/* Gives a call at most ns of the rest of the gap. */
static void blame_call(struct idle_gap *g, const struct wait_item *w, int64_t ns)
{
    ns = ns < g->left ? ns : g->left;
    if (ns <= 0)
        return;
    g->left -= ns;
    idle_gap_part(g, cause_of(w->call), ns);
    idle_gap_main(g, cause_of(w->call), w->stack, 0, ns);
    struct idle_part part = {.stack = w->stack,
                             .cause = cause_of(w->call),
                             .scope = g->after->scope,
                             .longest = {g->start, g->end, ns}};
    if (!g->code && g->start < sum_steps_over(g->m))
        g->code = note(&g->m->idle.calls, w->stack, w->call, ns);
    g->code = g->code ? g->code : idle_parts_known(&g->m->idle.parts, &part, ns);
}

/* Returns the time of a call without the engines that were set up inside it. */
static int64_t call_within(const struct idle_gap *g, const struct wait_item *w, int64_t start,
                           int64_t end)
{
    if (end <= start)
        return 0;
    return end - start - idle_engines_within(&g->m->idle.engines, w->thread, start, end);
}

static int64_t call_time(const struct idle_gap *g, const struct wait_item *w)
{
    return call_within(g, w, w->start, w->end);
}

static int64_t overlap(const struct idle_gap *g, const struct wait_item *w)
{
    return call_within(g, w, w->start > g->start ? w->start : g->start,
                       w->end < g->end ? w->end : g->end);
}

/* Returns true if the work that ended the gap was launched before this call. */
static bool launched_before(const struct idle_gap *g, const struct wait_item *w)
{
    if (w->correlation && g->after->first)
        return idle_later(w->correlation, g->after->first);
    return w->end > g->end;
}

/* Returns true if nothing had been launched since the call when the gap began. */
static bool nothing_since(const struct idle_gap *g, const struct wait_item *w)
{
    return w->end > g->start || idle_later(w->correlation, g->before->newest);
}

/* Gives parts to the calls of the thread that ended the gap, from the last one back to the one in
 * which the gap began. */
static void blame_thread(struct idle_gap *g, struct idle_thread *h)
{
    size_t steps = 0;
    for (size_t i = idle_calls_before(h, g->list, g->end); i-- > 0 && g->left > 0;) {
        const struct wait_item *w = &g->list->items[h->calls[i]];
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

/* Returns true if, by its count of launches, the thread can have launched the work that ended the
 * gap. i: number of its calls that begin before the gap's end. */
static bool can_be_launcher(const struct idle_gap *g, const struct idle_thread *h, size_t i)
{
    const struct wait_item *next = i < h->count ? &g->list->items[h->calls[i]] : NULL;
    for (size_t n = 0; i && launched_before(g, &g->list->items[h->calls[i - 1]]); n++) {
        if (n == STEPS_MOST)
            return true;
        next = &g->list->items[h->calls[--i]];
    }
    const struct wait_item *last = i ? &g->list->items[h->calls[i - 1]] : NULL;
    if (last && last->correlation && last->correlation == g->after->first)
        return true;
    return !next || !next->counted || next->launches != (last ? last->launches : 0);
}

/* Returns the only thread that can have launched the work that ended the gap; NULL: there are
 * several. */
static struct idle_thread *launcher(struct idle_gap *g)
{
    struct sum_idle *s = &g->m->idle;
    struct idle_thread *found = NULL;
    for (size_t t = 0; t < s->thread_count; t++) {
        struct idle_thread *h = &s->threads[t];
        size_t i = idle_calls_before(h, g->list, g->end);
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

/* Returns a call of any thread in which the gap began and which returned in it: the last to
 * return. */
static const struct wait_item *find_other(struct idle_gap *g)
{
    const struct wait_item *found = NULL;
    struct sum_idle *s = &g->m->idle;
    for (size_t t = 0; t < s->thread_count; t++) {
        struct idle_thread *h = &s->threads[t];
        size_t i = idle_calls_before(h, g->list, g->start + 1);
        const struct wait_item *w = i ? &g->list->items[h->calls[i - 1]] : NULL;
        if (w && w->end > g->start && w->end <= g->end && !launched_before(g, w) &&
            (!found || w->end > found->end))
            found = w;
    }
    return found;
}

static void blame_engines(struct idle_gap *g)
{
    int64_t ns = idle_engines_within(&g->m->idle.engines, g->thread, g->start, g->end);
    if (ns <= 0)
        return;
    idle_gap_part(g, IDLE_ENGINE, ns);
    idle_gap_main(g, IDLE_ENGINE, 0, 0, ns);
    idle_parts_none(&g->m->idle.parts, IDLE_ENGINE, IDLE_OF_PROFILER, ns);
    g->left -= ns;
}

/* Finds who launched the work that ended the gap, and when. */
static int find_launch(struct idle_gap *g)
{
    struct sum_idle *s = &g->m->idle;
    int rc = idle_calls_prepare(g->m, &g->list);
    rc = rc ? rc : idle_captured_sort(&s->captured);
    if (rc)
        return rc;
    idle_looks_sort(&s->looks);
    g->launch = idle_captured_find(&s->captured, g->after->first, g->end);
    uint32_t named = g->launch && g->launch->thread ? g->launch->thread : g->after->thread;
    g->calls = named ? idle_calls_thread(s, named) : launcher(g);
    g->thread = named ? named : g->calls ? g->calls->id : s->captured.only;
    g->following = g->launch ? g->launch
                             : idle_captured_next(&s->captured, g->thread, g->after->first, g->end);
    g->shared = idle_others_at(&s->others, (uint32_t)(g->device - s->devices), g->end);
    return 0;
}

static void blame_calls(struct idle_gap *g)
{
    int64_t all = g->left;
    if (g->calls)
        blame_thread(g, g->calls);
    if (g->left == all && !g->queued) {
        const struct wait_item *w = find_other(g);
        if (w)
            blame_call(g, w, call_time(g, w));
    }
}

int idle_gap_blame_start(struct model *m, uint32_t thread, int64_t start, int64_t end)
{
    struct idle_sum *s = &m->idle.current->causes[IDLE_START_UP];
    m->idle.current->start_up_engine += idle_engines_within(&m->idle.engines, thread, start, end);
    idle_gap_add(s, end - start);
    idle_longest_put(&s->longest, &(struct idle_longest){start, end, end - start}, 0);
    if (end - start >= IDLE_BACK_TO_BACK)
        return idle_gap_blame_edge(m, IDLE_START_UP, start, end, end - start);
    idle_parts_none(&m->idle.parts, IDLE_START_UP, IDLE_OF_GPU, end - start);
    return 0;
}

int idle_gap_blame(void *arg, const struct idle_span *before, const struct idle_span *after,
                   const struct idle_span *end)
{
    struct model *m = arg;
    struct idle_gap g = {.m = m,
                         .device = m->idle.current,
                         .start = before->end,
                         .end = after->start,
                         .left = after->start - before->end,
                         .before = before,
                         .after = after,
                         .spans_end = end};
    if (!sum_windows_cover(m, g.start, g.end))
        return 0; /* what the GPU did in the gap is unknown */
    int64_t begins;
    int rc = sum_steps_begin(m, &begins);
    if (rc)
        return rc;
    if (begins > g.start) {
        int64_t until = begins < g.end ? begins : g.end;
        rc = idle_gap_blame_start(m, after->thread, g.start, until);
        if (rc || until == g.end)
            return rc;
        g.start = until;
        g.left = g.end - until;
    }
    if (g.left < IDLE_BACK_TO_BACK) {
        idle_gap_add(&g.device->causes[IDLE_BETWEEN], g.left);
        idle_parts_none(&m->idle.parts, IDLE_BETWEEN, IDLE_OF_GPU, g.left);
        return 0;
    }
    g.code = find_launch(&g);
    if (g.code)
        return g.code;
    blame_engines(&g);
    g.queued = idle_gap_was_submitted(&g);
    if (!g.queued)
        blame_calls(&g);
    g.queued &= !g.launch || idle_gap_was_submitted(&g); /* the launch's own time decides */
    if (g.left > 0)
        idle_gap_blame_host(&g);
    return g.code ? g.code : idle_gap_keep(&g);
}
