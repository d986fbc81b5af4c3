/* state.h - what a thread is doing, by what the kernel reports of it.
 *
 * /proc/self/task/T/syscall distinguishes a blocked thread, with its system call, from a thread
 * that can run. The latter is on a core if its CPU clock is ahead of the time that `schedstat` gave
 * a moment before. The looking thread itself would cause two errors:
 *   - It has just taken the core of a thread, which is then seen without one. So state_run computes
 *     how long that thread has been off its core; if it lost the core as the round began, it was
 *     running.
 *   - When a clock is read, the kernel may find that the thread's slice is over and give the core
 *     to the next thread, which is then seen on it. So `schedstat` is read again: a thread that got
 *     a core since then was ready.
 *
 * Pure functions. [any] */
#ifndef GPUFL_CAPTURE_SAMPLES_STATE_H
#define GPUFL_CAPTURE_SAMPLES_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Says what a thread was doing: the numbers of host_sample.state in schema/records.def. */
enum host_state { HOST_RUNS = 1, HOST_READY = 2, HOST_BLOCKED = 3, HOST_GIL = 4 };

/* Describes the content of a thread's file `syscall`. */
enum call_said {
    CALL_UNREADABLE, /* none of the following */
    CALL_NONE,       /* the thread can run: "running" */
    CALL_BLOCKED,    /* in the system call `number` */
    CALL_FAULT,      /* blocked outside of a system call, as in a page fault: "-1 sp pc" */
    CALL_ENDED,      /* the thread has ended and is not yet forgotten: "-1 0x0 0x0" */
};

/* Describes where a blocked thread is. */
struct call_at {
    int64_t number;  /* of the system call; -1: in none */
    uint64_t first;  /* the call's first argument; 0: in none */
    uint64_t sp, pc; /* the thread's stack pointer and instruction; 0: the kernel does not say */
};

/* Reads the text of `syscall`, which need not end with NUL. *at is set with CALL_BLOCKED and
 * CALL_FAULT. */
enum call_said state_call(const char *text, size_t length, struct call_at *at);

/* Holds the content of a thread's file `schedstat`. */
struct sched_said {
    int64_t run;     /* time on cores up to the last tick or switch, ns */
    int64_t delayed; /* time in waits for a core that are over, ns */
    int64_t times;   /* how often the thread got a core */
};

/* Reads the text of `schedstat`. False: the text is no schedstat, or the kernel does not count (all
 * numbers are 0). */
bool state_schedstat(const char *text, size_t length, struct sched_said *out);

/* Describes a thread that can run, as the look before saw it. All zero: nothing is known. */
struct run_track {
    bool known;      /* at the look before it could run; the fields below are of that look */
    int64_t at;      /* when that look was, steady ns */
    int64_t run;     /* CPU time, ns */
    int64_t delayed; /* of schedstat, ns */
    int64_t times;   /* of schedstat */
    int64_t waits;   /* how long the thread had been off its core, ns */
};

/* Describes one look at such a thread, in the order of the readings. */
struct run_look {
    int64_t woke;            /* when the looking thread woke up for this round, steady ns */
    int64_t at;              /* when `first` was read, steady ns */
    bool counted;            /* `first` and `last` are known; otherwise only the clock counts */
    struct sched_said first; /* before any clock of the round was read */
    int64_t clock_at, clock; /* the thread's CPU clock: when, steady ns; ns */
    struct sched_said last;  /* after all clocks */
};

/* Returns HOST_RUNS or HOST_READY, as of `at`, and keeps the track for the next look. */
enum host_state state_run(struct run_track *t, const struct run_look *l);

#endif
