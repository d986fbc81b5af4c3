/* watch.h - stops questions that take too long.
 *
 * One thread looks after all of them. A statement that is due is interrupted, and
 * again until its owner has taken notice, since an interruption between two
 * statements of a question would be lost on the next. */
#ifndef GPUFL_STORE_DUCKDB_WATCH_H
#define GPUFL_STORE_DUCKDB_WATCH_H

#include "base/process/thread.h"
#include "store/duckdb/duck.h"

#include <stdatomic.h>

/* A connection under watch; its owner's. */
struct watched {
    struct duck_connection *connection;
    int64_t end;       /* ns on CLOCK_MONOTONIC: when its time is over; constant */
    int64_t due;       /* ns on CLOCK_MONOTONIC; guarded by watch.lock */
    _Atomic bool late; /* has been interrupted; relaxed */
    struct watched *next;
};

struct watch {
    const struct duck *duck;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct watched *first; /* guarded by lock */
    bool stop;             /* guarded by lock */
    bool hurry;            /* guarded by lock: all are due */
    struct thread thread;
};

int watch_open(struct watch *w, const struct duck *d);
void watch_close(struct watch *w);

/* Interrupts the connection after so many ns; until watch_end. [any] */
void watch_begin(struct watch *w, struct watched *x, struct duck_connection *c, int64_t limit);
void watch_end(struct watch *w, struct watched *x);

/* Interrupts every connection from now on, also those that begin later. [any] */
void watch_hurry(struct watch *w);

/* True where its time is over. [its owner] */
bool watch_late(const struct watched *x);

#endif
