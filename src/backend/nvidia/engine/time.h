/* time.h - measures the time that engines take from the program's threads: calls in which engines
 * are set up, read or given back, and the first launch after a set-up, in which the library
 * finishes it.
 *
 * Each stretch of at least LEAST is a row of overhead of kind "engine", so that it is not taken for
 * the program's own time. A stretch inside another is part of the outer one. Our own threads are
 * not counted. Called by any thread, except where said otherwise. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_TIME_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_TIME_H

#include "backend/nvidia/abi/cuda.h"
#include "backend/nvidia/trace.h"

#include <stdatomic.h>

/* A session begins. [owner] */
void engine_time_open(void);

/* Begins a stretch. The result is passed to the end, which is called on this thread, too. */
int64_t engine_time_begin(void);
void engine_time_end(int64_t begin);
/* Does what engine_time_end does, for a part of the session's start, whose time is counted
 * there. */
void engine_time_end_start(int64_t begin);

/* Makes the time of the next launch in the context count, because it finishes a set-up. */
void engine_time_await(cuda_context context);
void engine_time_forget(cuda_context context); /* it goes */

/* Returns true if launches are awaited or under way. [hot] */
static inline bool engine_time_awaits(const struct trace *t)
{
    return __builtin_expect(atomic_load_explicit(&t->first_launches, memory_order_relaxed) > 0, 0);
}

/* A launch is entered, and returns. */
void engine_time_launch(cuda_context context);
void engine_time_launched(cuda_context context);

int64_t engine_time_total(void); /* ns, of all threads in this session */

/* Writes what there is to the sink. [collector] */
void engine_time_drain(struct sink *s);

#endif
