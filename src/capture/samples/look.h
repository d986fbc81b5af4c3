/* look.h - reads the state of other threads of this process, from /proc/self/task and their CPU
 * clocks.
 *
 * The files of a thread stay open between looks, because opening them costs more than reading them.
 * They are in the descriptor table of the looking thread, which must be its own
 * (fd_thread_own_table). At most LOOK_THREADS threads have open files; the files of others are
 * closed.
 *
 * Threads: only the thread that looks calls these functions. */
#ifndef GPUFL_CAPTURE_SAMPLES_LOOK_H
#define GPUFL_CAPTURE_SAMPLES_LOOK_H

#include "capture/samples/state.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOOK_THREADS = 256 /* a power of two */ };

struct look_thread {
    int32_t tid;         /* 0: empty */
    int call, schedstat; /* descriptors of its files; -1: there is none */
    uint64_t round;      /* of the last look at it */
    uint64_t opened;     /* the round in which its files were opened */
    struct run_track track;
    bool rests;              /* at the look before it was blocked, and its counts were `rest` */
    struct sched_said rest;  /* read before anything else of the thread */
    uint32_t stack, quality; /* the caller's: what it read of the thread while it rested */
    bool walked;             /* the caller's: its native stack was looked for while it rested */
};

struct looks {
    int dir;         /* /proc/self/task; -1: not readable */
    uint64_t round;  /* counts rounds */
    int64_t woke;    /* when this round began, steady ns */
    const char *why; /* why states are unknown: a static sentence; NULL: they are known */
    struct look_thread threads[LOOK_THREADS];
};

/* Describes a look at a thread. Each of its three steps is taken for all threads of a round before
 * the next step: see state.h. */
struct look {
    bool gone;       /* the thread has ended, and nothing else is set */
    int64_t state;   /* enum host_state; CELL_NULL: not known */
    int64_t number;  /* of the system call in which it is blocked; CELL_NULL: none, or not known */
    uint64_t first;  /* that call's first argument */
    uint64_t sp, pc; /* where the blocked thread is; 0: not known */
    /* The thread is blocked, and its entry; NULL: it is not, or its counts are not known. */
    struct look_thread *resting;
    bool still; /* it was blocked at the look before, too, and got no core since then */
    bool moved; /* looks_rests was false: what the look found of the thread is out of date */
    struct look_thread
        *thread; /* the thread can run, and the steps go on; NULL: the look is over */
    struct run_look run;
};

/* Begins. If /proc cannot be used, every state is unknown, and `why` says the reason. own_table:
 * the calling thread has a descriptor table of its own; without one no file is opened. */
void looks_open(struct looks *l, bool own_table);

/* Begins a round. woke: when the calling thread woke up, steady ns. Closes the files of threads
 * that were not looked at for long. */
void looks_round(struct looks *l, int64_t woke);

/* Takes the first step. After it the state is known, except that of a thread that can run. */
struct look looks_first(struct looks *l, int32_t tid);

/* Returns true if the thread is still blocked where the first step found it, and got no core since
 * then. Only for a look with `resting`. */
bool looks_rests(struct look *k);

/* Takes the second step, after the first one of all threads. */
void looks_clock(struct look *k);

/* Takes the third step, after the second one of all threads: the state is known. */
void looks_last(struct look *k);

/* Closes all files. */
void looks_close(struct looks *l);

#endif
