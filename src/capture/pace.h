/* pace.h - how often the collector takes records.
 *
 * A process that ends by _exit or is killed loses what the last two flushes would have brought, and one that
 * lives for 50 ms would lose everything at an interval of 250 ms. So a session begins with short intervals:
 * a quarter of the time since it began, from `first` on, up to `interval`. At 5 and 250 ms that is 18
 * flushes in the first second instead of 4, and none more after that.
 *
 * Pure. [collector] */
#ifndef GPUFL_CAPTURE_PACE_H
#define GPUFL_CAPTURE_PACE_H

#include <stdint.h>

/* Time to the next flush, ns, of a session that began `since` ns ago. first 0: the interval. */
static inline int64_t pace_next(int64_t since, int64_t first, int64_t interval)
{
    int64_t next = since / 4 > first ? since / 4 : first;
    return first > 0 && next < interval ? next : interval;
}

#endif
