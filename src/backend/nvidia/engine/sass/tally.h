/* tally.h - keeps counts of instructions summed until they become rows, and the metrics that are
 * counted. The owner of the tally holds its lock.
 *
 * The library gives the counts since the last call, each metric of an instruction by itself. A 0
 * has a meaning only if another metric of its group is not 0: an instruction without memory access
 * has no sectors, but a branch that did not diverge has 0 divergent branches. So rows are
 * written by groups (SASS_LIST), and none for instructions that did not run. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_TALLY_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_TALLY_H

#include "backend/nvidia/abi/sass.h"
#include "backend/nvidia/record/functions.h"
#include "base/keyed.h"

#include <stdbool.h>

/* Lists m(group, the driver's name) */
#define SASS_LIST(M)                                                                               \
    M(RUN, "smsp__sass_inst_executed")                                                             \
    M(RUN, "smsp__sass_thread_inst_executed")                                                      \
    M(RUN, "smsp__sass_thread_inst_executed_pred_on")                                              \
    M(GLOBAL, "smsp__sass_sectors_mem_global")                                                     \
    M(GLOBAL, "smsp__sass_sectors_mem_global_ideal")                                               \
    M(SHARED, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared")                                   \
    M(SHARED, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal")                             \
    M(BRANCH, "smsp__sass_branch_targets_threads_divergent")                                       \
    M(BRANCH, "smsp__sass_branch_targets_threads_uniform")                                         \
    M(LOCAL, "smsp__sass_sectors_mem_local")

#define SASS_ONE(group, name) +1
enum { SASS_METRICS = 0 SASS_LIST(SASS_ONE) };
#undef SASS_ONE

enum sass_group { SASS_RUN, SASS_GLOBAL, SASS_SHARED, SASS_BRANCH, SASS_LOCAL };

extern const struct sass_metric_name {
    const char *name;
    enum sass_group group;
} sass_metric_names[SASS_METRICS];

enum { SASS_TALLY_MAX = 1 << 19 }; /* instructions between two drains */

struct sass_cell { /* an instruction: key and counts */
    uint32_t function, offset, window;
    uint64_t values[SASS_METRICS];
};

struct sass_tally {
    uint64_t ids[SASS_METRICS]; /* the library's; 0: the device does not have the metric */
    struct functions functions;
    struct keyed cells; /* owned: struct sass_cell */
    uint32_t window;    /* of the counts that are added next; set by the owner */
    uint64_t lost;      /* values without room, after the last look */
};

void sass_tally_init(struct sass_tally *t, const uint64_t ids[SASS_METRICS]);
void sass_tally_fini(struct sass_tally *t);

/* Adds the library's records, each with as many values as were filled. */
void sass_tally_add(struct sass_tally *t, const struct sass_record *list, size_t count,
                    size_t values);

/* Calls fn for every metric of an instruction that has a meaning, and empties the tally;
 * functions stay. */
void sass_tally_take(struct sass_tally *t,
                     void (*fn)(void *arg, const struct sass_cell *c, size_t metric), void *arg);

#endif
