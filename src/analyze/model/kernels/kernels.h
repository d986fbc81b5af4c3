/* kernels.h - kernels by launch configuration and by name.
 *
 * While rows come in, each goes to its launch configuration, found by its
 * content; at the end configurations are put together by kernel name. Index 0
 * stands for rows whose configuration the log does not tell. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_KERNELS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_KERNELS_H

#include "analyze/common/histogram.h"
#include "wire/record.h"

struct model;
struct wire_batch;

#define SUM_KERNELS_TAKES (MODEL_TAKES(config) | MODEL_TAKES(kernel))

struct kernel_config {
    struct config_row
        row; /* id 0; name cells: ids of model.names; device: index in model.devices */
    struct histogram time; /* ns on the GPU */
    uint64_t graph;        /* of the rows: launched by a graph */
};

struct kernel_name {
    uint32_t name;    /* id of model.names; 0: not known */
    uint32_t first;   /* of its configurations in by_name */
    uint32_t configs; /* how many */
    uint64_t graph;
    struct histogram time;
};

struct sum_kernels {
    struct kernel_config *configs; /* owned; [0]: not known */
    size_t config_count, config_cap;
    uint32_t *slots;   /* owned: index of a configuration by hash, 0: free */
    size_t slot_count; /* a power of two, or 0 */
    uint64_t invalid;  /* rows without a usable interval, in no sum */
    /* after finish: */
    struct kernel_name *names; /* owned; by total time, descending */
    size_t name_count;
    uint32_t *by_name;     /* owned: configs by name, each name's by total time, descending */
    struct histogram time; /* of all */
};

void sum_kernels_init(struct model *m);
void sum_kernels_fini(struct model *m);
int sum_kernels_batch(struct model *m, const struct wire_batch *b);
int sum_kernels_merge(struct model *into, const struct model *from, int64_t shift);
int sum_kernels_finish(struct model *m);

#endif
