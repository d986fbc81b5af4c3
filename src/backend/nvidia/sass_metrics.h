/* sass_metrics.h - engine SassMetrics: how often each instruction ran, with how many threads,
 * sectors and wavefronts.
 *
 * CUPTI instruments a kernel where it is first launched; from then on it counts, exactly, and is
 * slower by far. Kernel records (CUPTI's concurrent kernels) and instrumented kernels exclude
 * each other: enabled first, the counts are all 0; afterwards, they are refused (ADR 11). So there
 * are none, and their times would be those of the instrumented kernels anyway.
 *
 * The counts are taken on a thread of the program where it has just waited for the device and no
 * other thread launches; launches that begin meanwhile wait (sass_gate.h).
 *
 * A context counts from its creation to the session's end or its destruction, and between windows no longer
 * than rest.h has it; one that was there
 * before from the session's beginning, where it is current in the thread that begins it. What
 * a device counts is told to the library once a process. One engine a process, in static memory,
 * as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_SASS_METRICS_H
#define GPUFL_BACKEND_NVIDIA_SASS_METRICS_H

#include "backend/nvidia/trace.h"

/* Prepares a session. GPUFL_E_UNAVAILABLE with a sentence: CUPTI cannot do it. [owner] */
int sass_metrics_open(struct trace *t, struct err *e);

/* Those that let contexts count are false where one cannot, and sass_metrics_failure says why. */

/* Counts in the calling thread's context and in every one that comes. [owner] */
bool sass_metrics_start(struct trace *t);

/* A context was created. [any] */
bool sass_metrics_context(struct trace *t, cuda_context context);
/* A launch begins: where its context's creation was too early to count, it counts from here. [hot] */
bool sass_metrics_pending(struct trace *t);
/* It is about to be destroyed; also between sessions. [any] */
void sass_metrics_context_gone(struct trace *t, cuda_context context);
/* A kernel, or a graph, is launched. [hot] */
void sass_metrics_launch(bool graph);
/* What the calling thread had asked for is done: takes what its context counted, once a second and
 * where no other thread is launching. [hot] */
void sass_metrics_done(void);
/* Code or a context is about to go: takes all that was counted. [any] */
void sass_metrics_ending(void);

/* In sessions with windows: what is counted from here on is kept, or thrown away. Until the
 * engine rests kernels count between windows, too. GPUFL_E_STATE,
 * _UNAVAILABLE or _VENDOR with a sentence: it is thrown away. [any, not in a launch] */
int sass_metrics_window(struct trace *t, bool open, struct err *e);

/* Kernels count no more, and what they counted is taken; false: threads are in a launch, or the collector is
 * at it. Behind wake contexts that are told of count again; what devices count the library remembers,
 * though it be finalized. [any, with nobody in the driver] */
bool sass_metrics_rest(void);
void sass_metrics_wake(void);

/* Writes what was taken. [collector] */
void sass_metrics_drain(struct trace *t);

/* Takes what is left for the last drain; kernels count no more. [owner] */
void sass_metrics_stop(struct trace *t);
/* The session's last drain is over. [collector] */
void sass_metrics_close(struct trace *t);

/* Contexts count, or will: it was refused in none, or not in all. [any] */
bool sass_metrics_counts(void);

/* Why nothing is counted; "": it is, or nobody has tried yet. [collector] */
const char *sass_metrics_failure(void);

#endif
