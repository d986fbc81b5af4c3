/* workers.h - runs a bounded pool of threads for work that may block.
 *
 * The threads of the HTTP library only move bytes; work with a store, a disk or a password hash
 * runs here. The queue is bounded: if it is full, the job is refused, and the caller answers
 * 503. */
#ifndef GPUFL_NET_SERVER_WORKERS_H
#define GPUFL_NET_SERVER_WORKERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct workers;

struct workers_load {
    unsigned threads, busy; /* of the threads */
    size_t waiting, room;   /* jobs in the queue, and jobs that it can hold */
};

/* Opens a pool. name: at most 11 bytes; the threads are name-0, name-1, … */
int workers_open(struct workers **out, const char *name, unsigned threads, size_t queue,
                 struct err *e);
/* Runs the jobs that wait, then ends the threads. */
void workers_close(struct workers *w);

/* Queues a job; false: the queue is full or the pool is closing. [any] */
bool workers_submit(struct workers *w, void (*fn)(void *arg), void *arg);

struct workers_load workers_load(struct workers *w);

#endif
