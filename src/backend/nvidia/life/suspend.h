/* suspend.h - engines that stay attached between windows (engine.h) give back what they hold of
 * CUPTI and the devices where no window has been open for a while and CUPTI goes (detach_wanted),
 * so that it can be detached as after windows of Trace (detach.h), and launches cost what they did;
 * with the next window they begin anew (ADR 13).
 *
 * What is sampled or counted cannot be ended, or begun, while a thread is in the driver (ADR 10,
 * 11). So it is given back on a thread of the program, at the exit of a call that waits for the
 * device, while nobody else is inside (driver_gate.h), and begun by the thread that opens the
 * window, or, where that is no thread of the program's or others do not come out, at the next such
 * exit. The calls themselves show which contexts there are by then: what has become of the contexts
 * from before CUPTI went is not known.
 *
 * Calls that were under way when CUPTI was attached again are not counted by the gate: it is waited
 * for some milliseconds, which a launch rarely takes, longer while such calls are seen to return,
 * and until their threads have had those milliseconds of a processor (earlier_calls.h). One a
 * process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_SUSPEND_H
#define GPUFL_BACKEND_NVIDIA_LIFE_SUSPEND_H

#include "backend/nvidia/trace.h"

/* The engines are prepared, and about to begin: decides whether they rest in this session.
 * [owner] */
void suspend_start(struct trace *t);

/* trace_ops.window. [any, one at a time] */
int suspend_window(struct trace *t, bool open, struct err *e);

/* A context was created, in which the engines begin just now; is about to be destroyed. [any] */
void suspend_context(struct trace *t, cuda_context context);
void suspend_context_gone(struct trace *t, cuda_context context);

/* A call of the driver that is reported begins, or has ended. context: it worked there, and that
 * lives; NULL: unknown. waited: what was asked of the device before is done. [hot] */
void suspend_enter(void);
void suspend_leave(struct trace *t, cuda_context context, bool waited);

/* Whether it is time; says at the end of a session that the moment never came. [collector] */
void suspend_look(struct trace *t);
void suspend_conclude(struct trace *t);

#endif
