/* handover.c - see handover.h. */
#include "backend/nvidia/life/handover.h"

#include "backend/nvidia/engine/yield.h"
#include "backend/nvidia/life/attach.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/record/activity.h"
#include "backend/nvidia/record/activity_kinds.h"

#include <time.h>

enum { ROUNDS = 2, PAUSES = 2000, PAUSE = 1000000 /* ns */ };

/* Reads the clock of a CUPTI without settings: ns since the Unix epoch (measured: within 1 us). */
static uint64_t on_default_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Restores CUPTI's settings, which last longer than a subscription. */
static void restore_settings(const struct cupti *c)
{
    if (c->cuptiActivityRegisterTimestampCallback)
        c->cuptiActivityRegisterTimestampCallback(on_default_clock);
    if (c->cuptiSetThreadIdType)
        c->cuptiSetThreadIdType(CUPTI_THREAD_ID_DEFAULT);
}

/* Waits, for a bounded time, until the collector has decoded the delivered buffers, which only
 * CUPTI's functions can read. Two rounds, because the first may have begun before. */
static void await_collector(struct trace *t, struct sink *s)
{
    uint64_t until = atomic_load(&t->drains) + ROUNDS;
    for (int i = 0; i < PAUSES && atomic_load(&t->drains) < until; i++) {
        s->ops->wake(s);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
}

static void detach(struct trace *t, struct sink *s)
{
    if (t->detaches || atomic_load_explicit(&t->suspends, memory_order_relaxed))
        detach_stop(t); /* so that no thread finalizes CUPTI meanwhile */
    if (!t->subscriber)
        return; /* between windows: CUPTI is detached */
    nv_engines_stop(t);
    activity_kinds_disable(t);
    (void)activity_flush(t, true);
    if (s)
        await_collector(t, s);
    nv_engines_close(t);
    attach_off(t);
    restore_settings(t->cupti);
}

void handover_begin(struct trace *t, const char *function)
{
    if (trace_mute(t))
        return;
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    const char *unending = nv_engines_unending(t), *kept = yield_engines(t);
    if (kept) {
        if (s)
            s->ops->message(
                s, SEVERITY_WARNING, "cupti.kept",
                "the program begins a profiler of its own (%s), which records nothing: gpufl still "
                "uses CUPTI (%s), and could not stop that (%s). Use engine Trace, or --yield-cupti",
                function, unending, kept);
        return;
    }
    cupti_fatal_by_program(t, function);
    detach(t, s);
}
