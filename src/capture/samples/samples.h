/* samples.h - runs the thread gpufl-stacks, which samples the program's threads at intervals.
 *
 * If a GPU was idle because the host did something else, no recorded call names the line. Samples
 * of the host's threads do. The sampling thread stops no other thread, sends no signal, and shares
 * no lock with the hot paths of the program. It looks at the threads that have used the GPU, and at
 * the process's first thread. A thread inside a call that is recorded as a wait is left out,
 * because the wait has its own row.
 *
 * Looks are passed to the collector in a bounded ring; the collector makes host_sample rows. */
#ifndef GPUFL_CAPTURE_SAMPLES_SAMPLES_H
#define GPUFL_CAPTURE_SAMPLES_SAMPLES_H

#include "capture/options/options.h"

#include <stdbool.h>
#include <stdint.h>

/* Says how many threads a round looks at, in addition to the process's first one. If a runtime
 * launches from a thread on each core, more would use up the time that looks may take, and the
 * thread that runs the program's Python would hardly be seen. */
enum { SAMPLES_THREADS = 8 };

struct samples_counts {
    uint64_t torn;      /* looks without a stack: the thread ran on at each attempt */
    uint64_t no_thread; /* the thread was gone, or has no frames */
    uint64_t no_memory; /* looks without a row */
    uint64_t late;      /* looks more than 1 ms after their time */
    int64_t cpu_ns;     /* CPU time of the thread */
};

/* Starts the thread if the options ask for it and the engine records (`traced`: a trace runs).
 * windowed: looks are taken only while samples_window is open. The gate is open. If the system
 * refuses the thread, the session goes on without samples, and says so. A session on a simulated
 * clock has no such thread. [owner] */
void samples_begin(const struct options *o, enum gpufl_engine engine, bool traced, bool windowed);

/* Reports that a window of capture has opened, or is about to close. Never blocks. [any] */
void samples_window(bool open);

/* Writes rows of the looks so far. [collector] */
void samples_drain(void);

/* Gives the counts of this session; false: no looks were asked for, or none were possible.
 * [collector] */
bool samples_counts(struct samples_counts *out);

/* Ends the thread and waits for its end, which takes a fraction of a millisecond. No look comes
 * after that. [collector; owner if the session does not begin] */
void samples_stop(void);

/* Notes what became of the looks, and frees the ring. Call this function after samples_stop and the
 * last samples_drain. [as samples_stop] */
void samples_end(void);

/* Makes everything as before the first session in a forked child, which has no such thread. */
void samples_forget(void);

#endif
