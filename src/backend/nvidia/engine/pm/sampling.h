/* sampling.h - engine PmSampling: hardware counters of devices over time.
 *
 * A device is sampled from the moment at which the program has a context on it to the end of the
 * session, except while suspended between windows (suspend.h), at a fixed interval, whatever runs:
 * no launch, copy or context is touched. The library is called by the collector, and by the thread
 * that opens a window, under the engines' lock; where contexts come, their device is noted and no
 * more.
 *
 * Counters are the device's: what other processes do there is counted as well, and another tool
 * that holds them keeps this engine from beginning, as this engine does to others until the session
 * ends, or rests. One engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_SAMPLING_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pm_sampling_engine;

#endif
