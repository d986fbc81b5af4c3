/* range_profiler.h - engine RangeProfiler: hardware counters of scopes, or of kernels one by one.
 *
 * The outermost scope of a thread, one at a time and of one context, is a range of CUPTI's Range
 * Profiler: what the device does between its begin and its end is counted, in one pass, since what a
 * program does once cannot be done again. The device is waited for at both ends (0.4 to 2 ms), and
 * what was counted is decoded on the program's thread behind a scope, where one took long enough or
 * some time has passed. Scopes inside it, those of other threads meanwhile and those of other contexts
 * are not counted.
 *
 * Instead of scopes (range_kernels), the first launches of each kernel are counted: the library repeats
 * the kernel for as many passes as the metrics take, with the memory that it changes restored in
 * between, while the launch lasts (some 25 ms a pass). Launches of other threads wait meanwhile.
 * Kernels that need each other to come to an end cannot be counted so; those of graphs are not.
 *
 * The library is called under one lock by the threads that have scopes; at the end of a session by the
 * collector, where no other thread can be in the driver (trace_ops.quiet), and between windows where
 * the engine rests (rest.h). One engine a process, in
 * static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_RANGE_PROFILER_H
#define GPUFL_BACKEND_NVIDIA_RANGE_PROFILER_H

#include "backend/nvidia/trace.h"

/* Prepares a session. GPUFL_E_UNAVAILABLE or _INVAL with a sentence. [owner] */
int range_profiler_open(struct trace *t, struct err *e);

/* trace_ops.range. [any] */
trace_range_fn range_profiler_scope;

/* In sessions with windows: ranges, and kernels, that begin and end inside one are counted. What
 * the calling thread has counted is decoded when one closes; of other threads, with their next
 * scope. GPUFL_E_STATE or _UNAVAILABLE with a sentence. [any, not in a launch] */
int range_profiler_window(struct trace *t, bool open, struct err *e);

/* Gives the counters back, where the calling thread's context is the counted one, and no range is
 * open or unread; false: not now. The next scope in a window sets them up anew. [any] */
bool range_profiler_rest(void);
/* Counters that were lost to another tool meanwhile are asked for again. [any] */
void range_profiler_wake(void);

/* A context is about to be destroyed; also between sessions. [any] */
void range_profiler_context_gone(cuda_context context);

/* Some context is still enabled: the library must be able to tell of its end. [owner] */
bool range_profiler_lasts(void);

/* Writes what was decoded. [collector] */
void range_profiler_drain(struct trace *t);

/* Takes what is left for the last drain, where nothing is in the driver (quiet). [collector] */
void range_profiler_stop(struct trace *t, bool quiet);

/* Why nothing is counted; "": it is, or nobody has tried yet. [collector] */
const char *range_profiler_failure(void);

#endif
