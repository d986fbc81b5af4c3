/* host.c - finds the cause of the part of a gap that no call explains: the host's own time, the
 * launch, or work that had been launched before.
 *
 * The time of the launch distinguishes these, if the log has the row of the launch or of a later
 * launch of its thread. Without such rows, and with other processes on the device, only what ran
 * after the gap can decide. */
#include "analyze/common/cells.h"
#include "analyze/model/idle/gap.h"
#include "analyze/model/model.h"
#include "analyze/model/threads/calls.h"

enum {
    BURST_LEAST = 8,   /* so many activities back to back cannot be launched as fast one by one */
    BURST_MOST = 64,   /* activities that are examined */
    BURST_EACH = 10000 /* ns: about what the host takes to launch one */
};

#define LATENCY 20000ll /* ns from a launch to its work on an idle GPU, at most */

bool idle_gap_was_submitted(const struct idle_gap *g)
{
    const struct idle_capture *c = g->following;
    /* A launch that had begun when the gap began counts as the host's time. */
    return c && c->start <= g->start && g->end - c->start >= LATENCY;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Gives part of the gap to a stack. */
static void blame_stack(struct idle_gap *g, enum idle_cause c, uint32_t stack, uint32_t flags,
                        int64_t ns)
{
    struct idle_part part = {.stack = stack,
                             .cause = c,
                             .scope = g->after->scope,
                             .flags = flags,
                             .longest = {g->start, g->end, ns}};
    idle_gap_main(g, c, stack, flags, ns);
    g->code = g->code ? g->code : idle_parts_known(&g->m->idle.parts, &part, ns);
}

static void blame_none(struct idle_gap *g, enum idle_cause c, enum idle_reason r, int64_t ns)
{
    idle_gap_main(g, c, 0, 0, ns);
    idle_parts_none(&g->m->idle.parts, c, r, ns);
}

/* ---- the launch ------------------------------------------------------------------------- */

/* Estimates the thread from the launches around, if nothing names it. The line depends on that
 * estimate; causes and times do not. */
static void find_near(struct idle_gap *g)
{
    struct sum_idle *s = &g->m->idle;
    if (g->thread || !g->after)
        return;
    g->near.row = idle_captured_around(&s->captured, g->after->first, g->end);
    g->near.calls = g->near.row ? idle_calls_thread(s, g->near.row->thread) : NULL;
}

static uint32_t host_thread(const struct idle_gap *g)
{
    return g->near.row ? g->near.row->thread : g->thread;
}

/* Returns the stack of the launch that ended the gap, or of the capture that stands for it. */
static uint32_t class_stack(const struct idle_gap *g)
{
    const struct idle_captured *c = &g->m->idle.captured;
    if (g->launch && g->launch->stack)
        return g->launch->stack;
    if (g->after->stack)
        return g->after->stack;
    const struct idle_capture *next = g->following ? g->following : g->near.row,
                              *closing = next ? idle_captured_closing(c, next) : NULL;
    return closing ? closing->stack : 0;
}

/* ---- other processes --------------------------------------------------------------------- */

/* Returns true if so many short activities ran back to back after the gap that they must have been
 * launched before. */
static bool burst_follows(const struct idle_gap *g)
{
    const struct idle_span *s = g->after;
    uint64_t count = s->count;
    for (int n = 0; s + 1 < g->spans_end && n < BURST_MOST; n++, s++) {
        if (s[1].start - s->end >= IDLE_BACK_TO_BACK)
            break;
        count += s[1].count;
    }
    return count >= BURST_LEAST &&
           (double)(s->end - g->after->start) < (double)BURST_EACH * (double)count;
}

/* Handles work of unknown launch time while other processes are on the device. */
static void blame_shared(struct idle_gap *g, enum idle_cause c)
{
    if (burst_follows(g)) {
        idle_gap_part(g, IDLE_OTHER, g->left);
        blame_none(g, IDLE_OTHER, IDLE_PROBABLY_OTHERS, g->left);
    } else {
        idle_gap_part(g, c, g->left);
        blame_none(g, c, IDLE_SHARED, g->left);
    }
}

/* Gives part of the gap to the launch that ended it, which need not have taken the time. */
static void blame_ended(struct idle_gap *g, enum idle_cause c, int64_t ns)
{
    uint32_t exact = g->launch ? g->launch->stack : g->after->stack, at;
    struct idle_own own = {.thread = host_thread(g),
                           .stack = class_stack(g),
                           .cause = c,
                           .scope = g->after->scope,
                           .longest = {g->start, g->end, ns}};
    if (exact || !own.stack) {
        blame_stack(g, c, exact, IDLE_ENDED_BY, ns);
        return;
    }
    idle_gap_main(g, c, own.stack, IDLE_ENDED_BY, ns);
    g->code = g->code ? g->code : idle_parts_own(&g->m->idle.parts, &own, ns, &at);
}

static void blame_queued(struct idle_gap *g)
{
    if (g->shared) {
        idle_gap_part(g, IDLE_OTHER, g->left);
        blame_none(g, IDLE_OTHER, IDLE_OF_OTHERS, g->left);
    } else {
        idle_gap_part(g, IDLE_QUEUED, g->left);
        blame_ended(g, IDLE_QUEUED, g->left);
    }
}

/* ---- the host's own time ----------------------------------------------------------------- */

/* Returns true if the launching thread was in a call, or an engine kept it. */
static bool is_away(const struct idle_gap *g, int64_t t)
{
    struct idle_thread *calls = g->near.row ? g->near.calls : g->calls;
    size_t i = calls ? idle_calls_before(calls, g->list, t + 1) : 0;
    return (i && g->list->items[calls->calls[i - 1]].end > t) ||
           idle_engines_within(&g->m->idle.engines, host_thread(g), t, t + 1) > 0;
}

/* Holds the host's own time in a gap. */
struct own_time {
    uint32_t at; /* index in parts.own */
    struct idle_longest gap;
};

/* Adds the looks at the thread: those that have a stack or were torn, or the others. *any: there
 * are some, even if the thread was in a call. */
static int add_looks(const struct idle_gap *g, struct own_time own, size_t from, int64_t end,
                     bool python, bool *any)
{
    const struct idle_looks *l = &g->m->idle.looks;
    int rc = 0;
    for (size_t i = from; !rc && i < l->sorted && l->rows[i].time < end; i++) {
        const struct idle_look *r = &l->rows[i];
        if (r->thread != host_thread(g) || (r->stack || r->torn) != python)
            continue;
        *any = true;
        if (!is_away(g, r->time))
            rc = idle_parts_look(&g->m->idle.parts, own.at, r, IDLE_SEEN_OWN, &own.gap);
    }
    return rc;
}

/* Returns the only other thread that ran Python meanwhile, or the only one of several that was
 * blocked; 0: there is none. *several: there are several, and which one the thread waited for is
 * unknown. */
static uint32_t find_other_python(const struct idle_gap *g, size_t from, int64_t end, bool *several)
{
    const struct idle_looks *l = &g->m->idle.looks;
    uint32_t only = 0, blocked = 0;
    bool more = false, more_blocked = false;
    for (size_t i = from; i < l->sorted && l->rows[i].time < end; i++) {
        const struct idle_look *r = &l->rows[i];
        if (!r->stack || r->thread == host_thread(g))
            continue;
        more |= only && only != r->thread;
        only = only ? only : r->thread;
        if (r->state != IDLE_BLOCKED)
            continue;
        more_blocked |= blocked && blocked != r->thread;
        blocked = blocked ? blocked : r->thread;
    }
    *several = more && (more_blocked || !blocked);
    return !more ? only : blocked ? blocked : only;
}

/* Adds the looks at the thread that find_other_python finds. If it may be one of several, each look
 * counts as one without a known line. *any: there are some. */
static int inherit_looks(const struct idle_gap *g, struct own_time own, size_t from, int64_t end,
                         bool *any)
{
    const struct idle_looks *l = &g->m->idle.looks;
    bool several;
    uint32_t other = find_other_python(g, from, end, &several);
    int rc = 0;
    for (size_t i = from; !rc && other && i < l->sorted && l->rows[i].time < end; i++) {
        const struct idle_look *r = &l->rows[i];
        if (r->thread == other && r->stack) {
            *any = true;
            rc = idle_parts_look(&g->m->idle.parts, own.at, r,
                                 several ? IDLE_SEEN_SEVERAL : IDLE_SEEN_INHERITED, &own.gap);
        }
    }
    return rc;
}

/* Returns true if the look at a thread without Python found the thread blocked, or on its way. */
static bool was_blocked(const struct idle_look *r)
{
    return r->native || r->torn || r->state == IDLE_BLOCKED;
}

/* Adds the looks at a thread of a process without Python. Those that found the thread blocked have
 * native frames, or no stack is known. */
static int add_native(const struct idle_gap *g, struct own_time own, size_t from, int64_t end)
{
    const struct idle_looks *l = &g->m->idle.looks;
    int rc = 0;
    for (size_t i = from; !rc && i < l->sorted && l->rows[i].time < end; i++) {
        const struct idle_look *r = &l->rows[i];
        if (r->thread == host_thread(g) && !is_away(g, r->time))
            rc = idle_parts_look(&g->m->idle.parts, own.at, r,
                                 was_blocked(r) ? IDLE_SEEN_NATIVE : IDLE_SEEN_RUNNING, &own.gap);
    }
    return rc;
}

/* Returns the stack of more than half of the looks at the thread, or if there is none, one of their
 * stacks. 0: no look has a stack, or without Python, the thread ran at most looks. */
static uint32_t main_stack(const struct idle_gap *g, size_t from, int64_t end)
{
    const struct idle_looks *l = &g->m->idle.looks;
    bool native = idle_looks_native(l, host_thread(g));
    uint32_t stack = 0;
    size_t lead = 0;
    for (size_t i = from; i < l->sorted && l->rows[i].time < end; i++) {
        const struct idle_look *r = &l->rows[i];
        uint32_t here = native ? r->native : r->stack;
        bool unknown = !here && (!native || was_blocked(r));
        if (r->thread != host_thread(g) || unknown || is_away(g, r->time))
            continue;
        if (!lead)
            stack = here;
        lead = here == stack ? lead + 1 : lead - 1;
    }
    return stack;
}

/* Adds the host's own time until `end`. */
static int blame_own(struct idle_gap *g, enum idle_cause c, uint32_t stack, int64_t end, int64_t ns)
{
    const struct idle_looks *l = &g->m->idle.looks;
    struct idle_own own = {.thread = host_thread(g),
                           .stack = stack,
                           .cause = c,
                           .scope = g->after ? g->after->scope : 0,
                           .longest = {g->start, g->end, ns}};
    struct own_time time = {.gap = own.longest};
    bool any = false;
    bool native = idle_looks_native(l, host_thread(g));
    if (!stack && (!l->sorted || (!g->after && !native && !idle_looks_at(l, host_thread(g))))) {
        blame_none(g, c, IDLE_FEW, ns);
        return 0;
    }
    size_t from = l->sorted ? idle_looks_from(l, g->start) : 0;
    uint32_t seen = main_stack(g, from, end);
    idle_gap_main(g, c, seen ? seen : stack, seen || !stack ? 0 : IDLE_ENDED_BY, ns);
    int rc = idle_parts_own(&g->m->idle.parts, &own, ns, &time.at);
    if (rc || !time.at || !l->sorted)
        return rc;
    if (native)
        return add_native(g, time, from, end);
    rc = add_looks(g, time, from, end, true, &any);
    if (!rc && !any && g->after)
        rc = inherit_looks(g, time, from, end, &any);
    if (!rc && !g->after) /* the interpreter runs before and after its code */
        rc = add_looks(g, time, from, end, false, &any);
    return rc;
}

void idle_gap_blame_host(struct idle_gap *g)
{
    int64_t begun = g->launch ? later(g->launch->start, g->start) : g->end;
    int64_t launching = g->end - begun < g->left ? g->end - begun : g->left;
    find_near(g);
    if (g->queued) {
        blame_queued(g);
        return;
    }
    if (g->shared && launching >= IDLE_LAUNCHES) {
        idle_gap_part(g, IDLE_OTHER, launching);
        blame_none(g, IDLE_OTHER, IDLE_OF_OTHERS, launching);
        g->left -= launching;
        launching = 0;
        if (!g->left)
            return;
    }
    enum idle_cause c = g->left < IDLE_LAUNCHES ? IDLE_SLOW
                        : g->left < IDLE_WORK   ? IDLE_LATE
                                                : IDLE_NOTHING;
    if (g->shared && !g->launch && c != IDLE_SLOW) {
        blame_shared(g, c);
        return;
    }
    idle_gap_part(g, c, g->left);
    if (launching > 0)
        blame_stack(g, c, g->launch->stack, 0, launching);
    if (g->left > launching && !g->code)
        g->code = blame_own(g, c, class_stack(g), begun, g->left - launching);
}

int idle_gap_blame_edge(struct model *m, enum idle_cause c, int64_t start, int64_t end, int64_t ns)
{
    int64_t pid = m->facts.pid;
    struct idle_gap g = {.m = m,
                         .device = m->idle.current,
                         .start = start,
                         .end = end,
                         .thread = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0};
    int rc = idle_calls_prepare(m, &g.list);
    idle_looks_sort(&m->idle.looks);
    g.calls = g.thread ? idle_calls_thread(&m->idle, g.thread) : NULL;
    rc = rc ? rc : blame_own(&g, c, 0, end, ns);
    return rc ? rc : idle_gap_keep(&g);
}
