/* state.h - what a thread is doing, from what the kernel says of it.
 *
 * /proc/self/task/T/syscall tells a blocked thread, with its system call, from one that can run.
 * A CPU clock that goes on between two readings tells that its thread is on a core. That is exact,
 * except for one thread: the one whose core the looking thread has just taken. So state_run
 * computes how long the thread has been off its core; who lost it as the look began was running.
 *
 * Pure functions. [any] */
#ifndef GPUFL_CAPTURE_SAMPLES_STATE_H
#define GPUFL_CAPTURE_SAMPLES_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in schema/records.def, record host_sample. */
enum host_state { HOST_RUNS = 1, HOST_READY = 2, HOST_BLOCKED = 3 };

/* What the file `syscall` of a thread says. */
enum call_said {
    CALL_UNREADABLE, /* nothing that we know */
    CALL_NONE,       /* the thread can run: "running" */
    CALL_BLOCKED,    /* in the system call `number` */
    CALL_FAULT,      /* blocked outside of any, as in a page fault: "-1 sp pc" */
    CALL_ENDED,      /* the thread has ended and is not yet forgotten: "-1 0x0 0x0" */
};

/* Reads the text of `syscall`, which need not end with NUL. number: set with CALL_BLOCKED. */
enum call_said state_call(const char *text, size_t length, int64_t *number);

/* Reads the text of `schedstat`: run (ns on cores) and delayed (ns in wait for one). False: it has
 * none, or the kernel does not count (all 0). */
bool state_schedstat(const char *text, size_t length, int64_t *run, int64_t *delayed);

/* A thread that can run, from look to look. All zero: nothing is known of it. */
struct run_track {
    bool known;      /* the look before has found that it can run, and the fields below are its */
    int64_t at;      /* of that look, steady ns */
    int64_t run;     /* CPU time, ns */
    int64_t delayed; /* of schedstat, ns */
    int64_t waits;   /* for how long the thread had been off its core, ns */
};

/* One look at such a thread. */
struct run_look {
    int64_t at;      /* steady ns */
    int64_t woke;    /* when the looking thread woke up for this round, steady ns */
    int64_t run;     /* its CPU clock, ns ... */
    int64_t after;   /* ... and a moment later */
    int64_t delayed; /* of schedstat; -1: not known */
};

/* HOST_RUNS or HOST_READY, and the track for the next look. */
enum host_state state_run(struct run_track *t, const struct run_look *l);

#endif
