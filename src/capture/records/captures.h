/* captures.h - handles launches that are captured with their stack: rows of the record launch.
 *
 * These stacks show which line of the program left the GPU without work. launch_rule.h decides
 * which launches are captured; the thread that launches takes its own stack and puts one slot into
 * its ring. Unless stacks are wanted at some launches (STACKING_SOME), nothing here is called. */
#ifndef GPUFL_CAPTURE_RECORDS_CAPTURES_H
#define GPUFL_CAPTURE_RECORDS_CAPTURES_H

#include "backend/backend.h"
#include "base/tick.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Begins to capture if that is wanted and the session captures stacks; returns whether it does. The
 * curve gets another knot, so that the length of a tick is known. [owner, before the collector
 * starts] */
bool captures_begin(bool wanted, struct tick_curve *curve);

/* Begins a new stretch: launches were not seen for a while, so no thread knows when it was last in
 * the vendor's library. [any] */
void captures_resume(void);

/* Stops capturing if `on` is true; else goes on. [owner, of a session that captures] */
void captures_pause(bool on);

/* Holds the number of the stretch of time in which launches are seen without a gap, from 1. */
extern _Atomic uint32_t captures_stretch __attribute__((visibility("hidden")));

static inline bool captures_on(void)
{
    return stacking_wants() & STACKING_SOME;
}

/* Captures the launch that began at this tick, if launch_rule_judge says so. Returns the stack; 0:
 * none was captured. [hot] */
uint32_t captures_take(struct thread_state *t, const struct launch *l, uint64_t now);

/* Captures the call if it is to be captured; to be called for every reported call. Calls that start
 * no work, and blocking copies, which are waits, are never captured. [hot] */
static inline uint32_t captures_look(struct thread_state *t, const struct launch *l)
{
    if (l->kind != LAUNCH_KERNEL && l->kind != LAUNCH_GRAPH &&
        !(l->kind == LAUNCH_OTHER && l->async))
        return 0;
    uint64_t now = tick_now();
    if (t->rule.stretch == atomic_load_explicit(&captures_stretch, memory_order_relaxed) &&
        launch_rule_quiet(&t->rule, now))
        return 0;
    return captures_take(t, l, now);
}

/* Notes that a wait of the calling thread has ended. end: by clock_mono, ns. [hot] */
void captures_waited(struct thread_state *t, int64_t end);

#endif
