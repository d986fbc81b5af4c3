/* captures.h - launches that are captured with their stack: rows of the record launch.
 *
 * Their stacks show which line of the program left the GPU without work. launch_rule.h says which
 * launches are captured; the thread that launches takes its own stack and puts one slot into its
 * ring. While nobody asks for stacks at some launches (STACKING_SOME), nothing here is called. */
#ifndef GPUFL_CAPTURE_RECORDS_CAPTURES_H
#define GPUFL_CAPTURE_RECORDS_CAPTURES_H

#include "backend/backend.h"
#include "base/tick.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Begins to capture, where that is wanted and the session captures stacks at all: says whether. The
 * curve gets another knot, and a tick its length. [owner, before the collector starts] */
bool captures_begin(bool wanted, struct tick_curve *curve);

/* Launches have not been seen for a while, and are from here on: no thread knows when it was last
 * in the vendor's library. [any] */
void captures_resume(void);

/* Stops capturing, or goes on. [owner, of a session that captures] */
void captures_pause(bool on);

/* Number of the stretch of time in which launches are seen without a gap, from 1. */
extern _Atomic uint32_t captures_stretch __attribute__((visibility("hidden")));

static inline bool captures_on(void)
{
    return stacking_wants() & STACKING_SOME;
}

/* Captures the launch that began at this tick, where launch_rule_judge says so. The stack, which
 * is captured once; 0: none was. [hot] */
uint32_t captures_take(struct thread_state *t, const struct launch *l, uint64_t now);

/* Looks at any call that is reported. Calls that start no work, and blocking copies, which are
 * waits, are not among these launches. [hot] */
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

/* A wait of the calling thread has ended. end: by clock_mono, ns. [hot] */
void captures_waited(struct thread_state *t, int64_t end);

#endif
