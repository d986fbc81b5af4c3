/* object_calls.h - follows calls of the driver that make or destroy objects that CUPTI tracks:
 * contexts, code, streams and graphs. In sessions that detach CUPTI these calls are reported from
 * the first subscription on, also between windows.
 *
 * CUPTI must be neither finalized nor attached during such a call: the program faults if a context
 * is being created or a graph destroyed meanwhile (seen on an H200, ADR 13). Threads cannot be kept
 * out of the driver in the meantime, because CUPTI frees memory that waiting threads use. So CUPTI
 * is detached when no such call is under way and none was for long, compared with the usual pauses
 * of this program: most programs make their objects at the begin, and a program that makes objects
 * all the time is never quiet. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_OBJECT_CALLS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_OBJECT_CALLS_H

#include "backend/nvidia/trace.h"

/* Begins a session; nothing is known of earlier calls. [owner] */
void object_calls_session(void);

/* Notes that CUPTI reports these calls from here on; none is known to be under way. [owner, or the
 * thread that attaches] */
void object_calls_begin(struct trace *t);

/* Returns true for a callback that stays on between windows: that of such a call, or of a call that
 * changes the known number of a graph's kernels. [any] */
bool object_calls_listed(uint32_t id);

/* Takes a callback of the driver's domain; true: the callback is that of such a call. [hot] */
bool object_calls_take(uint32_t id, const struct cupti_callback *c);

/* Returns true if a thread is inside such a call. [any] */
bool object_calls_under_way(void);

/* Returns true if no thread is inside such a call, and none was for `least` ns and for ten times
 * the longest pause between two of them so far, but no longer than a minute. [any] */
bool object_calls_quiet(int64_t least);

#endif
