/* metrics.h - runs engine SassMetrics: how often each instruction ran, with how many threads,
 * sectors and wavefronts.
 *
 * CUPTI instruments a kernel at its first launch; from then on its instructions are counted
 * exactly, and the kernel is much slower. Kernel records (CUPTI's concurrent kernels) and
 * instrumented kernels exclude each other: if records are enabled first, all counts are 0; if they
 * are enabled later, CUPTI refuses them (ADR 11). So no kernels are recorded; their times would be
 * those of the instrumented kernels anyway.
 *
 * Counts are taken on a thread of the program after it has waited for the device, while no other
 * thread launches; launches that begin meanwhile wait (sass/gate.h).
 *
 * A context is counted from its creation to the session's end or its destruction; between windows
 * suspend.h may end counting earlier. A context that existed before the session is counted from the
 * session's begin, if it is current in the thread that begins the session. The library is
 * configured once in a process for each device. A process has one engine, in static memory, like
 * the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_METRICS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_METRICS_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops sass_metrics_engine;

/* Lets the engine wait, for Deep, before the session starts: nothing is counted until
 * sass_metrics_begin. [owner] */
void sass_metrics_defer(void);

/* Counts instructions from here on, in the calling thread's context, in these contexts, and in new
 * ones. False: in no context. [any, while no thread is in the driver] */
bool sass_metrics_begin(struct trace *t, const cuda_context *contexts, size_t count);

#endif
