/* cupti_fatal.h - notices that CUPTI has ended itself while the program goes on, or that the
 * program uses CUPTI itself.
 *
 * On a fatal error CUPTI reports that in the domain of states, and finalizes itself (its guide). If
 * another tool holds the profiling hardware while the first samples are taken, CUPTI ends without a
 * report: the end of the present driver call is not reported, nor any later call, and the
 * engine's functions return errors. A new subscriber is accepted then, but no callback can be
 * enabled, not even after cuptiFinalize (seen on an H100, CUDA 13.0, while ncu ran). So
 * nothing can be captured any more in this process, and the session says so. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_FATAL_H
#define GPUFL_BACKEND_NVIDIA_LIFE_CUPTI_FATAL_H

#include "backend/nvidia/trace.h"

/* Returns true once CUPTI has failed for good: nothing may call it. [any] */
bool cupti_fatal(const struct trace *t);

/* Returns why, for a person; "": CUPTI has not failed. [any] */
const char *cupti_fatal_why(const struct trace *t);

/* Asks CUPTI, after the subscription, to report fatal errors. Copies before CUDA 12 have no domain
 * of states. [owner, or the thread that attaches] */
void cupti_fatal_watch(struct trace *t);

/* Handles a callback of the domain of states. [any] */
void cupti_fatal_state(struct trace *t, uint32_t id, const struct cupti_state_event *event);

/* Handles a callback of the driver's domain; true: it is the one for which cupti_fatal_look asked.
 * [hot] */
bool cupti_fatal_answers(struct trace *t, uint32_t id);

/* Forgets suspicions, when a session begins. [owner] */
void cupti_fatal_session(void);

/* Notes that the program begins its own profiler by this call, so that CUPTI is the program's from
  * here on. None of our functions may begin to call CUPTI; only giving it up still does
  * (handover.h). [any thread of the program] */
void cupti_fatal_by_program(struct trace *t, const char *function);

/* Notes that a call of CUPTI failed unexpectedly. [any] */
void cupti_fatal_suspect(void);

/* If a call has failed since the last look, checks whether CUPTI still makes a callback. In
 * sessions that detach CUPTI between windows, on another thread, this is checked only at the
 * session's end. [collector, or the owner at the end] */
void cupti_fatal_look(struct trace *t);

/* Does what trace_ops.window does, after CUPTI has failed: opening fails, and closing does nothing.
 * [the thread that opens or closes the window] */
int cupti_fatal_window(struct trace *t, bool open, struct err *e);

/* Reports CUPTI's end to the session, once. [collector] */
void cupti_fatal_report(struct trace *t);

#endif
