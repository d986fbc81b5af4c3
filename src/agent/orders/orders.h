/* orders.h - carries out the server's orders to the agent: it keeps the server's configurations for
 * the programs of this host, and makes running sessions record when a user of the server requests
 * it.
 *
 * Both are off unless the options say so (config_cache, allow_remote_control). A thread of its own
 * reports every 20 s that the agent runs, listens to the server's stream for this host, and asks
 * the server for orders after an event, or after a time without events. Sending does not wait for
 * it. A request that the server has given out is handled once, and its result is reported. */
#ifndef GPUFL_AGENT_ORDERS_ORDERS_H
#define GPUFL_AGENT_ORDERS_ORDERS_H

#include "agent/options/options.h"
#include "agent/remote.h"
#include "base/process/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct orders {
    const struct options *options;
    struct remote *listener, *asker; /* owned; the thread's */
    struct thread thread;
    struct wakeup pause;          /* of the thread, between two tries; signalled to end */
    volatile sig_atomic_t ending; /* __atomic: orders_close to the thread and its requests */
    int64_t said;                 /* CLOCK_MONOTONIC ns of the last hello; 0: none */
    char host[256], configs_tag[72];
    char line[128]; /* of the stream, so far */
    size_t line_len;
    bool has_pause;

    pthread_mutex_t lock;
    uint64_t captures, refused; /* guarded by lock: requests that were carried out, and refused */
    int64_t configs_at;         /* guarded by lock: CLOCK_REALTIME ns of the server's last answer */
    char why[256];              /* guarded by lock: why orders are not available; "": they are */
};

/* Starts the thread if the options ask for orders. Returns at once. */
int orders_open(struct orders *o, const struct options *options, struct err *e);
/* Ends the thread within some seconds; a request that it has begun is finished. */
void orders_close(struct orders *o);

struct orders_counts {
    uint64_t captures, refused;
    int64_t configs_at;
    bool on;       /* the options ask for them */
    char why[256]; /* "": they are available */
};

struct orders_counts orders_counts(struct orders *o); /* [any] */

#endif
