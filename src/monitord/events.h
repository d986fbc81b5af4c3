/* events.h - events of GPUs, awaited by a thread of their own.
 *
 * The driver wakes the thread; nothing is polled. Equal events that nobody has taken yet are one
 * with a count, so that a storm of them takes no room; beyond that the queue is bounded, and what
 * finds no room is counted. */
#ifndef GPUFL_MONITORD_EVENTS_H
#define GPUFL_MONITORD_EVENTS_H

#include "base/process/thread.h"
#include "monitord/gpus.h"

enum { EVENTS_MOST = 256 };

struct event_seen {
    struct device_event event; /* its index is the driver's */
    int64_t time;              /* clock_mono of the first */
    int64_t count;
};

struct events {
    struct gpus *gpus;
    struct thread thread;
    struct wakeup stop;
    _Atomic bool ending;
    pthread_mutex_t lock;
    struct event_seen queue[EVENTS_MOST]; /* guarded by lock, as all below */
    int queued;
    uint64_t lost;
};

int events_start(struct events *v, struct gpus *g);

/* Moves the queue out; returns how many. [sampling thread] */
int events_take(struct events *v, struct event_seen out[EVENTS_MOST], uint64_t *lost);

void events_stop(struct events *v);

#endif
