/* watch.h - interrupts questions that take too long.
 *
 * One thread watches all of them. A statement that is due is interrupted repeatedly until its owner
 * ends the watch, since an interruption between two statements of a question has no effect on the
 * next one. */
#ifndef GPUFL_STORE_DUCKDB_WATCH_H
#define GPUFL_STORE_DUCKDB_WATCH_H

#include "base/process/thread.h"
#include "store/duckdb/duck.h"

#include <stdatomic.h>

/* This is a watched connection; the memory is its owner's. */
struct watched {
    struct duck_connection *connection;
    int64_t end;       /* CLOCK_MONOTONIC ns: end of the time limit; constant */
    int64_t due;       /* CLOCK_MONOTONIC ns of the next interruption; guarded by watch.lock */
    _Atomic bool late; /* has been interrupted; relaxed */
    struct watched *next;
};

struct watch {
    const struct duck *duck;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct watched *first; /* guarded by lock */
    bool stop;             /* guarded by lock */
    bool hurry;            /* guarded by lock: all are due now */
    struct thread thread;
};

int watch_open(struct watch *w, const struct duck *d);
void watch_close(struct watch *w);

/* Interrupts the connection after `limit` ns, unless watch_end comes before. [any] */
void watch_begin(struct watch *w, struct watched *x, struct duck_connection *c, int64_t limit);
void watch_end(struct watch *w, struct watched *x);

/* Interrupts every connection from now on, also later ones. [any] */
void watch_hurry(struct watch *w);

/* Returns true after the time limit. [its owner] */
bool watch_late(const struct watched *x);

#endif
