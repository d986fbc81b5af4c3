/* alternate.h - PC samples and kernel records take turns (pc_kernel_collect=windows).
 *
 * Kernel records can be on during sampling only if they were on before and stay on (ADR 10), which
 * costs each launch. So sampling runs alone, and once in a while it is switched off for a moment in
 * which every kernel is recorded. Both are switched on a thread of the program, at the exit of a
 * call that waits for the device, when it is time and no other thread is inside the driver
 * (driver_gate.h); until such a moment comes, sampling goes on. A turn costs the program
 * about 50 ms, and its next launches more than usual: 0.1 to 0.2 s in total.
 *
 * Launches are counted in these windows, as in windows of capture; no thread is inside the driver
 * when a window begins or ends. A process has one, in static memory, like the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_ALTERNATE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_ALTERNATE_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pc_alternate_engine;

#endif
