/* changed.h - finds what was new after a compilation: kernels that had not run before, or known
 * kernels with another grid.
 *
 * Only kernels that a compiler may have made as the program ran count, by their names: those of
 * torch.compile and XLA, and those of no library. A compilation is known by samples, so one without
 * a sample, or one after which nothing new ran, is not seen. A tuner tries grids as well, so
 * another grid is the size of other data, or of other tiles. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_CHANGED_H
#define GPUFL_ANALYZE_MODEL_IDLE_CHANGED_H

#include <stdint.h>

struct model;

enum { IDLE_CHANGED_MOST = 1 << 16 /* kernel configurations; with more, nothing is found */ };

/* Describes the compilations after the first run of such a kernel, by what ran next. */
struct idle_changed {
    uint64_t times;        /* something new ran */
    uint64_t grids;        /* of times: a known kernel ran with another grid */
    uint64_t looks;        /* samples in which code was compiled */
    uint32_t kernel;       /* id of model.names: the last one with another grid; 0: none */
    int64_t before, after; /* its blocks */
};

/* Fills m->idle.changed. nodes: idle_activity_list's. The looks are sorted. Call while the ids of
 * the log are known. 0 or GPUFL_E_NOMEM. */
int idle_changed_find(struct model *m, const uint8_t *nodes);

/* Adds what another session had. */
void idle_changed_merge(struct model *into, const struct model *from);

#endif
