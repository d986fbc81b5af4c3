/* steady.h - reads the system's monotonic clock, which a simulated clock (clock.h) does not
 * replace: for deadlines and intervals of our own threads. [any] */
#ifndef GPUFL_MONITOR_STEADY_H
#define GPUFL_MONITOR_STEADY_H

#include <stdint.h>
#include <time.h>

static inline int64_t steady_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline struct timespec steady_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

#endif
