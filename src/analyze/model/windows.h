/* windows.h - windows: how many, and how long any was open.
 *
 * Outside windows of capture nothing is known: shares of time are shares of these windows.
 * Windows of kernel records alternate with windows of samples: outside them nothing is known of
 * the GPU's work, but all waits of the program are, so what the GPU did inside represents the
 * rest of the run. A gap counts as idle only inside a window. Owner's thread. */
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
        uint64_t opened; /* how often a first one opened */
        int64_t since;   /* ns: the open one's begin */
        uint64_t open;
        /* The time in windows. From sum_windows_finish on: of a session without windows its whole
         * time, or nothing where `without` is set. */
        struct busy recorded;
        bool without; /* a session's kernels are not recorded or cannot be read, and no window is */
        bool cut;     /* a session's records end before it does */
    } capture, kernels;
    bool finished; /* windows still open are counted; also of merged ones */
};

void sum_windows_init(struct model *m);
void sum_windows_fini(struct model *m);
int sum_windows_batch(struct model *m, const struct wire_batch *b);
int sum_windows_merge(struct model *into, const struct model *from, int64_t shift);
int sum_windows_finish(struct model *m);

/* True where a part of the run was outside windows of capture, or outside any window. */
bool sum_windows_any(const struct model *m);
bool sum_windows_gpu_any(const struct model *m);

/* True where sessions that record kernels are merged with others that do not, or that recorded
 * none to their end, and there are no windows: the GPU's time is then that of the recorded part. */
bool sum_windows_partly(const struct model *m);

/* The whole that shares of time are taken of: ns of windows of capture, or of the run where there
 * are none; and the whole for the GPU's time. After finish. */
int64_t sum_windows_time(const struct model *m);
int64_t sum_windows_gpu_time(const struct model *m);

/* The first whole in words, to follow "of": "the run" or "the windows". */
const char *sum_windows_whole(const struct model *m);

/* A time of the GPU as part of the first whole: what was seen in windows represents the rest. */
int64_t sum_windows_of_whole(const struct model *m, int64_t gpu_ns);

/* The GPU's [start, end) is known from begin to end. After finish, of one session. */
bool sum_windows_cover(const struct model *m, int64_t start, int64_t end);

#endif
