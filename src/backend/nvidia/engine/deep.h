/* deep.h - runs engine Deep: program counters are sampled first, and instructions are counted from
 * then on.
 *
 * If both run at once, nothing is counted (ADR 11). The sampler never recognizes kernels that were
 * instrumented once, so sampling comes first. Sampling ends at the exit of a call that waits for
 * the device, on the program's thread, when the time is over and no other thread is inside the
 * driver: if it is switched off while a thread launches, sampling and that thread wait for each
 * other for ever (ADR 10). A thread that enters the driver meanwhile waits for the switch, 0.1 s
 * once in a session. Before and after the switch a call costs an atomic operation at both ends, or
 * none.
 *
 * A process has one, in static memory, like the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DEEP_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DEEP_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops deep_engine;

#endif
