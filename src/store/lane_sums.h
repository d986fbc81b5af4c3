/* lane_sums.h - the sums that a transaction adds to each lane: of the pyramid's lowest level and of
 * all long events, which together are all events, each once. These sums go to table lane, whose
 * rows of a lane are added up. Called by the owner's thread only. */
#ifndef GPUFL_STORE_LANE_SUMS_H
#define GPUFL_STORE_LANE_SUMS_H

#include "wire/rowset.h"
#include "wire/tile.h"

/* This is a row of table lane, and of the rowset that collects these rows. */
struct lane_sum {
    int64_t lane;
    int64_t events, busy; /* busy: ns; saturates */
    int64_t first, last;  /* ns */
};

static inline void lane_sums_init(struct rowset *s)
{
    rowset_init(s, 1, sizeof(struct lane_sum) / 8);
}

/* Returns 0 or GPUFL_E_NOMEM. */
int lane_sums_tiles(struct rowset *s, const struct tile *rows, size_t n); /* of level 0 */
int lane_sums_spans(struct rowset *s, const struct tile_span *rows, size_t n);

static inline const struct lane_sum *lane_sums_row(const struct rowset *s, size_t i)
{
    return (const struct lane_sum *)(s->rows + i * s->width);
}

#endif
