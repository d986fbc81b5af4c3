/* turns.h - whether threads that launch take turns.
 *
 * Captures may take a share of each thread's time (launch_rule.h). Where threads take turns, as the
 * main thread of a PyTorch program and autograd's do, one waits while the other launches: what
 * captures take on both delays the program. So the collector looks at the processor time of threads
 * that capture. Threads that work at once keep the whole of their second each; threads that work
 * for one second together, or less, share one out as they worked. */
#ifndef GPUFL_CAPTURE_THREADS_TURNS_H
#define GPUFL_CAPTURE_THREADS_TURNS_H

#include <stdint.h>

enum {
    TURN_WHOLE = 256, /* a part of a second: all of it */
    TURN_LEAST = 8,   /* what a thread has that captures and hardly works */
};

/* The parts, of TURN_WHOLE, of n threads that worked so long, ns, in a stretch of `passed` ns; not
 * below 0. */
void turns_share(const int64_t *worked, uint32_t *parts, int n, int64_t passed);

/* A session begins. [owner, before the collector starts] */
void turns_begin(void);

/* Looks at the session's threads, once a second at most. now: by steady_ns. [collector] */
void turns_look(int64_t now);

#endif
