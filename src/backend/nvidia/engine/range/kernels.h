/* kernels.h - engine RangeProfiler's launches, when single kernels are counted instead of
 * scopes (range/profiler.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H

#include "backend/nvidia/trace.h"

/* With range_kernels: the kind of launch in which the calling thread is. */
enum range_launching { LAUNCH_NONE, LAUNCH_BESIDE, LAUNCH_COUNTED };
extern __thread enum range_launching range_kernels_launching
    __attribute__((tls_model("initial-exec")));

/* With range_kernels: range_kernels_begin reports that the calling thread launches a kernel of
  * this mangled name, or, with NULL, work that is not counted (several kernels, a graph). The next
  * function has to be called when the launch has returned. Launches wait while a launch of another
  * thread is counted. [hot] */
void range_kernels_begin(struct trace *t, const char *name);
void range_kernels_end(struct trace *t, const char *name, uint32_t correlation, bool done);

/* The time at which a repeated kernel ran, which its record does not have; false: unknown.
 * [collector] */
bool range_kernels_times(uint32_t correlation, int64_t *start, int64_t *duration);

#endif
