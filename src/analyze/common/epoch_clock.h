/* epoch_clock.h - finds the offset from a session's monotonic times to times since the Unix epoch.
 *
 * A session's log has readings of both clocks in pairs, each with its uncertainty. The pair with
 * the least uncertainty counts; among pairs with equal uncertainty, the one with the smallest
 * offset. */
#ifndef GPUFL_ANALYZE_COMMON_EPOCH_CLOCK_H
#define GPUFL_ANALYZE_COMMON_EPOCH_CLOCK_H

#include "analyze/common/cells.h"

struct epoch_clock {
    bool known;
    int64_t offset;      /* ns: epoch = monotonic + offset */
    int64_t uncertainty; /* ns */
};

/* Takes a pair of cells into account; a pair with an unknown or impossible time changes nothing. */
static inline void epoch_clock_note(struct epoch_clock *c, int64_t monotonic, int64_t real,
                                    int64_t uncertainty)
{
    int64_t offset;
    if (monotonic == CELL_NULL || real == CELL_NULL || real <= 0 ||
        __builtin_sub_overflow(real, monotonic, &offset) || offset < CELLS_EPOCH_MIN ||
        offset > CELLS_EPOCH_MAX)
        return;
    if (uncertainty == CELL_NULL || uncertainty < 0)
        uncertainty = INT64_MAX;
    bool same = uncertainty == c->uncertainty && offset < c->offset;
    if (!c->known || uncertainty < c->uncertainty || same)
        *c = (struct epoch_clock){true, offset, uncertainty};
}

#endif
