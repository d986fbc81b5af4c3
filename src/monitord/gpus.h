/* gpus.h - follows the GPUs of the host, as they appear and disappear.
 *
 * A GPU is identified by its UUID, whatever number the driver gives it. The list of GPUs is read
 * again when one does not answer, when the driver lists another number of GPUs, or when there was
 * no driver. After each failure the next try comes later, after five minutes at most. Closing waits
 * until no call for events is under way.
 *
 * Threads: all functions are for the sampling thread, except gpus_wait, which is for the thread of
 * events. Indices of GPUs change only while no call of gpus_wait is under way. */
#ifndef GPUFL_MONITORD_GPUS_H
#define GPUFL_MONITORD_GPUS_H

#include "backend/backend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GPUS_MOST = 64 };

struct gpu {
    struct device_row row; /* as the driver described it; id is the session's */
    struct device_text text;
    int index;     /* the driver's; -1: it is not listed */
    bool lost;     /* it does not answer */
    bool reported; /* described since the last gpus_fresh */
};

/* Gets what gpus_refresh found; code: the index before, or CELL_NULL. */
typedef void gpus_event_fn(void *arg, int gpu, const char *kind, int64_t code);

struct gpus {
    const struct device_ops *ops; /* NULL: no driver */
    bool activity;                /* hardware counters are wanted */
    struct devices *devices;      /* NULL: not open */
    struct gpu items[GPUS_MOST];
    int count;          /* known since the start; some may be gone */
    int64_t retry_at;   /* steady ns of the next try; 0: none is needed */
    int64_t retry_wait; /* ns; grows */
    int64_t listed_at;  /* steady ns at which the number of GPUs is read again */
    uint64_t reopened;
    char problem[384]; /* why there is no driver; "" */
    gpus_event_fn *event;
    void *arg;

    pthread_mutex_t lock; /* between the thread of events and closing */
    pthread_cond_t changed;
    int waiting;  /* calls of wait under way; guarded by lock */
    bool closing; /* until the GPUs are described again; guarded by lock */
};

void gpus_init(struct gpus *g, const struct device_ops *ops, bool activity, gpus_event_fn *event,
               void *arg);

/* Opens the driver for the first time; 0 or a code, with the sentence in problem. */
int gpus_open(struct gpus *g, int64_t now);

/* Opens the driver again if that is due. now: steady ns. */
void gpus_refresh(struct gpus *g, int64_t now);

/* Samples a GPU; false: it did not answer, which is noted. row->device is not filled. */
bool gpus_sample(struct gpus *g, int gpu, int64_t now, struct device_metric_row *row);

/* Waits for an event on the thread of events, not longer than timeout: 1 with one, 0 without;
 * negative: none can come now. gpu: the GPU that has the event's index when the event comes, since
 * the driver may number its GPUs again before the event is taken; -1: unknown. */
int gpus_wait(struct gpus *g, int64_t timeout_ns, struct device_event *out, int *gpu);

void gpus_close(struct gpus *g);

#endif
