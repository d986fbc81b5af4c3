/* events.h - waits for events of GPUs on a thread of its own.
 *
 * The driver wakes the thread, and the thread wakes the sampling thread; nothing is polled. Equal
 * events that were not taken yet are one event with a count, so that very many of them need no
 * room. The queue is bounded; events that find no room are counted. */
#ifndef GPUFL_MONITORD_EVENTS_H
#define GPUFL_MONITORD_EVENTS_H

#include "base/process/thread.h"
#include "monitord/gpus.h"

enum { EVENTS_MOST = 256 };

struct event_seen {
    struct device_event event; /* its index is the driver's when the event came */
    int gpu;                   /* of the table of GPUs; -1: unknown */
    int64_t time;              /* clock_mono of the first of equal ones */
    int64_t count;
};

struct events {
    struct gpus *gpus;
    struct wakeup *taker; /* signalled when an event is queued; may be NULL */
    struct thread thread;
    struct wakeup stop;
    _Atomic bool ending;
    pthread_mutex_t lock;
    struct event_seen queue[EVENTS_MOST]; /* guarded by lock, as all below */
    int queued;
    uint64_t lost;
};

/* Starts the events. taker: wakes the thread that takes the queue; may be NULL. */
int events_start(struct events *v, struct gpus *g, struct wakeup *taker);

/* Returns the number of events that were not taken yet. [any] */
int64_t events_waiting(struct events *v);

/* Moves the queue out; returns how many. [sampling thread, or after events_stop] */
int events_take(struct events *v, struct event_seen out[EVENTS_MOST], uint64_t *lost);

/* Ends the thread; events that the driver has ready are queued before, for events_take. */
void events_stop(struct events *v);
void events_fini(struct events *v);

#endif
