/* sampling.h - engine PcSampling: why warps stall, by instruction, while kernels run on.
 *
 * The device samples the program counter of a warp of every multiprocessor once a period
 * into a buffer of its own; CUPTI's threads decode it, and the collector takes the sums
 * every time it flushes. Nothing waits for a kernel: that is CUPTI's continuous mode, the
 * only one used here (kernel-serialized mode costs 0.4 ms a launch).
 *
 * A context is sampled from its creation to its destruction, and between windows no longer than
 * suspend.h has it; of several on one device one at a time, as the library wants it. Sampling is
 * switched on and off there, where no other thread is inside the driver with the context, and at
 * the driver's gate (driver_gate.h), and nowhere else.
 * Switched on or off while a thread launches, the driver and CUPTI wait for each other for ever
 * (ADR 10). So a session that ends leaves sampling on, and so does the process's exit; the next
 * session goes on with it. It is switched off by a gpufl_shutdown of the only thread that works
 * with the GPU. A context that was there before is sampled where it is current in the thread that
 * begins the session.
 *
 * Samples are drained before a module is unloaded, so that its addresses still mean its
 * functions. The library is called under one lock, by the collector and, where contexts
 * and modules come and go, by the program's thread that does it: never in a launch. One
 * engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_SAMPLING_H

#include "backend/nvidia/trace.h"

extern const struct nv_engine_ops pc_sampling_engine;

/* The contexts that are sampled, `room` at most; how many they are. [any] */
size_t pc_sampling_contexts(cuda_context *out, size_t room);

/* Switched off for a while in every context, and on again in those that are there by then. False:
 * CUPTI would not, in some, or in any. [any, with nobody in the driver: driver_gate.h] */
bool pc_sampling_pause(struct trace *t);
bool pc_sampling_resume(struct trace *t);

/* Takes what is left for the last drain. quiet: no other thread is inside the driver, and sampling
 * is switched off. [owner, collector; any where the engines are switched: deep.h] */
void pc_sampling_stop(struct trace *t, bool quiet);
/* Sampling was begun, or tried to, and has not been ended since in every context: the library's
 * activity kinds can be neither enabled nor disabled. [owner, collector] */
bool pc_sampling_binds(void);

/* Some context is still sampled: the library must be able to report its end. [owner] */
bool pc_sampling_lasts(void);

/* Sampling could not begin in some context of this process: activity kinds must not be disabled
 * there (ADR 10). [any] */
bool pc_sampling_failed(void);

/* No context is sampled, since sampling could not begin: other engines need not make way for it.
 * [any] */
bool pc_sampling_refused(struct trace *t);

/* 2^this cycles from sample to sample, for so many multiprocessors at a clock, so that all of
 * them together take about 2^18 samples a second. [any] */
unsigned pc_sampling_period(int multiprocessors, int clock_khz);

#endif
