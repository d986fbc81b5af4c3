/* look.h - looks at other threads of this process through /proc/self/task and their CPU clocks.
 *
 * The files of a thread stay open from look to look: opening them costs more than reading them
 * does. They lie in the descriptor table of the looking thread, which must be its own
 * (fd_thread_own_table). At most LOOK_THREADS threads have open files; others lose theirs.
 *
 * Threads: all by the one that looks. */
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
    struct run_track track;
};

struct looks {
    int dir;         /* /proc/self/task; -1: not readable */
    uint64_t round;  /* counts rounds */
    int64_t woke;    /* when this round began, steady ns */
    const char *why; /* of the first of them: a sentence that stays; NULL: none */
    struct look_thread threads[LOOK_THREADS];
};

/* A look at a thread, in three steps that are taken for all threads of a round: see state.h. */
struct look {
    bool gone;      /* there is no such thread any more: nothing else is set */
    int64_t state;  /* enum host_state; CELL_NULL: not known */
    int64_t number; /* of the system call in which it is blocked; CELL_NULL: none, or not known */
    uint64_t first; /* that call's first argument */
    struct look_thread *thread; /* it can run, and the steps go on; NULL: they do not */
    struct run_look run;
};

/* Begins. Where /proc cannot be used, every state is unknown, and `why` says the reason. own_table:
 * the calling thread has a descriptor table of its own; without, no file is opened. */
void looks_open(struct looks *l, bool own_table);

/* Begins a round: the calling thread has woken up at `woke`, steady ns. Closes the files of threads
 * that were not looked at for long. */
void looks_round(struct looks *l, int64_t woke);

/* The first step. The state of a thread that can run is not yet known. */
struct look looks_first(struct looks *l, int32_t tid);

/* The second step, after the first one of all threads. */
void looks_clock(struct look *k);

/* The third step, after the second one of all threads: the state is known. */
void looks_last(struct look *k);

/* Closes all files. */
void looks_close(struct looks *l);

#endif
