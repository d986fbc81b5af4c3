/* kernels.h - engine RangeProfiler's kernels, counted one by one instead of scopes: what
 * becomes of launches (range/profiler.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H

#include "backend/nvidia/trace.h"

/* With range_kernels: what the calling thread is in, a variable of that thread alone. */
enum range_launching { LAUNCH_NONE, LAUNCH_BESIDE, LAUNCH_COUNTED };
extern __thread enum range_launching range_kernels_launching
    __attribute__((tls_model("initial-exec")));

/* With range_kernels: the calling thread launches a kernel of this name, mangled, or something that
 * is not counted (NULL: several kernels, a graph); and the launch has returned, which has to be
 * reported wherever the thread is in one. Launches wait while another thread's is counted. [hot] */
void range_kernels_begin(struct trace *t, const char *name);
void range_kernels_end(struct trace *t, const char *name, uint32_t correlation, bool done);

/* When a kernel that was repeated ran, which its record does not say; false: unknown.
 * [collector] */
bool range_kernels_times(uint32_t correlation, int64_t *start, int64_t *duration);

#endif
