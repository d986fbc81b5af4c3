/* cells.h - has functions that read cells of a batch, and sums that cannot overflow.
 *
 * A log may be damaged: a column may be missing, a cell unknown, a number impossible. The
 * accumulators use these functions so that all of them treat such cells alike. [any] */
#ifndef GPUFL_ANALYZE_COMMON_CELLS_H
#define GPUFL_ANALYZE_COMMON_CELLS_H

#include "wire/decode.h"
#include "wire/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* A larger value, in ns, is not a time. The epoch of a clock may move times by these bounds, so
 * that the difference of any two moments, of one session or several, fits 64 bits. */
#define CELLS_TIME_MAX  WIRE_EVENT_MAX
#define CELLS_TIME_MIN  WIRE_EVENT_MIN
#define CELLS_EPOCH_MAX (3ll << 60)
#define CELLS_EPOCH_MIN (-(1ll << 59))

/* Returns cell i of a column, or CELL_NULL. */
static inline int64_t cells_get(const struct wire_batch *b, unsigned column, size_t i)
{
    return b->col[column] ? b->col[column][i] : CELL_NULL;
}

/* Does what cells_get does, but an unknown cell gives `other`. */
static inline int64_t cells_or(const struct wire_batch *b, unsigned column, size_t i, int64_t other)
{
    int64_t v = cells_get(b, column, i);
    return v == CELL_NULL ? other : v;
}

/* Returns true if t can be a time; false for CELL_NULL, too. */
static inline bool cells_time_ok(int64_t t)
{
    return t >= CELLS_TIME_MIN && t <= CELLS_TIME_MAX;
}

/* Returns true if start and duration are an interval; *end gets its end. */
static inline bool cells_interval(int64_t start, int64_t duration, int64_t *end)
{
    if (!wire_event_ok(start, duration))
        return false;
    *end = start + duration;
    return true;
}

/* Returns a + b, at most INT64_MAX. */
static inline int64_t cells_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN + 1;
    return sum;
}

/* Returns v as an integer, limited to the range of 64 bits; 0 for NAN. */
static inline int64_t cells_whole(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v > -0x1p63 ? (int64_t)v : v < 0 ? INT64_MIN + 1 : 0;
}

/* Returns part / whole, 0 if there is no whole. */
static inline double cells_share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

#endif
