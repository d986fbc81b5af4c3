/* deep.h - engine Deep: program counters are sampled first, and instructions are counted from then
 * on.
 *
 * Both at once count nothing (ADR 11). Kernels that were instrumented once are unknown to the
 * sampler for good, so sampling comes first. It ends at the exit of a call that waits for the
 * device, on the program's thread, when the time is over and no other thread is inside the driver:
 * switched off while a thread launches, sampling and that thread wait for each other for ever (ADR
 * 10). Who enters the driver meanwhile waits for the switch, 0.1 s once a session; before and
 * afterwards a call costs an atomic operation at both ends, or none.
 *
 * One a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DEEP_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DEEP_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops deep_engine;

#endif
