/* sampling.h - runs engine PmSampling: hardware counters of devices over time.
 *
 * A device is sampled at a fixed interval from the moment at which the program has a context on it
 * to the end of the session, except while suspended between windows (suspend.h). No launch, copy or
 * context is touched. The library is called under the engines' lock by the collector, and by the
 * thread that opens a window; when a context is created, only its device is noted.
 *
 * Counters belong to the device: the work of other processes is counted as well. If another tool
 * holds the counters, this engine cannot begin; while this engine holds them, until the session
 * ends or the engine is suspended, other tools cannot. A process has one engine, in static memory,
 * like the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_SAMPLING_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pm_sampling_engine;

#endif
