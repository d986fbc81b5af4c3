/* object_calls.h - calls of the driver that make or destroy what CUPTI keeps book of: contexts,
 * code, streams and graphs. In sessions that detach CUPTI they are reported from the first
 * subscription on, also between windows.
 *
 * CUPTI must neither go nor come beside one: a context whose making is cut in two faults, and the
 * end of a graph beside cuptiFinalize does, too (seen on an H200, ADR 13). Nobody can be kept out
 * of the driver meanwhile, since CUPTI frees what those who are kept waiting stand in. So it goes
 * where no such call is under way nor has been for long, by what is usual in this program: programs
 * make their objects at the begin, and those that make them over and over are never quiet. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_OBJECT_CALLS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_OBJECT_CALLS_H

#include "backend/nvidia/trace.h"

/* A session begins: nothing is known of what was before. [owner] */
void object_calls_session(void);

/* CUPTI is subscribed to, and they are reported from here on: none is known to be under way.
 * [owner, or who attaches] */
void object_calls_begin(struct trace *t);

/* A callback that stays on between windows, where others are switched off: of such a call, or of
 * one that changes what is known of a graph. [any] */
bool object_calls_listed(uint32_t id);

/* A callback of the driver's domain; true: it is of such a call. [hot] */
bool object_calls_tell(uint32_t id, const struct cupti_callback *c);

/* Some thread is inside one. [any] */
bool object_calls_under_way(void);

/* No thread is inside one, nor has been for `least` ns, nor for ten times the longest pause between
 * two of them so far; a minute is enough. [any] */
bool object_calls_quiet(int64_t least);

#endif
