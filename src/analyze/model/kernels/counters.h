/* counters.h - sums up values of hardware counters: count, mean, least and greatest of each metric,
 * by the scope, range or kernel that it was counted for. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_COUNTERS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_COUNTERS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_COUNTERS_TAKES MODEL_TAKES(counter)

enum { COUNTER_SAMPLED = 1, COUNTER_RANGE = 2, COUNTER_KERNEL = 3, COUNTERS_MAX = 1 << 18 };

struct counter_sum {
    uint32_t metric, source, device;
    uint32_t scope; /* name of its path; 0: outside all, or unknown */
    uint32_t range, kernel;
    /* not of the key: */
    uint64_t count;
    double sum, least, most;
};

struct sum_counters {
    struct keyed items; /* by handle of a scope until finish */
    uint64_t invalid;   /* rows without a value or a metric */
    bool reading;       /* scopes are still handles, which finish replaces by names */
};

void sum_counters_init(struct model *m);
void sum_counters_fini(struct model *m);
int sum_counters_batch(struct model *m, const struct wire_batch *b);
int sum_counters_merge(struct model *into, const struct model *from, int64_t shift);
int sum_counters_finish(struct model *m);

static inline const struct counter_sum *sum_counters_at(const struct sum_counters *s, size_t i)
{
    return (const struct counter_sum *)keyed_at(&s->items, i);
}

#endif
