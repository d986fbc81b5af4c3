/* cupti_fatal.h - CUPTI may end itself inside a program, which goes on, or the program may take it.
 *
 * On a fatal error CUPTI says so, in the domain of states, and finalizes itself (its guide). Where
 * another tool holds the profiling hardware while the first samples are taken it does so without a
 * word: the end of the driver call that was under way is not reported, nor any call after it; the
 * engine's functions answer with errors. A new subscriber is accepted then, but no callback can be
 * enabled, not even after cuptiFinalize (all of it seen on an H100, CUDA 13.0, beside ncu). So
 * nothing is captured any more in this process, and all that is left is to say so. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_FATAL_H
#define GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_FATAL_H

#include "backend/nvidia/trace.h"

/* True once CUPTI has failed for good: nothing may call it. [any] */
bool cupti_fatal(const struct trace *t);

/* Why, for a person; "" where it has not. [any] */
const char *cupti_fatal_why(const struct trace *t);

/* CUPTI is subscribed to: it is asked to report fatal errors. Copies before CUDA 12 know no
 * states. [owner, or who attaches] */
void cupti_fatal_watch(struct trace *t);

/* A callback of the domain of states. [any] */
void cupti_fatal_state(struct trace *t, uint32_t id, const struct cupti_state_event *event);

/* A callback of the driver's domain; true: it answers cupti_fatal_look. [hot] */
bool cupti_fatal_answers(struct trace *t, uint32_t id);

/* A session begins: nothing is suspected. [owner] */
void cupti_fatal_session(void);

/* The program begins a profiler of its own, by this call: CUPTI is its from here on. Nothing of
 * ours may begin to call CUPTI; who gives it up still does (handover.h). [any thread of the
 * program] */
void cupti_fatal_by_program(struct trace *t, const char *function);

/* A call of CUPTI's failed that should not. [any] */
void cupti_fatal_suspect(void);

/* Where one did since the last look: asks CUPTI for a callback. Where CUPTI is detached between
 * windows, which is another thread's, at the session's end only. [collector, or the owner at the
 * end] */
void cupti_fatal_look(struct trace *t);

/* A window opens, which it cannot, or closes, for which nothing has to be done.
 * [the thread that opens or closes it] */
int cupti_fatal_window(struct trace *t, bool open, struct err *e);

/* Reports it to the session, once. [collector] */
void cupti_fatal_tell(struct trace *t);

#endif
