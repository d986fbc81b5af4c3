/* orders.h - what the agent does at the server's wish: it keeps the server's configurations for the
 * programs of this host, and has running sessions record when somebody asks for it.
 *
 * Both are off unless the options say so (config_cache, allow_remote_control). A thread of its own
 * says every 20 s that the agent is there, listens to the server's stream for this host, and asks
 * the server when it hears something, or has heard nothing for a while. Sending does not wait for
 * it. A request that the server has given out is dealt with once, and its result is reported. */
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
    uint64_t captures, refused; /* guarded by lock: requests that were obeyed, and were not */
    int64_t configs_at;         /* guarded by lock: CLOCK_REALTIME ns of the server's last answer */
    char why[256];              /* guarded by lock: what keeps orders from being had; "": nothing */
};

/* Starts the thread where the options ask for it. Returns at once. */
int orders_open(struct orders *o, const struct options *options, struct err *e);
/* Ends the thread within some seconds; what it has begun is finished. */
void orders_close(struct orders *o);

struct orders_counts {
    uint64_t captures, refused;
    int64_t configs_at;
    bool on;       /* the options ask for them */
    char why[256]; /* "": they are available */
};

struct orders_counts orders_counts(struct orders *o); /* [any] */

#endif
