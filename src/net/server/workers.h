/* workers.h - a bounded pool of threads for work that may block.
 *
 * The threads of the HTTP library only move bytes; work that asks a store, a disk or a password
 * hash runs here. The queue is bounded: a caller that finds it full is refused and answers 503,
 * instead of waiting in memory. */
#ifndef GPUFL_NET_SERVER_WORKERS_H
#define GPUFL_NET_SERVER_WORKERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct workers;

struct workers_load {
    unsigned threads, busy; /* of the threads */
    size_t waiting, room;   /* jobs in the queue, and what it holds */
};

/* name: at most 11 bytes; the threads are name-0, name-1, … */
int workers_open(struct workers **out, const char *name, unsigned threads, size_t queue,
                 struct err *e);
/* Runs what waits, then ends the threads. */
void workers_close(struct workers *w);

/* Hands a job over; false where the queue is full or the pool is closing. [any] */
bool workers_submit(struct workers *w, void (*fn)(void *arg), void *arg);

struct workers_load workers_load(struct workers *w);

#endif
