/* sampling.h - runs engine PcSampling: why warps stall, by instruction, while kernels run on.
 *
 * Once a period the device samples the program counter of one warp of every multiprocessor
 * into its own buffer. CUPTI's threads decode the buffer, and the collector takes the sums
 * at each flush. Nothing waits for a kernel: this is CUPTI's continuous mode, the
 * only one used here (kernel-serialized mode costs 0.4 ms a launch).
 *
 * A context is sampled from its creation to its destruction; between windows suspend.h may end
 * sampling earlier. Only one context of a device is sampled at a time, as the library
 * requires. Sampling is switched on and off only when a context is created or destroyed, when no
 * other thread is inside the driver with the context, and at the driver's gate (driver_gate.h). If
 * sampling is switched while a thread launches, the driver and CUPTI wait for each other for ever
 * (ADR 10). So a session that ends leaves sampling on, and so does the process's exit; the next
 * session goes on with it. Only a gpufl_shutdown on the only thread that works with the GPU
 * switches it off. A context that existed before the session is sampled if it is current in the
 * thread that begins the session.
 *
 * Samples are drained before a module is unloaded, while its addresses still mean its
 * functions. The library is called under one lock, by the collector, and by the program's
 * threads when contexts and modules are made and destroyed, never in a launch. A process has
 * one engine, in static memory, like the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_SAMPLING_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pc_sampling_engine;

/* Writes at most `room` of the sampled contexts to out. Returns how many. [any] */
size_t pc_sampling_contexts(cuda_context *out, size_t room);

/* pc_sampling_pause switches sampling off in every context; the next function switches it on again
 * in the contexts that exist then. False: CUPTI refused, in some contexts or in all. [any, while no
 * thread is in the driver: driver_gate.h] */
bool pc_sampling_pause(struct trace *t);
bool pc_sampling_resume(struct trace *t);

/* Takes the rest for the last drain. quiet: no other thread is inside the driver, so sampling is
 * switched off. [owner, collector; any thread while engines are switched: deep.h] */
void pc_sampling_stop(struct trace *t, bool quiet);
/* Returns true if sampling was begun, or tried, and has not ended in every context, so that the
 * library's activity kinds can be neither enabled nor disabled. [owner, collector] */
bool pc_sampling_binds(void);

/* Returns true if a context is still sampled, so that the library must be able to report its end.
 * [owner] */
bool pc_sampling_lasts(void);

/* Returns true if sampling could not begin in some context of this process; activity kinds must not
 * be disabled there (ADR 10). [any] */
bool pc_sampling_failed(void);

/* Returns true if no context is sampled because sampling could not begin, so that other engines may
 * run. [any] */
bool pc_sampling_refused(struct trace *t);

/* Returns the logarithm of the cycles from sample to sample with which this many multiprocessors at
 * this clock take about 2^18 samples a second together. [any] */
unsigned pc_sampling_period(int multiprocessors, int clock_khz);

#endif
