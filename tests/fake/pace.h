/* pace.h - launches at the rate of real programs. A fake launch costs a microsecond: without a
 * limit their number would depend on the machine, and whether all can be kept would depend on the
 * scheduler. A thread may launch PACE_BURST kernels at once, a quarter of its ring
 * (capture/threads/threads.h), and launches at that rate afterwards. Each thread has its own pace.
 *
 * A program needs the pace if a thread of it may launch more than PACE_BURST kernels and the test
 * expects all of them: program.c, rights.c, nvtx.c (pushed-late) and rocm/program.c. The others do
 * not:
 *   a thread launches fewer than a burst: depth and number of launches are fixed in in_launch.c,
 *     files.c, init_during.c, pauses.c, ranks.c, small_stack.c, uncounted.c, user.c
 *   windows.c pauses for a millisecond after a launch
 *   float.c launches 50 kernels a step, waits for them, and no test counts them */
#ifndef GPUFL_TESTS_FAKE_PACE_H
#define GPUFL_TESTS_FAKE_PACE_H

#include <stdint.h>
#include <time.h>

enum {
    PACE_PER_MS = 20, /* launches of a thread; a driver takes about 2 us for each at best */
    PACE_BURST = 4096,
    PACE_MS_NS = 1000000,
};

static inline int64_t pace_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Call this function before each launch. per_ms: the rate; 0: no limit. Sleeps a millisecond at a
 * time, so that a thread wakes once for many launches. */
static inline void pace(int per_ms)
{
    static _Thread_local int64_t
        due_ns; /* when the launches so far would be done, one after the other */
    if (per_ms == 0)
        return;
    int64_t each_ns = PACE_MS_NS / per_ms, now_ns = pace_now_ns();
    if (due_ns < now_ns)
        due_ns = now_ns;
    int64_t early_ns = due_ns - now_ns - PACE_BURST * each_ns;
    if (early_ns > 0) {
        int64_t until_ns = now_ns + early_ns + PACE_MS_NS;
        struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) {
        }
    }
    due_ns += each_ns;
}

#endif
