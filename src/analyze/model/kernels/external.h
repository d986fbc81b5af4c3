/* external.h - sums up kernels by the external correlation id that the program or a framework
 * pushed. Called by the owner's thread only, except where a tag says otherwise. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_EXTERNAL_H
#define GPUFL_ANALYZE_MODEL_KERNELS_EXTERNAL_H

#include "base/keyed.h"

struct model;
struct wire_batch;

#define SUM_EXTERNAL_TAKES MODEL_TAKES(kernel)

struct external_sum {
    int64_t kind, id; /* the key; id: all 64 bits of the log's value */
    uint64_t kernels;
    int64_t ns; /* on the GPU */
};

struct sum_external {
    struct keyed ids;  /* of struct external_sum; item 0: ids beyond the ceiling */
    uint64_t kernels;  /* kernels that have an id */
    int64_t ns;        /* of these kernels */
    uint32_t *by_time; /* owned: indices of ids, longest first; set by finish */
    size_t by_time_count;
};

void sum_external_init(struct model *m);
void sum_external_fini(struct model *m);
int sum_external_batch(struct model *m, const struct wire_batch *b);
int sum_external_merge(struct model *into, const struct model *from, int64_t shift);
int sum_external_finish(struct model *m);

/* Returns the name of a kind: "custom0". [any] */
const char *sum_external_kind(int64_t kind);

#endif
