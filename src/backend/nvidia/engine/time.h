/* time.h - what engines take from the program's threads: calls in which they are set up, read or
 * given back there, and the first launch after a set-up, with which the library finishes it.
 *
 * Each stretch of LEAST or more is a row of overhead of kind "engine", so that nobody takes it for
 * the program's own time. A stretch inside another is part of that. Threads of ours are not
 * counted. Any thread, except where said otherwise. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_TIME_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_TIME_H

#include "backend/backend.h"
#include "backend/nvidia/abi/cuda.h"

#include <stdatomic.h>

/* A session begins. [owner] */
void engine_time_open(void);

/* What begin returns is given to the end, which the same thread calls. */
int64_t engine_time_begin(void);
void engine_time_end(int64_t begin);
/* engine_time_end for a part of the session's start, whose time is counted there. */
void engine_time_end_start(int64_t begin);

/* The next launch in the context finishes a set-up: of that and no other the time counts. */
void engine_time_await(cuda_context context);
void engine_time_forget(cuda_context context); /* it goes */

extern _Atomic int engine_time_expected; /* launches that are awaited or under way. Relaxed */

/* [hot] */
static inline bool engine_time_awaits(void)
{
    return __builtin_expect(atomic_load_explicit(&engine_time_expected, memory_order_relaxed) > 0,
                            0);
}

/* A launch is entered, and returns. */
void engine_time_launch(cuda_context context);
void engine_time_launched(cuda_context context);

int64_t engine_time_total(void); /* ns, of all threads in this session */

/* Writes what there is to the sink. [collector] */
void engine_time_drain(struct sink *s);

#endif
