/* kernels.h - sums up kernels by launch configuration and by name.
 *
 * A row is added to its launch configuration; configurations with equal content are one. At the end
 * configurations are grouped by kernel name. Index 0 is for rows whose configuration is not in the
 * log. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_KERNELS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_KERNELS_H

#include "analyze/common/histogram.h"
#include "base/keyed.h"
#include "wire/record.h"

struct model;
struct wire_batch;

#define SUM_KERNELS_TAKES (MODEL_TAKES(config) | MODEL_TAKES(kernel))

struct kernel_config {
    /* The key. Its id is 0, its names are ids of model.names, its device is an index in
     * model.devices. */
    struct config_row row;
    struct histogram time; /* ns on the GPU */
    int64_t longest_start; /* ns: start of the first row that lasted time.max, if there is one */
    int64_t first_start;   /* ns: the earliest start of a row, if there is one */
    uint64_t graph;        /* rows that a graph launched */
    uint32_t kinds;        /* of symbol/names/kinds.h; 0 for item 0 */
};

struct kernel_name {
    uint32_t name;    /* id of model.names; 0: not known */
    uint32_t first;   /* its first configuration in by_name */
    uint32_t configs; /* how many */
    uint32_t kinds;   /* of symbol/names/kinds.h */
    uint64_t graph;
    struct histogram time;
    int64_t longest_start; /* as in kernel_config */
};

struct sum_kernels {
    struct keyed configs; /* of struct kernel_config; item 0: not known */
    struct keyed kinds;   /* struct name_kinds: each name is analysed once */
    uint64_t invalid;     /* rows without a usable interval, in no sum */
    /* after finish: */
    struct kernel_name *names; /* owned; by total time, descending */
    size_t name_count;
    uint32_t *by_name;     /* owned: configs by name, each name's by total time, descending */
    struct histogram time; /* all kernels */
};

/* Returns a configuration by its index; valid until the next one is added. It is keyed_at with a
 * size that the compiler knows, because every kernel row calls it. */
static inline struct kernel_config *sum_kernels_config(const struct sum_kernels *k, size_t index)
{
    return (struct kernel_config *)k->configs.items + index;
}

/* Returns the kinds (symbol/names/kinds.h) of a name; 0 if no configuration has the name. */
uint32_t sum_kernels_kinds(const struct sum_kernels *k, uint32_t name);

/* Returns the kernel of a name, after finish; NULL: no row has the name. */
const struct kernel_name *sum_kernels_name(const struct sum_kernels *k, uint32_t name);

void sum_kernels_init(struct model *m);
void sum_kernels_fini(struct model *m);
int sum_kernels_batch(struct model *m, const struct wire_batch *b);
int sum_kernels_merge(struct model *into, const struct model *from, int64_t shift);
int sum_kernels_finish(struct model *m);

#endif
