/* state.h - what a thread is doing, from what the kernel says of it.
 *
 * /proc/self/task/T/syscall distinguishes a blocked thread, with its system call, from one that can
 * run. Such a thread is on a core if its CPU clock is ahead of what `schedstat` has said of it a
 * moment before. Two things would be wrong by the looking thread's own doing:
 *   - it has just taken the core of a thread, which is then seen without one. So state_run computes
 *     how long that thread has been off its core; who lost it as the round began was running.
 *   - at a reading of a clock the kernel finds that the thread's slice is over, and gives the core
 *     to the next thread, which is then seen on it. So `schedstat` is read again: a thread that has
 *     got a core since then was ready.
 *
 * Pure functions. [any] */
#ifndef GPUFL_CAPTURE_SAMPLES_STATE_H
#define GPUFL_CAPTURE_SAMPLES_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a thread was doing: the numbers of host_sample.state in schema/records.def. */
enum host_state { HOST_RUNS = 1, HOST_READY = 2, HOST_BLOCKED = 3, HOST_GIL = 4 };

/* What the file `syscall` of a thread says. */
enum call_said {
    CALL_UNREADABLE, /* nothing that we know */
    CALL_NONE,       /* the thread can run: "running" */
    CALL_BLOCKED,    /* in the system call `number` */
    CALL_FAULT,      /* blocked outside of any, as in a page fault: "-1 sp pc" */
    CALL_ENDED,      /* the thread has ended and is not yet forgotten: "-1 0x0 0x0" */
};

/* Reads the text of `syscall`, which need not end with NUL. number, and the call's first argument,
 * are set with CALL_BLOCKED. */
enum call_said state_call(const char *text, size_t length, int64_t *number, uint64_t *first);

/* What the file `schedstat` of a thread says. */
struct sched_said {
    int64_t run;     /* on cores, ns: up to the last tick or switch */
    int64_t delayed; /* in waits for a core that are over, ns */
    int64_t times;   /* so often it got a core */
};

/* Reads the text of `schedstat`. False: it has none, or the kernel does not count (all 0). */
bool state_schedstat(const char *text, size_t length, struct sched_said *out);

/* A thread that can run, from look to look. All zero: nothing is known of it. */
struct run_track {
    bool known;      /* the look before has found that it can run, and the fields below are its */
    int64_t at;      /* of that look, steady ns */
    int64_t run;     /* CPU time, ns */
    int64_t delayed; /* of schedstat, ns */
    int64_t times;   /* of schedstat */
    int64_t waits;   /* for how long the thread had been off its core, ns */
};

/* One look at such a thread, in the order of the readings. */
struct run_look {
    int64_t woke;            /* when the looking thread woke up for this round, steady ns */
    int64_t at;              /* when `first` was read, steady ns */
    bool counted;            /* `first` and `last` are known; else run is of the clock */
    struct sched_said first; /* before any clock of the round was read */
    int64_t clock_at, clock; /* the thread's CPU clock: when, steady ns; ns */
    struct sched_said last;  /* after all clocks */
};

/* HOST_RUNS or HOST_READY, as of `at`; and the track for the next look. */
enum host_state state_run(struct run_track *t, const struct run_look *l);

#endif
