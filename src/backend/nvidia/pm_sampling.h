/* pm_sampling.h - engine PmSampling: hardware counters of devices over time.
 *
 * A device is sampled from the moment at which the program has a context on it to the end of the
 * session, but for rests between windows (rest.h), at a fixed interval, whatever runs: no launch, copy or
 * context is touched. The library
 * is called by the collector, and by who opens a window, under the engines' lock; where contexts
 * come, their device is noted and no more.
 *
 * Counters are the device's: what other processes do there is counted as well, and another tool
 * that holds them keeps this engine from beginning, as this engine does to others until the session
 * ends, or rests. One engine a process, in static memory, as the trace (trace.h). */
#ifndef GPUFL_BACKEND_NVIDIA_PM_SAMPLING_H
#define GPUFL_BACKEND_NVIDIA_PM_SAMPLING_H

#include "backend/nvidia/trace.h"

/* Prepares a session. GPUFL_E_UNAVAILABLE or _INVAL with a sentence. [owner] */
int pm_sampling_open(struct trace *t, struct err *e);

/* The calling thread's context's device is used. [owner] */
void pm_sampling_start(struct trace *t);

/* A context was created: its device is used. [any] */
void pm_sampling_context(struct trace *t, cuda_context context);

/* In sessions with windows: devices are sampled in them alone. The collector ends it behind one,
 * and who opens the next one begins it again, where it has ended by then. GPUFL_E_STATE,
 * _UNAVAILABLE or _VENDOR with a sentence: nothing is kept. [any, not in a launch] */
int pm_sampling_window(struct trace *t, bool open, struct err *e);

/* Gives the devices back; false: a window is open, or was a moment ago. wake begins anew, which takes some
 * 0.2 s a device. [any, the first not waiting for others] */
bool pm_sampling_rest(void);
void pm_sampling_wake(struct trace *t);

/* Decodes what came. last: ends sampling before. [collector] */
void pm_sampling_flush(struct trace *t, bool last);

/* Writes what was decoded, and begins where a device is new. last: gives the counters back instead.
 * [collector] */
void pm_sampling_drain(struct trace *t, bool last);

/* Gives back what a session left that was never drained to its end. [owner] */
void pm_sampling_close(void);

/* Why nothing is sampled; "": it is, or nobody has tried yet. [collector] */
const char *pm_sampling_failure(void);

/* Something was sampled in this session. [collector] */
bool pm_sampling_any(void);

#endif
