/* launches.h - handles CUPTI's callbacks for driver calls that start work or wait. waits.h reports
 * the calls that wait.
 *
 * Only single callback ids are enabled, and only of the driver's domain: one
 * launch fires a runtime and a driver callback with one correlation id. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_LAUNCHES_H
#define GPUFL_BACKEND_NVIDIA_RECORD_LAUNCHES_H

#include "backend/nvidia/trace.h"

/* This is the subscriber's callback; user is the struct trace. [hot] */
void launches_callback(void *user, int domain, uint32_t id, const void *data);

/* Enables the callbacks that the session needs. Ids that the library does not
 * know are left out, except those of launches. Returns an enum cupti_result. [owner] */
int launches_enable(struct trace *t);
/* Ends CUPTI's reports of launches. [any] */
void launches_disable(struct trace *t);

/* Returns the time spent in all callbacks, extrapolated from the sampled ones. [any] */
int64_t launches_cost(struct trace *t);

/* Returns how long reading the clock takes, so that it is not counted as the callbacks' time.
 * [any] */
int64_t launches_clock_cost(void);

#endif
