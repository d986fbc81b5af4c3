/* sum_windows.h - windows of capture: how many, and how long any was open. Owner's thread. */
#ifndef GPUFL_ANALYZE_SUM_WINDOWS_H
#define GPUFL_ANALYZE_SUM_WINDOWS_H

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_WINDOWS_TAKES MODEL_TAKES(window)

struct sum_windows {
    uint64_t opened; /* from none to one */
    int64_t ns;      /* with any open; one that never closed is not in it */
    int64_t since;   /* ns: the open one's begin */
    uint64_t open;
};

void sum_windows_init(struct model *m);
void sum_windows_fini(struct model *m);
int sum_windows_batch(struct model *m, const struct wire_batch *b);
int sum_windows_merge(struct model *into, const struct model *from, int64_t shift);
int sum_windows_finish(struct model *m);

#endif
