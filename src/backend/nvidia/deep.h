/* deep.h - engine Deep: program counters are sampled first, and instructions are counted from then on.
 *
 * Both at once count nothing (ADR 11). Kernels that were instrumented once are unknown to the sampler
 * for good, so sampling comes first. It ends at the exit of a call that waits for the device, on
 * the program's thread, when the time is over and no other thread is inside the driver: switched
 * off beside a thread that launches, sampling and that thread wait for each other for ever (ADR 10).
 * Who enters the driver meanwhile waits for the switch, 0.1 s once a session; before and afterwards
 * a call costs an atomic operation at both ends, or none.
 *
 * One a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_DEEP_H
#define GPUFL_BACKEND_NVIDIA_DEEP_H

#include "backend/nvidia/trace.h"

/* A session begins; it is to be sampled for so long from its first launch. [owner] */
void deep_open(int64_t sample_ns);

/* Instructions are not counted yet. [any] */
bool deep_sampling(void);

/* A call of the driver that is reported begins; launch: it launches what is to be sampled. [hot] */
void deep_enter(bool launch);
/* It has ended; waited: what was asked of the device before it is done. Here the engines are switched.
 * [hot] */
void deep_leave(struct trace *t, bool waited);

/* Nothing is sampled in any context, since that was refused: every kernel is recorded. [any, not in a launch] */
void deep_unsampled(struct trace *t);

/* Says what became of it; last: the session is over. [collector] */
void deep_drain(struct trace *t, bool last);

/* Why no instruction was counted in a session that is over; "": they were. [collector] */
const char *deep_failure(void);

#endif
