/* earlier_calls.h - calls of the driver that began while CUPTI did not report calls: CUPTI does not
 * report their return either.
 *
 * A launch takes some microseconds of its thread's processor time. So the call of a thread counts
 * as returned when the thread has run for some milliseconds since, or neither runs nor waits for a
 * processor. On a busy host that is later than by the clock. A call in which a thread sleeps is not
 * seen, nor are threads where /proc/self/task cannot be read: those calls are given time alone
 * (suspend.c). One a process, in static memory. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_EARLIER_CALLS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_EARLIER_CALLS_H

#include <stdbool.h>

/* Calls are reported from here on. [any] */
void earlier_calls_begin(void);

/* Earlier calls have returned, as far as can be seen. [any] */
bool earlier_calls_returned(void);

#endif
