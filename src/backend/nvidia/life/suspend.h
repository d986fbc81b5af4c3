/* suspend.h - suspends engines that stay attached between windows (engine.h): if no window has been
 * open for a while and CUPTI is to be detached (detach_wanted), they give back what they hold of
 * CUPTI and the devices. CUPTI can then be detached as after windows of Trace (detach.h), so that
 * launches cost what they did before. With the next window the engines begin again (ADR 13).
 *
 * Sampling and counting can be neither ended nor begun while a thread is in the driver (ADR 10,
 * 11). So they are ended on a thread of the program, at the exit of a call that waits for the
 * device, while no other thread is inside (driver_gate.h). They are begun by the thread that opens
 * the window, or, if that is no thread of the program or others do not leave the driver, at the
 * next such exit. Which contexts exist then is known only from the calls themselves, because CUPTI
 * does not report contexts while it is detached.
 *
 * The gate does not count calls that were under way when CUPTI was attached again. So the switch
 * waits for some milliseconds, longer than most launches take, longer while such calls are seen to
 * return, and until their threads have had these milliseconds of a processor (earlier_calls.h). A
 * process has one, in static memory, like the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_SUSPEND_H
#define GPUFL_BACKEND_NVIDIA_LIFE_SUSPEND_H

#include "backend/nvidia/trace.h"

/* Decides whether the engines suspend in this session, when they are prepared and about to begin.
 * [owner] */
void suspend_start(struct trace *t);

/* Does what trace_ops.window does. [any, one at a time] */
int suspend_window(struct trace *t, bool open, struct err *e);

/* A context was created, in which the engines begin just now; is about to be destroyed. [any] */
void suspend_context(struct trace *t, cuda_context context);
void suspend_context_gone(struct trace *t, cuda_context context);

/* A reported call of the driver begins, or has ended. context: the living context in which it
 * worked; NULL: unknown. waited: all earlier work of the device is done. [hot] */
void suspend_enter(void);
void suspend_leave(struct trace *t, cuda_context context, bool waited);

/* Checks whether a suspend is due, and says at the end of a session if it never became possible.
 * [collector] */
void suspend_look(struct trace *t);
void suspend_conclude(struct trace *t);

#endif
