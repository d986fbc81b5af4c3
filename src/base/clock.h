/* clock.h - reads the time. All records are on CLOCK_MONOTONIC, in ns.
 *
 * Only the simulated backend replaces the source, before a session starts, so that its sessions are
 * reproducible. Called by any thread.
 * Hot paths that need no time in ns at once read tick.h's clock, which costs less. */
#ifndef GPUFL_BASE_CLOCK_H
#define GPUFL_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_mono(void);       /* ns, or the replaced source [hot] */
int64_t clock_real(void);       /* ns since the Unix epoch */
int64_t clock_thread_cpu(void); /* CPU time of the calling thread, ns */
/* Returns the CPU time of a thread of this process, ns; -1: there is no such thread. [any] */
int64_t clock_cpu_of_thread(int32_t tid);
int64_t clock_process_cpu(void); /* for tests */

struct clock_pair {
    int64_t monotonic;
    int64_t real;
    int64_t uncertainty; /* width of the interval in which both were read */
};

/* Reads both clocks several times and returns the pair with the least uncertainty. With a replaced
 * source real is a fixed epoch + monotonic. */
struct clock_pair clock_pair_read(void);

/* Replaces the clock; NULL restores the system's. real_base: clock_real's value at monotonic 0. */
void clock_set_source(int64_t (*mono)(void), int64_t real_base);
bool clock_is_system(void); /* not replaced */

#endif
