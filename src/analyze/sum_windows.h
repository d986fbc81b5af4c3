/* sum_windows.h - windows of capture: how many, and how long any was open. Outside of them nothing
 * is known: shares of time are of theirs, and no gap is idle that is not inside one. Owner's thread. */
#ifndef GPUFL_ANALYZE_SUM_WINDOWS_H
#define GPUFL_ANALYZE_SUM_WINDOWS_H

#include "analyze/busy.h"

#include <stdbool.h>
#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_WINDOWS_TAKES MODEL_TAKES(window)

struct sum_windows {
    uint64_t opened; /* from none to one */
    int64_t since;   /* ns: the open one's begin */
    uint64_t open;
    struct busy recorded; /* windows; of a session without any, all of it, from its finish on */
};

void sum_windows_init(struct model *m);
void sum_windows_fini(struct model *m);
int sum_windows_batch(struct model *m, const struct wire_batch *b);
int sum_windows_merge(struct model *into, const struct model *from, int64_t shift);
int sum_windows_finish(struct model *m);

/* Some of the run was outside of windows. */
bool sum_windows_any(const struct model *m);

/* What shares of time are of: ns of windows, or of the run where there are none. After finish. */
int64_t sum_windows_time(const struct model *m);

/* The same in words, behind "of": "the run" or "the windows". */
const char *sum_windows_whole(const struct model *m);

/* [start, end) is known from begin to end. After finish, of one session. */
bool sum_windows_cover(const struct model *m, int64_t start, int64_t end);

#endif
