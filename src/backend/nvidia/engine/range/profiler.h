/* profiler.h - runs engine RangeProfiler: hardware counters of scopes, or of single kernels.
 *
 * An outermost scope of a thread is a range of CUPTI's Range Profiler, one at a time and in one
 * context. The device's work between its begin and end is counted in one pass, because the work of
 * a scope is done only once. At both ends the call waits for the device (0.4 to 2 ms). Counts are
 * decoded on the program's thread after a scope that took long enough, or after some time. Scopes
 * inside it, scopes of other threads meanwhile and scopes of other contexts are not counted.
 *
 * With range_kernels the first launches of each kernel are counted instead of scopes: during the
 * launch the library repeats the kernel for as many passes as the metrics need, and restores the
 * memory that the kernel changes in between (about 25 ms a pass). Launches of other threads wait
 * meanwhile. Kernels that need each other in order to end cannot be counted in this way; kernels of
 * graphs are not counted.
 *
 * The library is called under one lock: by threads that have scopes; by the collector at the end of
 * a session, if no other thread can be in the driver (trace_ops.quiet); and between windows when
 * the engine is suspended (suspend.h). A process has one engine, in static memory, like the trace
 * (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_PROFILER_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_PROFILER_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops range_profiler_engine;

#endif
