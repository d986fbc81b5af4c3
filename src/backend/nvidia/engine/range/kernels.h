/* kernels.h - handles engine RangeProfiler's launches, when single kernels are counted instead of
 * scopes (range/profiler.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_KERNELS_H

#include "backend/nvidia/trace.h"

/* Names, with range_kernels, the kind of launch in which the calling thread is. */
enum range_launching { LAUNCH_NONE, LAUNCH_UNCOUNTED, LAUNCH_COUNTED };

/* Holds RangeProfiler's state of the calling thread. It is small, because there is little
 * thread-local memory for libraries that are loaded late. */
struct range_thread {
    bool inside; /* the thread is calling the library, which may call us back on this thread */
    bool unread; /* the thread has counted ranges that may not have been decoded */
    /* Says why the scope that the thread reports is not counted: enum range_passed + 1. 0: counted
     * */
    uint8_t passed;
    enum range_launching launching; /* also read at every launch */
    uint64_t own; /* the open range; 0: none. Never a range of an earlier session */
};
extern __thread struct range_thread range_thread __attribute__((tls_model("initial-exec")));

/* These functions are for range_kernels: range_kernels_begin reports that the calling thread
 * launches a kernel of this mangled name, or, with NULL, work that is not counted (several kernels,
 * a graph). The next function has to be called when the launch has returned. Launches wait while a
 * launch of another thread is counted. [hot] */
void range_kernels_begin(struct trace *t, const char *name);
void range_kernels_end(struct trace *t, const char *name, uint32_t correlation, bool done);

/* Finds the time at which a repeated kernel ran, which its record does not have; false: unknown.
 * [collector] */
bool range_kernels_times(uint32_t correlation, int64_t *start, int64_t *duration);

#endif
