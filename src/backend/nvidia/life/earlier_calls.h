/* earlier_calls.h - finds calls of the driver that began while CUPTI did not report calls, so that
 * CUPTI does not report their return either.
 *
 * A launch takes some microseconds of its thread's processor time. So a thread's call counts as
 * returned when the thread has run for some milliseconds since, or neither runs nor waits for a
 * processor. On a busy host this takes longer. A call in which a thread sleeps is not noticed, and
 * no thread is if /proc/self/task cannot be read: for these calls only time is allowed
 * (suspend.c). A process has one, in static memory. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_EARLIER_CALLS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_EARLIER_CALLS_H

#include <stdbool.h>

/* Notes that calls are reported from here on. [any] */
void earlier_calls_begin(void);

/* Returns true if earlier calls have returned, as far as can be seen. [any] */
bool earlier_calls_returned(void);

#endif
