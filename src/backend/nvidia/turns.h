/* turns.h - PC samples and kernel records take turns (pc_kernel_collect=windows).
 *
 * Beside sampling, kernel records must have been on before and stay on (ADR 10), which costs each launch.
 * So sampling goes on alone, and once in a while it is switched off for a moment in which every kernel is
 * recorded. Both are switched on a thread of the program, at the exit of a call that waits for the
 * device, when it is time and no other thread is inside the driver (driver_gate.h); where that moment does
 * not come, sampling goes on. A turn costs the program some 50 ms, and its next launches more than
 * usual: 0.1 to 0.2 s in all.
 *
 * Launches count in the windows, as in windows of capture; nobody is inside when one begins or ends.
 * One a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_TURNS_H
#define GPUFL_BACKEND_NVIDIA_TURNS_H

#include "backend/nvidia/trace.h"

/* A session begins: a window of `length` every `every`, from the first call that waits. ns [owner] */
void turns_open(int64_t every, int64_t length);

/* A call of the driver that is reported begins, or has ended; waited: what was asked of the device before
 * it is done. Here it is switched. [hot] */
void turns_enter(void);
void turns_leave(struct trace *t, bool waited);

/* Nothing is sampled in any context, since that was refused: every kernel is recorded. [any, not in a launch] */
void turns_unsampled(struct trace *t);

/* The session ends: it is switched no more, and a window that is open is over. [owner, collector] */
void turns_stop(struct trace *t);

/* Tells the sink of the windows; last: the session is over. [collector] */
void turns_drain(struct trace *t, bool last);

#endif
