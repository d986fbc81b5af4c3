/* windows.h - windows: how many, and how long any was open.
 *
 * Outside of windows of capture nothing is known: shares of time are of theirs. Outside of windows of
 * kernel records, which take turns with samples, nothing is known of the GPU's work, but all of what the
 * program waited for: what the GPU did in them stands for the rest of the run. No gap is idle that is
 * not inside one. Owner's thread. */
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
        uint64_t opened; /* from none to one */
        int64_t since;   /* ns: the open one's begin */
        uint64_t open;
        /* windows; of a session that has none all of it, from its finish on, or nothing where it is without */
        struct busy recorded;
        bool without; /* a session's kernels are not recorded or cannot be read, and no window is */
        bool cut;     /* a session's records end before it does */
    } capture, kernels;
    bool finished; /* what is open is in; also of merged ones */
};

void sum_windows_init(struct model *m);
void sum_windows_fini(struct model *m);
int sum_windows_batch(struct model *m, const struct wire_batch *b);
int sum_windows_merge(struct model *into, const struct model *from, int64_t shift);
int sum_windows_finish(struct model *m);

/* Some of the run was outside of windows of capture; of any. */
bool sum_windows_any(const struct model *m);
bool sum_windows_gpu_any(const struct model *m);

/* Sessions that record kernels are with others that do not, or recorded none to their end, and no window is: the GPU's
 * time is of what was recorded. */
bool sum_windows_partly(const struct model *m);

/* What shares of time are of: ns of windows of capture, or of the run where there are none; and what those
 * of the GPU's time are of. After finish. */
int64_t sum_windows_time(const struct model *m);
int64_t sum_windows_gpu_time(const struct model *m);

/* The first in words, behind "of": "the run" or "the windows". */
const char *sum_windows_whole(const struct model *m);

/* Time of the GPU that was recorded as part of the first: what was seen in windows stands for the
 * rest. */
int64_t sum_windows_of_whole(const struct model *m, int64_t gpu_ns);

/* The GPU's [start, end) is known from begin to end. After finish, of one session. */
bool sum_windows_cover(const struct model *m, int64_t start, int64_t end);

#endif
