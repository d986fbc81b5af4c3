/* histogram.c - keeps log-linear buckets in pages of one octave; a few values are exact. */
#include "analyze/common/histogram.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof *h);
}

void histogram_fini(struct histogram *h)
{
    for (int i = 0; h->pages && i < HISTOGRAM_PAGES; i++)
        mem_free(h->pages[i]);
    mem_free(h->pages);
    mem_free(h->samples);
    histogram_init(h);
}

int64_t histogram_middle(unsigned bucket)
{
    return bins_middle(bucket);
}

/* Counts n values in a bucket. */
static int put_bucket(struct histogram *h, unsigned bucket, uint64_t n)
{
    uint32_t **page = &h->pages[bucket / HISTOGRAM_PAGE];
    if (!*page)
        *page = mem_array(HISTOGRAM_PAGE, sizeof **page);
    if (!*page)
        return GPUFL_E_NOMEM;
    uint32_t *at = &(*page)[bucket % HISTOGRAM_PAGE];
    *at = n > UINT32_MAX - *at ? UINT32_MAX : *at + (uint32_t)n;
    return 0;
}

/* Moves the values to buckets. Without memory they stay where they are. */
static int to_buckets(struct histogram *h)
{
    h->pages = mem_array(HISTOGRAM_PAGES, sizeof *h->pages);
    int rc = h->pages ? 0 : GPUFL_E_NOMEM;
    for (uint64_t i = 0; !rc && i < h->count; i++)
        rc = put_bucket(h, histogram_bucket(h->samples[i]), 1);
    if (rc) {
        for (int i = 0; h->pages && i < HISTOGRAM_PAGES; i++)
            mem_free(h->pages[i]);
        mem_free(h->pages);
        h->pages = NULL;
        return rc;
    }
    mem_free(h->samples);
    h->samples = NULL;
    h->cap = 0;
    return 0;
}

static int put_sample(struct histogram *h, int64_t v)
{
    if (h->count == h->cap) {
        uint32_t cap = h->cap ? h->cap * 4 : 4;
        int64_t *more = mem_realloc(h->samples, cap * sizeof *more);
        if (!more)
            return GPUFL_E_NOMEM;
        h->samples = more;
        h->cap = cap;
    }
    h->samples[h->count] = v;
    return 0;
}

/* Adds n values between low and high, whose sum is total, to count, total, min and max. */
static void note(struct histogram *h, uint64_t n, int64_t total, int64_t low, int64_t high)
{
    if (!h->count || low < h->min)
        h->min = low;
    if (!h->count || high > h->max)
        h->max = high;
    h->count += n;
    h->total = cells_sum(h->total, total);
}

int histogram_add_slow(struct histogram *h, int64_t v)
{
    int rc = 0;
    v = v < 0 ? 0 : v;
    if (!h->pages && h->count == HISTOGRAM_EXACT)
        rc = to_buckets(h);
    if (!rc)
        rc = h->pages ? put_bucket(h, histogram_bucket(v), 1) : put_sample(h, v);
    if (!rc)
        note(h, 1, v, v, v);
    return rc;
}

static int merge_buckets(struct histogram *h, const struct histogram *other)
{
    int rc = h->pages ? 0 : to_buckets(h);
    for (unsigned p = 0; !rc && p < HISTOGRAM_PAGES; p++)
        for (unsigned i = 0; !rc && other->pages[p] && i < HISTOGRAM_PAGE; i++)
            if (other->pages[p][i])
                rc = put_bucket(h, p * HISTOGRAM_PAGE + i, other->pages[p][i]);
    if (!rc)
        note(h, other->count, other->total, other->min, other->max);
    return rc;
}

int histogram_merge(struct histogram *h, const struct histogram *other)
{
    int rc = 0;
    if (other->pages)
        return merge_buckets(h, other);
    for (uint64_t i = 0; !rc && i < other->count; i++)
        rc = histogram_add(h, other->samples[i]);
    return rc;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return ORDER(x, y);
}

static int64_t exact_quantile(const struct histogram *h, uint64_t rank)
{
    int64_t sorted[HISTOGRAM_EXACT];
    memcpy(sorted, h->samples, h->count * sizeof *sorted);
    qsort(sorted, h->count, sizeof *sorted, compare_values);
    return sorted[rank - 1];
}

int64_t histogram_quantile(const struct histogram *h, double q)
{
    if (!h->count)
        return 0;
    double wanted = ceil(q * (double)h->count);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted, seen = 0;
    if (rank >= h->count)
        return h->max;
    if (!h->pages)
        return exact_quantile(h, rank);
    for (unsigned b = 0; b < HISTOGRAM_PAGES * HISTOGRAM_PAGE; b++) {
        const uint32_t *page = h->pages[b / HISTOGRAM_PAGE];
        seen += page ? page[b % HISTOGRAM_PAGE] : 0;
        if (seen >= rank) {
            int64_t v = histogram_middle(b);
            return v < h->min ? h->min : v > h->max ? h->max : v;
        }
    }
    return h->max;
}

int64_t histogram_mean(const struct histogram *h)
{
    return h->count ? h->total / (int64_t)h->count : 0;
}

uint64_t histogram_above(const struct histogram *h, int64_t v, int64_t *sum)
{
    uint64_t n = 0;
    double all = 0;
    for (uint64_t i = 0; !h->pages && i < h->count; i++)
        if (h->samples[i] > v) {
            n++;
            all += (double)h->samples[i];
        }
    for (unsigned b = 0; h->pages && b < HISTOGRAM_PAGES * HISTOGRAM_PAGE; b++) {
        const uint32_t *page = h->pages[b / HISTOGRAM_PAGE];
        uint32_t here = page ? page[b % HISTOGRAM_PAGE] : 0;
        if (here && histogram_middle(b) > v) {
            n += here;
            all += (double)here * (double)histogram_middle(b);
        }
    }
    *sum = cells_whole(all);
    return n;
}

uint64_t histogram_count_zero(const struct histogram *h)
{
    uint64_t n = 0;
    if (h->pages)
        return h->pages[0] ? h->pages[0][0] : 0;
    for (uint64_t i = 0; i < h->count; i++)
        n += h->samples[i] == 0;
    return n;
}
