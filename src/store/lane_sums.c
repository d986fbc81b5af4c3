/* lane_sums.c - see lane_sums.h. */
#include "store/lane_sums.h"

#include "base/err.h"

static int add(struct rowset *s, int64_t lane, int64_t events, int64_t busy, int64_t first,
               int64_t last)
{
    bool added;
    struct lane_sum *l = (struct lane_sum *)rowset_put(s, &lane, &added);
    if (!l)
        return GPUFL_E_NOMEM;
    l->events += events;
    if (__builtin_add_overflow(l->busy, busy, &l->busy))
        l->busy = INT64_MAX;
    l->first = added || first < l->first ? first : l->first;
    l->last = added || last > l->last ? last : l->last;
    return 0;
}

int lane_sums_tiles(struct rowset *s, const struct tile *rows, size_t n)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add(s, rows[i].lane, rows[i].events, rows[i].busy, rows[i].bucket * TILE_WIDTH(0),
                 (rows[i].bucket + 1) * TILE_WIDTH(0));
    return rc;
}

int lane_sums_spans(struct rowset *s, const struct tile_span *rows, size_t n)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add(s, rows[i].lane, 1, rows[i].duration, rows[i].start,
                 rows[i].start + rows[i].duration);
    return rc;
}
