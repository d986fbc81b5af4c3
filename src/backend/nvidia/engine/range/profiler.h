/* profiler.h - engine RangeProfiler: hardware counters of scopes, or of kernels one by one.
 *
 * The outermost scope of a thread, one at a time and of one context, is a range of CUPTI's Range
 * Profiler: what the device does between its begin and its end is counted, in one pass, since what
 * a program does once cannot be done again. The device is waited for at both ends (0.4 to 2 ms),
 * and what was counted is decoded on the program's thread after a scope, where one took long
 * enough or some time has passed. Scopes inside it, those of other threads meanwhile and those of
 * other contexts are not counted.
 *
 * Instead of scopes (range_kernels), the first launches of each kernel are counted: the library
 * repeats the kernel for as many passes as the metrics take, with the memory that it changes
 * restored in between, while the launch lasts (some 25 ms a pass). Launches of other threads wait
 * meanwhile. Kernels that need each other to come to an end cannot be counted so; those of graphs
 * are not.
 *
 * The library is called under one lock by the threads that have scopes; at the end of a session by
 * the collector, where no other thread can be in the driver (trace_ops.quiet), and between windows
 * where the engine rests (suspend.h). One engine a process, in static memory, as the trace
 * (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_PROFILER_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_PROFILER_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops range_profiler_engine;

#endif
