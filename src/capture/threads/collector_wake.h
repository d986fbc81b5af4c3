/* collector_wake.h - waking the collector's thread, and signs that it makes progress.
 *
 * Why apart from collector.h: every part of the library that fills something up wakes the
 * collector, and the collector uses all of those parts. This file uses none of them.
 *
 * Threads: collector_wake is for any thread, hot paths included. The rest is the collector's, or
 * collector.c's on an owner's thread. */
#ifndef GPUFL_CAPTURE_THREADS_COLLECTOR_WAKE_H
#define GPUFL_CAPTURE_THREADS_COLLECTOR_WAKE_H

#include <stdbool.h>
#include <stdint.h>

/* Asks for a drain soon. One load while a drain is asked for already; never blocks. [hot] */
void collector_wake(void);

/* Notes that a step of work is done: whoever waits for the collector sees that it makes progress.
 * [collector] */
void collector_step(void);

/* The next step may take so long, ns, in addition to the patience of whoever waits: it ends by
 * itself. [collector] */
void collector_expect(int64_t ns);

/* ---- for collector.c ------------------------------------------------------------------------- */

/* Makes collector_wake usable, once a process: before the gate opens. 0 or GPUFL_E_NOMEM.
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
