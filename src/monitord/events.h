/* events.h - events of GPUs, awaited by a thread of their own.
 *
 * The driver wakes the thread, and the thread wakes the sampling thread; nothing is polled. Equal
 * events that nobody has taken yet are one with a count, so that a storm of them takes no room.
 * Beyond that the queue is bounded, and what finds no room is counted. */
#ifndef GPUFL_MONITORD_EVENTS_H
#define GPUFL_MONITORD_EVENTS_H

#include "base/process/thread.h"
#include "monitord/gpus.h"

enum { EVENTS_MOST = 256 };

struct event_seen {
    struct device_event event; /* its index is the driver's, as the event came */
    int gpu;                   /* of the table of GPUs; -1: unknown */
    int64_t time;              /* clock_mono of the first */
    int64_t count;
};

struct events {
    struct gpus *gpus;
    struct wakeup *taker; /* signalled when an event is queued; NULL: nobody waits for one */
    struct thread thread;
    struct wakeup stop;
    _Atomic bool ending;
    pthread_mutex_t lock;
    struct event_seen queue[EVENTS_MOST]; /* guarded by lock, as all below */
    int queued;
    uint64_t lost;
};

/* taker: of the thread that takes the queue, or NULL. */
int events_start(struct events *v, struct gpus *g, struct wakeup *taker);

/* How many events nobody has taken yet. [any] */
int64_t events_waiting(struct events *v);

/* Moves the queue out; returns how many. [sampling thread, or after events_stop] */
int events_take(struct events *v, struct event_seen out[EVENTS_MOST], uint64_t *lost);

/* Ends the thread; what the driver holds ready is still queued, for events_take. */
void events_stop(struct events *v);
void events_fini(struct events *v);

#endif
