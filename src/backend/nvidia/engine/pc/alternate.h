/* alternate.h - PC samples and kernel records take turns (pc_kernel_collect=windows).
 *
 * While sampling runs, kernel records must have been on before and stay on (ADR 10), which costs
 * each launch. So sampling goes on alone, and once in a while it is switched off for a moment in
 * which every kernel is recorded. Both are switched on a thread of the program, at the exit of a
 * call that waits for the device, when it is time and no other thread is inside the driver
 * (driver_gate.h); where that moment does not come, sampling goes on. A turn costs the program
 * some 50 ms, and its next launches more than usual: 0.1 to 0.2 s in all.
 *
 * Launches count in the windows, as in windows of capture; nobody is inside when one begins or
 * ends. One a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_ALTERNATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_ALTERNATE_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pc_alternate_engine;

#endif
