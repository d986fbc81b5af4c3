/* pace.h - how often the collector takes records.
 *
 * A process that ends by _exit or is killed loses the records of the last two flush intervals, so
 * a process that works for 50 ms would lose everything at an interval of 250 ms. Flushes therefore
 * begin with short intervals: a quarter of the time since the first launch, at least `first` and at
 * most `interval`. With 5 and 250 ms the first second has 18 flushes instead of 4, and later
 * seconds have 4.
 *
 * Why time counts from the first launch: before it there is nothing to take, and the driver may
 * still be initializing, when CUPTI should not be called without need. A thread that is new to
 * the session wakes the collector (threads.c), which then looks for a launch for a second.
 *
 * Pure. [collector] */
#ifndef GPUFL_CAPTURE_SESSION_PACE_H
#define GPUFL_CAPTURE_SESSION_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    int64_t first, interval; /* ns; first 0: always the interval */
    int64_t began;           /* when the first launch was seen; 0: not yet */
    int64_t watch_until;     /* the first launch is looked for until then, ns */
};

/* Returns the time to the next flush, ns. */
static inline int64_t pace_next(const struct pace *p, int64_t now)
{
    int64_t quarter = (now - p->began) / 4, next = quarter > p->first ? quarter : p->first;
    return p->began && next < p->interval ? next : p->interval;
}

/* Returns true if the first launch is to be looked for now. woken: the collector was woken, because
 * a thread is new or a ring fills up. */
static inline bool pace_looks(struct pace *p, bool woken, int64_t now)
{
    enum { WATCH_NS = 1000000000 };
    if (p->first <= 0 || p->began)
        return false;
    if (woken)
        p->watch_until = now + WATCH_NS;
    return now < p->watch_until;
}

/* Returns when to look for the first launch again; 0: not before the collector is woken. */
static inline int64_t pace_look(const struct pace *p, int64_t now)
{
    return p->first > 0 && !p->began && now < p->watch_until ? now + p->first : 0;
}

#endif
