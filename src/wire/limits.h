/* limits.h - has limits that encoder and decoder share, beyond those of encode.h. */
#ifndef GPUFL_WIRE_LIMITS_H
#define GPUFL_WIRE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_READ_ROWS 65536        /* of one line; more is damage */
#define WIRE_MAX_NAME  65536        /* bytes of a name; the rest is cut */
#define WIRE_TIME_MAX  (1ll << 62)  /* ns: a time beyond is no time, and ends could overflow */
#define WIRE_NAMES_CUT (512u << 10) /* bytes at which a names line ends */

/* Returns true for a time that a log can hold. [any] */
static inline bool wire_time_ok(int64_t t)
{
    return t >= -WIRE_TIME_MAX && t <= WIRE_TIME_MAX;
}

/* These are the bounds of a time within which sums, differences and ends of events do not
 * overflow. */
#define WIRE_EVENT_MAX (WIRE_TIME_MAX - 1) /* in the year 2116 */
#define WIRE_EVENT_MIN (-(1ll << 59))

/* Returns true if start and duration make an interval; an event without one is left out of every
 * sum. CELL_NULL is out of bounds. [any] */
static inline bool wire_event_ok(int64_t start, int64_t duration)
{
    return start >= WIRE_EVENT_MIN && start <= WIRE_EVENT_MAX && duration >= 0 &&
           duration <= WIRE_EVENT_MAX - start;
}

#endif
