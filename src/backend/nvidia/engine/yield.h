/* yield.h - ends engines that cannot be ended while threads launch, so that the program's own
 * profiler gets CUPTI (ADR 18).
 *
 * PC sampling is switched off only while no thread is inside the driver (ADR 10). The driver's gate
 * (driver_gate.h) finds such a moment, if it counts the program's calls. Deep, turns of samples and
 * records, and engines that suspend count them for their own switches; in all other sessions that
 * sample, the engine of this file does.
 *
 * Threads: as each function says. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_YIELD_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_YIELD_H

#include "backend/nvidia/trace.h"

/* Counts the program's calls at the driver's gate, and records nothing. */
extern const struct nv_engine_ops yield_engine;

/* Returns true if no other engine has to be called at calls of the driver. [owner] */
bool yield_is_alone(const struct trace *t);

/* Ends them for the rest of the session, as soon as no other thread is inside the driver; waits 2 s
 * at most. Returns NULL, or why they go on. [a thread of the program, in no call of the driver] */
const char *yield_engines(struct trace *t);

#endif
