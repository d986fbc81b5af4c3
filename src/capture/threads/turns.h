/* turns.h - says how threads that launch in turns share the time for captures.
 *
 * Captures may take a share of each thread's time (launch_rule.h). If threads take turns, like the
 * main thread of a PyTorch program and autograd's thread, one waits while the other launches, and
 * captures on both delay the program. So the collector looks at the processor time of threads
 * that capture. Threads that work concurrently each keep a whole second; threads that together work
 * for one second or less share one second in proportion to their work. */
#ifndef GPUFL_CAPTURE_THREADS_TURNS_H
#define GPUFL_CAPTURE_THREADS_TURNS_H

#include <stdint.h>

enum {
    TURN_WHOLE = 256, /* the part that is a whole second */
    TURN_LEAST = 8,   /* the part of a thread that captures and hardly works */
};

/* Computes the parts, of TURN_WHOLE, of n threads from how long each worked, ns and not below 0, in
 * a stretch of `passed` ns. */
void turns_share(const int64_t *worked, uint32_t *parts, int n, int64_t passed);

/* Begins a session. [owner, before the collector starts] */
void turns_begin(void);

/* Looks at the session's threads, once a second at most. now: by steady_ns. [collector] */
void turns_look(int64_t now);

#endif
