/* pc_sampling.h - engine PcSampling: why warps stall, by instruction, while kernels run on.
 *
 * The device samples the program counter of a warp of every multiprocessor once a period
 * into a buffer of its own; CUPTI's threads decode it, and the collector takes the sums
 * every time it flushes. Nothing waits for a kernel: that is CUPTI's continuous mode, the
 * only one used here (kernel-serialized mode costs 0.4 ms a launch).
 *
 * A context is sampled from its creation to its destruction, and between windows no longer than
 * rest.h has it; of several on one device one at
 * a time, as the library wants it. Sampling is switched on and off there, where no other thread is
 * inside the driver with the context, and at the driver's gate (driver_gate.h), and nowhere else. Switched
 * on or off beside a thread that launches, the driver and CUPTI wait for each other for ever
 * (ADR 10). So a session that ends leaves sampling on, and so does the process's exit; the next
 * session goes on with it. It is switched off by a gpufl_shutdown of the only thread that works
 * with the GPU. A context that was there before is sampled where it is current in the thread that
 * begins the session.
 *
 * Samples are drained before a module is unloaded, so that its addresses still mean its
 * functions. The library is called under one lock, by the collector and, where contexts
 * and modules come and go, by the program's thread that does it: never in a launch. One
 * engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_PC_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_PC_SAMPLING_H

#include "backend/nvidia/trace.h"

/* Prepares a session. GPUFL_E_UNAVAILABLE with a sentence: CUPTI cannot do it. [owner] */
int pc_sampling_open(struct trace *t, struct err *e);

/* Samples the calling thread's context and every one that comes. [owner] */
void pc_sampling_start(struct trace *t);

/* The contexts that are sampled, `room` at most; how many they are. [any] */
size_t pc_sampling_contexts(cuda_context *out, size_t room);

/* A context was created. [any] */
void pc_sampling_context(struct trace *t, cuda_context context);
/* It is about to be destroyed; also between sessions. [any] */
void pc_sampling_context_gone(struct trace *t, cuda_context context);
/* A module is about to be unloaded. [any] */
void pc_sampling_module_gone(struct trace *t, cuda_context context);

/* In sessions with windows: what is sampled from here on is kept, or thrown away. Sampling itself goes
 * on until it rests: it cannot be switched beside a program that launches. GPUFL_E_STATE,
 * _UNAVAILABLE or _VENDOR with a sentence: it is thrown away. [any, not in a launch] */
int pc_sampling_window(struct trace *t, bool open, struct err *e);

/* Switched off for a while in every context, and on again in those that are there by then. False: CUPTI
 * would not, in some, or in any. [any, with nobody in the driver: driver_gate.h] */
bool pc_sampling_pause(struct trace *t);
bool pc_sampling_resume(struct trace *t);

/* Switched off in every context; behind wake those that are told of are sampled again, and those of before
 * are not, since nobody knows what became of them. [any, the first with nobody in the driver] */
enum rested pc_sampling_rest(struct trace *t);
void pc_sampling_wake(void);

/* Takes what the library has. [collector] */
void pc_sampling_flush(struct trace *t);
/* Writes what was taken. [collector] */
void pc_sampling_drain(struct trace *t);

/* Takes what is left for the last drain. quiet: no other thread is inside the driver, and sampling is
 * switched off. [owner, collector; any where the engines are switched: deep.h] */
void pc_sampling_stop(struct trace *t, bool quiet);
/* Writes the session's totals. After the last drain. [collector] */
void pc_sampling_totals(struct trace *t);

/* Sampling was begun, or tried to, and has not been ended since in every context: the library's
 * activity kinds can be neither enabled nor disabled. [owner, collector] */
bool pc_sampling_binds(void);

/* Some context is still sampled: the library must be able to tell of its end. [owner] */
bool pc_sampling_lasts(void);

/* It could not begin in some context of this process: there activity kinds must not be disabled (ADR 10). [any] */
bool pc_sampling_failed(void);

/* Nothing is, in any context, and pc_sampling_failure says why: other engines need not make way for it. [any] */
bool pc_sampling_refused(void);

/* Why nothing is sampled; "": it is, or nobody has tried yet. [collector] */
const char *pc_sampling_failure(void);

/* 2^this cycles from sample to sample, for so many multiprocessors at a clock, so that all of
 * them together take about 2^18 samples a second. [any] */
unsigned pc_sampling_period(int multiprocessors, int clock_khz);

#endif
