/* pc_sampling.h - engine PcSampling: why warps stall, by instruction, while kernels run on.
 *
 * The device samples the program counter of a warp of every multiprocessor once a period
 * into a buffer of its own; CUPTI's threads decode it, and the collector takes the sums
 * every time it flushes. Nothing waits for a kernel: that is CUPTI's continuous mode, the
 * only one used here (kernel-serialized mode costs 0.4 ms a launch).
 *
 * A context is sampled from its creation, or from its first launch that we see, until it
 * is destroyed; of several on one device one at a time, as the library wants it. Samples
 * are drained before a module is unloaded, so that its addresses still mean its functions.
 *
 * The library is called under one lock, by the collector and, where contexts and modules
 * come and go, by the program's thread that does it: never in a launch of a context that
 * is known. One engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_PC_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_PC_SAMPLING_H

#include "backend/nvidia/trace.h"

/* Bit by a context's number, modulo 64: it may be one that nobody has looked at. 0 while the
 * engine is off. Relaxed: a launch that misses a change is followed by another. */
extern _Atomic uint64_t pc_sampling_unseen;

/* Prepares a session. GPUFL_E_UNAVAILABLE with a sentence: CUPTI cannot do it. [owner] */
int pc_sampling_open(struct trace *t, struct err *e);

/* Samples the calling thread's context and every one that comes. [owner] */
void pc_sampling_start(struct trace *t);

/* A context was created, or launches; number 0: unknown. [any] */
void pc_sampling_context(struct trace *t, cuda_context context, uint32_t number);
/* It is about to be destroyed. [any] */
void pc_sampling_context_gone(struct trace *t, cuda_context context);
/* A module is about to be unloaded. [any] */
void pc_sampling_module_gone(struct trace *t, cuda_context context);

/* Takes what the library has. [collector] */
void pc_sampling_flush(struct trace *t);
/* Writes what was taken. [collector] */
void pc_sampling_drain(struct trace *t);

/* For windows of kernel records, with which sampling cannot be on. [collector] */
void pc_sampling_pause(struct trace *t);
void pc_sampling_resume(struct trace *t);

/* Samples no more; what is left waits for the last drain. [owner, collector] */
void pc_sampling_stop(struct trace *t);
/* Writes the session's totals. After the last drain. [collector] */
void pc_sampling_totals(struct trace *t);

/* Why nothing is sampled; "": it is, or nobody has tried yet. [collector] */
const char *pc_sampling_failure(void);

/* 2^this cycles from sample to sample, for so many multiprocessors at a clock, so that all of
 * them together take about 2^18 samples a second. [any] */
unsigned pc_sampling_period(int multiprocessors, int clock_khz);

#endif
