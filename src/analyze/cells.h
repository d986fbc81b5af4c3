/* cells.h - reading cells of a batch, and sums that cannot overflow.
 *
 * Logs are input: a column may be missing, a cell unknown, a number absurd. These
 * helpers are what the accumulators share to stay correct on all of them. [any] */
#ifndef GPUFL_ANALYZE_CELLS_H
#define GPUFL_ANALYZE_CELLS_H

#include "wire/decode.h"

#include <stdbool.h>
#include <stdint.h>

#define CELLS_TIME_MAX (1ll << 62) /* ns; times and durations beyond it are no times */

/* Cell i of a column, or CELL_NULL. */
static inline int64_t cells_get(const struct wire_batch *b, unsigned column, size_t i)
{
    return b->col[column] ? b->col[column][i] : CELL_NULL;
}

/* The same with another answer for what is unknown. */
static inline int64_t cells_or(const struct wire_batch *b, unsigned column, size_t i, int64_t other)
{
    int64_t v = cells_get(b, column, i);
    return v == CELL_NULL ? other : v;
}

/* True where start and duration are an interval; *end gets its end. */
static inline bool cells_interval(int64_t start, int64_t duration, int64_t *end)
{
    if (start < -CELLS_TIME_MAX || start > CELLS_TIME_MAX || duration < 0 ||
        duration >= CELLS_TIME_MAX)
        return false;
    *end = start + duration;
    return true;
}

/* a + b, at most INT64_MAX. */
static inline int64_t cells_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN + 1;
    return sum;
}

/* part / whole, 0 where there is no whole. */
static inline double cells_share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

#endif
