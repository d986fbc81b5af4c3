/* samples.h - the thread gpufl-stacks, which looks at the program's threads at intervals.
 *
 * Idle time of a GPU whose host did something else has no call to be tied to. Looks at the host's
 * threads divide it. The thread stops nobody, sends no signal, and shares no lock with the hot
 * paths of the program. It looks at the threads that have used the GPU, and at the process's first
 * thread; a thread inside a call that is recorded as a wait has its own row, and is left out.
 *
 * Looks go through a bounded ring to the collector, which makes host_sample rows of them. */
#ifndef GPUFL_CAPTURE_SAMPLES_SAMPLES_H
#define GPUFL_CAPTURE_SAMPLES_SAMPLES_H

#include "capture/options/options.h"

#include <stdbool.h>
#include <stdint.h>

/* Looked at in one round, beside the process's first. So few, since a runtime that launches from a
 * thread of each core would else use up what looks may cost, and the thread that runs the program's
 * Python would hardly be seen. */
enum { SAMPLES_THREADS = 8 };

struct samples_counts {
    uint64_t torn;      /* looks without a stack: the thread went on each time */
    uint64_t no_thread; /* the thread was gone, or has no frames */
    uint64_t no_memory; /* looks without a row */
    uint64_t late;      /* rows more than 1 ms after their time */
    int64_t cpu_ns;     /* CPU time of the thread */
};

/* Starts the thread if the options ask for it and the engine records (`traced`: a trace runs).
 * windowed: looks are taken only while samples_window is open. The gate is open. Where the system
 * refuses the thread, the session goes on without, and says so. A session on a simulated clock has
 * no such thread. [owner] */
void samples_begin(const struct options *o, enum gpufl_engine engine, bool traced, bool windowed);

/* A window of capture has opened, or is about to close. Never blocks. [any] */
void samples_window(bool open);

/* Writes rows of the looks so far. [collector] */
void samples_drain(void);

/* The counts of this session; false: none were asked for. [collector] */
bool samples_counts(struct samples_counts *out);

/* Ends the thread and waits for it: a fraction of a millisecond. No look comes after. [collector,
 * and owner where the session does not begin] */
void samples_stop(void);

/* After samples_stop and the last samples_drain: notes what became of the looks, frees the ring.
 * [as samples_stop] */
void samples_end(void);

/* In a forked child, which has no such thread: everything is as before the first session. */
void samples_forget(void);

#endif
