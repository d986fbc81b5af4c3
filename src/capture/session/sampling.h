/* sampling.h - runs the session's sampler: starts it if it is wanted, writes its rows to the log,
 * and notes in the capabilities what became of it. */
#ifndef GPUFL_CAPTURE_SESSION_SAMPLING_H
#define GPUFL_CAPTURE_SESSION_SAMPLING_H

#include "backend/backend.h"
#include "capture/options/options.h"
#include "capture/options/process_info.h"

#include <stdint.h>

/* Starts the sampler if the options ask for an interval; otherwise the first window
 * does. 0 or GPUFL_E_NOMEM. [owner] */
int sampling_begin(const struct options *o, const struct backend *b,
                   const struct process_info *process,
                   const char *dir); /* of the session, absolute */

/* Does what gpufl_system_start and gpufl_system_stop do. [any] */
int sampling_window(const char *name, bool open);

/* Samples continuously from now on, if no sampling was asked for before. [owner] */
void sampling_continue(int64_t interval_ms);

void sampling_drain(void);     /* [collector] */
int64_t sampling_cpu_ns(void); /* of the sampler's thread. [collector] */
void sampling_end(void);       /* stops, drains, notes what became of the samples. [collector] */
void sampling_forget(void);    /* in a forked child */

#endif
