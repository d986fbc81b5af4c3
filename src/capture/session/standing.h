/* standing.h - how long the collector has made no progress; for threads that wait for its end.
 *
 * Two threads do the work of the end in turns: the collector and the thread of its files. A step of
 * the collector is progress. A wait for a core does not count, because the busy machine causes it:
 * the kernel says how long a thread has been in waits that are over, and a thread that can run
 * but has not run since the look before is waiting now.
 *
 * Pure. [any] */
#ifndef GPUFL_CAPTURE_SESSION_STANDING_H
#define GPUFL_CAPTURE_SESSION_STANDING_H

#include "capture/samples/state.h"

#include <stdbool.h>
#include <stdint.h>

enum { STANDING_THREADS = 2 };

/* Holds what the kernel says of a thread. */
struct standing_thread {
    bool known;              /* false: the kernel says nothing, so its waits are not seen */
    bool ready;              /* it is on a core, or waits for one */
    struct sched_said sched; /* if known */
};

struct standing {
    int64_t at;    /* of the last look, steady ns */
    int64_t still; /* ns without a step and without waits for a core */
    uint64_t step; /* the collector's, as of the last look */
    struct standing_thread threads[STANDING_THREADS];
};

/* Returns how long the thread has waited for a core since the look before, ns. */
static inline int64_t standing_waited(const struct standing_thread *before,
                                      const struct standing_thread *now, int64_t passed)
{
    if (!before->known || !now->known)
        return 0;
    bool waits = now->ready && now->sched.run == before->sched.run;
    int64_t over = now->sched.delayed - before->sched.delayed;
    return waits || over > passed ? passed : over;
}

/* Takes a look. Returns how long the collector has made no progress, ns. */
static inline int64_t standing_look(struct standing *s, int64_t now, uint64_t step,
                                    const struct standing_thread threads[STANDING_THREADS])
{
    int64_t passed = now - s->at, waited = 0;
    for (int i = 0; i < STANDING_THREADS; i++) {
        waited += standing_waited(&s->threads[i], &threads[i], passed);
        s->threads[i] = threads[i];
    }
    s->still = step != s->step ? 0 : s->still + (waited < passed ? passed - waited : 0);
    s->at = now;
    s->step = step;
    return s->still;
}

#endif
