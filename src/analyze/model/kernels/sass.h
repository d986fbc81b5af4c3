/* sass.h - sums up SASS metrics by instruction, and by function and scope.
 *
 * Metrics that rules use have their own members (SASS_METRICS); others are summed by function.
 * Masks say which metrics were collected: one that was not is unknown, not 0. Memory is bounded:
 * instructions beyond the ceiling are only in the sums of functions. Called by the owner's thread
 * only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_SASS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_SASS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_SASS_TAKES MODEL_TAKES(sass_metric)

enum { SASS_PLACES = 1 << 19, SASS_GROUPS = 1 << 18, SASS_OTHERS = 1 << 18 };

/* Lists the metrics with a meaning here, by the driver's names. */
#define SASS_METRICS(M)                                                                            \
    M(INST, "smsp__sass_inst_executed")                                                            \
    M(THREADS, "smsp__sass_thread_inst_executed")                                                  \
    M(THREADS_ON, "smsp__sass_thread_inst_executed_pred_on")                                       \
    M(SECTORS, "smsp__sass_sectors_mem_global")                                                    \
    M(SECTORS_IDEAL, "smsp__sass_sectors_mem_global_ideal")                                        \
    M(SECTORS_LOAD_IDEAL, "smsp__sass_sectors_mem_global_op_ld_ideal")                             \
    M(SECTORS_STORE_IDEAL, "smsp__sass_sectors_mem_global_op_st_ideal")                            \
    M(WAVEFRONTS, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared")                               \
    M(WAVEFRONTS_IDEAL, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal")                   \
    M(BRANCH_DIVERGENT, "smsp__sass_branch_targets_threads_divergent")                             \
    M(BRANCH_UNIFORM, "smsp__sass_branch_targets_threads_uniform")                                 \
    M(SECTORS_LOCAL, "smsp__sass_sectors_mem_local")

enum sass_metric {
#define SASS_ENUM(id, name) SASS_##id,
    SASS_METRICS(SASS_ENUM)
#undef SASS_ENUM
        SASS_COUNT
};

extern const char *const sass_names[SASS_COUNT];

struct sass_values {
    int64_t value[SASS_COUNT];
    uint32_t known; /* bit by metric */
};

struct sass_place {
    uint32_t function, spare;
    int64_t offset;
    /* not of the key: */
    struct sass_values values;
};

struct sass_group {
    uint32_t scope; /* name of its path; 0: all */
    uint32_t function;
    /* not of the key: */
    struct sass_values values;
};

struct sass_other {
    uint32_t function, metric; /* name */
    /* not of the key: */
    int64_t value;
};

struct sum_sass {
    struct keyed places, groups, others; /* groups: by handle of a scope until finish */
    uint64_t rows, invalid;
    bool reading;            /* scopes are still handles, which finish replaces by names */
    uint32_t last_name;      /* the last metric's name, and which metric that is */
    enum sass_metric metric; /* SASS_COUNT: not one of SASS_METRICS */
};

void sum_sass_init(struct model *m);
void sum_sass_fini(struct model *m);
int sum_sass_batch(struct model *m, const struct wire_batch *b);
int sum_sass_merge(struct model *into, const struct model *from, int64_t shift);
int sum_sass_finish(struct model *m);

static inline bool sass_has(const struct sass_values *v, enum sass_metric a)
{
    return v->known >> a & 1;
}

/* Returns true if the session has the metric for any instruction: then the others have 0 of it. */
bool sum_sass_counted(const struct sum_sass *s, enum sass_metric a);

/* Returns the number of sectors that coalesced accesses would take; CELL_NULL: not known. */
int64_t sass_ideal_sectors(const struct sass_values *v);

static inline const struct sass_place *sum_sass_place(const struct sum_sass *s, size_t i)
{
    return (const struct sass_place *)keyed_at(&s->places, i);
}

static inline const struct sass_group *sum_sass_group(const struct sum_sass *s, size_t i)
{
    return (const struct sass_group *)keyed_at(&s->groups, i);
}

/* Returns the sums of an instruction; NULL: there are none. */
const struct sass_place *sum_sass_find(const struct sum_sass *s, uint32_t function, int64_t offset);

/* Adds b to a. */
void sass_values_add(struct sass_values *a, const struct sass_values *b);

#endif
