/* captures.c - see captures.h.
 *
 * The limits are written before STACKING_SOME is set, and read after it was seen. They are relaxed
 * atomics, because a thread that saw the bit in an earlier session may read while they are written
 * again. Such a thread finds old or new limits, which differ only if the unit of ticks changed. */
#include "capture/records/captures.h"

#include "capture/records/slots.h"
#include "capture/threads/turns.h"

_Atomic uint32_t captures_stretch = 1;

static _Atomic uint64_t limit_away, limit_window, limit_second; /* as in struct launch_limits */
static bool capturing;                                          /* [owner] */

static struct launch_limits limits(void)
{
    return (struct launch_limits){atomic_load_explicit(&limit_away, memory_order_relaxed),
                                  atomic_load_explicit(&limit_window, memory_order_relaxed),
                                  atomic_load_explicit(&limit_second, memory_order_relaxed)};
}

bool captures_begin(bool wanted, struct tick_curve *curve)
{
    tick_curve_mark(curve);
    uint64_t away = tick_curve_ticks(curve, LAUNCH_AWAY_US * 1000);
    uint64_t window = tick_curve_ticks(curve, LAUNCH_WINDOW_US * 1000);
    uint64_t second = tick_curve_ticks(curve, 1000000000);
    capturing = wanted && away > 0 && stacking_wants() != STACKING_OFF;
    if (!capturing)
        return false;
    atomic_store_explicit(&limit_away, away, memory_order_relaxed);
    atomic_store_explicit(&limit_window, window, memory_order_relaxed);
    atomic_store_explicit(&limit_second, second, memory_order_relaxed);
    turns_begin();
    captures_resume();
    stacking_some(true);
    return true;
}

void captures_resume(void)
{
    if (atomic_fetch_add_explicit(&captures_stretch, 1, memory_order_relaxed) == UINT32_MAX)
        atomic_fetch_add_explicit(&captures_stretch, 1, memory_order_relaxed); /* 0 is none */
}

void captures_pause(bool on)
{
    if (!capturing)
        return;
    captures_resume();
    stacking_some(!on);
}

/* Pushes the slot of a captured launch. Times that do not fit 32 bits are capped; those of SUM
 * always fit: see launch_rule.h. */
static void push(struct thread_state *t, const struct launch *l, const struct launch_verdict *v,
                 uint32_t stack, uint64_t now)
{
    if (v->why == LAUNCH_SUM)
        slot_push(t, SLOT_SUMMED, l->correlation, stack, now, v->sum << 32 | v->own);
    else
        slot_push(t, SLOT_LONG, l->correlation, stack, now, v->own);
}

uint32_t captures_take(struct thread_state *t, const struct launch *l, uint64_t now)
{
    const struct launch_limits limit = limits();
    struct launch_verdict v = launch_rule_judge(
        &t->rule, &limit, atomic_load_explicit(&captures_stretch, memory_order_relaxed), now);
    if (v.why == LAUNCH_QUIET)
        return 0;
    if (!threads_ring(t) || !slots_room(t, 1)) {
        counter_add(&t->counters.captures_lost, 1);
        return 0;
    }
    uint32_t stack = l->depth ? stacking_simulated(l->frames, l->depth) : stacking_capture(t);
    push(t, l, &v, stack, now);
    counter_add(&t->counters.launches_captured, 1);
    launch_rule_spent(&t->rule, &limit, now, tick_now(),
                      atomic_load_explicit(&t->turn, memory_order_relaxed));
    return stack;
}

/* If ticks are ns, end is a tick: a simulated thread reports its wait ahead of its clock. */
void captures_waited(struct thread_state *t, int64_t end)
{
    bool counts = atomic_load_explicit(&tick_counts, memory_order_relaxed);
    launch_rule_left(&t->rule, counts ? tick_counter() : (uint64_t)end);
}
