/* windows.h - counts windows: their number, and the time in which at least one was open.
 *
 * Outside windows of capture nothing is recorded, so shares of time are shares of these windows.
 * Windows of kernel records alternate with windows of PC samples: outside them the GPU's work is
 * unknown, but all waits of the program are recorded, so what the GPU did inside represents the
 * rest of the run. A gap counts as idle only inside a window. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_WINDOWS_H
#define GPUFL_ANALYZE_MODEL_WINDOWS_H

#include "analyze/common/busy.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_WINDOWS_TAKES MODEL_TAKES(window)

struct sum_windows {
    struct windows {
        uint64_t opened; /* how often a window opened while none was open */
        int64_t since;   /* ns: begin of the open window */
        uint64_t open;
        /* The time in windows. After sum_windows_finish: for a session without windows its whole
         * time, or nothing if `without` is set. */
        struct busy recorded;
        bool without; /* a session without windows has no kernel records that can be read */
        bool cut;     /* a session's records end before it does */
    } capture, kernels;
    bool finished; /* open windows have been closed; set in merged models, too */
};

void sum_windows_init(struct model *m);
void sum_windows_fini(struct model *m);
int sum_windows_batch(struct model *m, const struct wire_batch *b);
int sum_windows_merge(struct model *into, const struct model *from, int64_t shift);
int sum_windows_finish(struct model *m);

/* sum_windows_any returns true if part of the run was outside windows of capture.
 * sum_windows_gpu_any returns true if part of it was outside windows of either kind. */
bool sum_windows_any(const struct model *m);
bool sum_windows_gpu_any(const struct model *m);

/* Returns true if sessions that record kernels are merged with others that do not, or that stopped
 * recording them before their end, and there are no windows: the GPU's time is then that of the
 * recorded part. */
bool sum_windows_partly(const struct model *m);

/* Returns what shares of time are shares of: ns of the windows of capture, or of the run if there
 * are none. sum_windows_gpu_time is the base for shares of the GPU's time. After finish. */
int64_t sum_windows_time(const struct model *m);
int64_t sum_windows_gpu_time(const struct model *m);

/* Returns sum_windows_time in words, to follow "of": "the run" or "the windows". */
const char *sum_windows_whole(const struct model *m);

/* Scales a time of the GPU to sum_windows_time: what was recorded in windows represents the
 * rest. */
int64_t sum_windows_of_whole(const struct model *m, int64_t gpu_ns);

/* Returns true if the GPU's work was recorded all the time from start to end. After finish, for one
 * session. */
bool sum_windows_cover(const struct model *m, int64_t start, int64_t end);

#endif
