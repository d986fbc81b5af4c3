/* collector_wake.h - wakes the collector's thread, and keeps signs that it makes progress.
 *
 * Why this file is not part of collector.h: every part of the library that fills a ring or a pool
 * wakes the collector, and the collector uses all of those parts. This file uses none of them.
 *
 * Threads: collector_wake is for any thread, hot paths included. The rest is the collector's, or
 * collector.c's on an owner's thread. */
#ifndef GPUFL_CAPTURE_THREADS_COLLECTOR_WAKE_H
#define GPUFL_CAPTURE_THREADS_COLLECTOR_WAKE_H

#include <stdbool.h>
#include <stdint.h>

/* Asks for a drain soon. Costs one load if a drain is asked for already; never blocks. [hot] */
void collector_wake(void);

/* Notes that a step of work is done, so that a thread that waits for the collector sees its
 * progress. [collector] */
void collector_step(void);

/* Announces that the next step may take so many ns and then ends by itself; a waiting thread adds
 * them to its patience. [collector] */
void collector_expect(int64_t ns);

/* ---- for collector.c ------------------------------------------------------------------------- */

/* Makes collector_wake usable; called before the gate opens, once in a process. 0 or GPUFL_E_NOMEM.
 * [owner] */
int collector_wake_prepare(void);

/* Ends the collector's wait at once; unlike collector_wake every call counts. [any] */
void collector_wake_now(void);

/* Waits until the time (steady ns) or a wake-up, whichever is first. True: collector_wake was
 * called. [collector] */
bool collector_wake_wait(int64_t due);

uint64_t collector_steps(void);   /* steps of work so far. [any] */
int64_t collector_expected(void); /* ns of collector_expect. [any] */
void collector_wake_begin(void);  /* a session begins. [owner] */
void collector_wake_forget(void); /* in a forked child */

#endif
