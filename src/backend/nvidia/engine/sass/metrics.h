/* metrics.h - engine SassMetrics: how often each instruction ran, with how many threads,
 * sectors and wavefronts.
 *
 * CUPTI instruments a kernel where it is first launched; from then on it counts, exactly, and is
 * slower by far. Kernel records (CUPTI's concurrent kernels) and instrumented kernels exclude
 * each other: enabled first, the counts are all 0; afterwards, they are refused (ADR 11). So there
 * are none, and their times would be those of the instrumented kernels anyway.
 *
 * The counts are taken on a thread of the program where it has just waited for the device and no
 * other thread launches; launches that begin meanwhile wait (sass/gate.h).
 *
 * A context counts from its creation to the session's end or its destruction, and between windows
 * no longer than suspend.h has it; one that was there before from the session's beginning, where it
 * is current in the thread that begins it. The library is configured once a process for each
 * device. One engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_METRICS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_METRICS_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops sass_metrics_engine;

/* For Deep, before the session starts: nothing is counted until sass_metrics_begin. [owner] */
void sass_metrics_defer(void);

/* Instructions count from here on, in the calling thread's context, in these, and in those that
 * come. False: in none of them. [any, with nobody in the driver] */
bool sass_metrics_begin(struct trace *t, const cuda_context *contexts, size_t count);

#endif
