/* histogram.h - how durations are distributed, in little memory.
 *
 * Up to HISTOGRAM_EXACT values are stored unchanged; more are counted in buckets, 128 for each
 * octave. A quantile is the middle of its bucket, so it differs from the exact one by at most 1/256
 * (0.39 %); below 256 it is exact. Count, total, least and greatest are always exact. An octave
 * that has a value takes 512 bytes. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMMON_HISTOGRAM_H
#define GPUFL_ANALYZE_COMMON_HISTOGRAM_H

#include "base/bins.h"

#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_EXACT = 64,           /* values kept one by one */
    HISTOGRAM_PAGE = BINS_OCTAVE,   /* buckets of an octave */
    HISTOGRAM_PAGES = BINS_OCTAVES, /* octaves: values up to 2^63 */
};

struct histogram {
    uint64_t count;
    int64_t total;    /* saturates */
    int64_t min, max; /* defined where count > 0 */
    int64_t *samples; /* owned; the values while count <= HISTOGRAM_EXACT, then NULL */
    uint32_t cap;     /* of samples */
    uint32_t **pages; /* owned; HISTOGRAM_PAGES pages, NULL if empty; counts saturate */
};

void histogram_init(struct histogram *h); /* allocates nothing */
void histogram_fini(struct histogram *h);

/* Returns the bucket of a value: page * HISTOGRAM_PAGE + place. v >= 0. */
static inline unsigned histogram_bucket(int64_t v)
{
    return bins_of(v);
}

/* Returns the middle of a bucket. */
int64_t histogram_middle(unsigned bucket);

/* Does what histogram_add does in the general case. */
int histogram_add_slow(struct histogram *h, int64_t v);

/* Adds a value; a negative one counts as 0. 0 or GPUFL_E_NOMEM. */
static inline int histogram_add(struct histogram *h, int64_t v)
{
    unsigned bucket;
    uint32_t *page;
    if (!h->pages || v < h->min || v > h->max ||
        !(page = h->pages[(bucket = histogram_bucket(v)) / HISTOGRAM_PAGE]) ||
        h->total > INT64_MAX / 2)
        return histogram_add_slow(h, v);
    uint32_t *n = &page[bucket % HISTOGRAM_PAGE];
    *n += *n != UINT32_MAX;
    h->count++;
    h->total += v;
    return 0;
}

/* Adds all values of another histogram. */
int histogram_merge(struct histogram *h, const struct histogram *other);

/* Returns the q-quantile by nearest rank: the least value that at least q of all do not
 * exceed; 0.5 is the median. 0 for an empty histogram. */
int64_t histogram_quantile(const struct histogram *h, double q);

/* Returns how many values are above v; *sum gets their sum. A value in a bucket counts as the
 * bucket's middle. */
uint64_t histogram_above(const struct histogram *h, int64_t v, int64_t *sum);

/* Returns how many of the values are 0. */
uint64_t histogram_count_zero(const struct histogram *h);

/* Returns total / count, rounded down; 0 for an empty histogram. */
int64_t histogram_mean(const struct histogram *h);

#endif
