/* janitor.h - removes deleted sessions, sessions that are too old, and expired secrets.
 *
 * One thread. Where several servers share the small tables a lease says which of them does it;
 * columns that each server has for itself (DuckDB) each frees itself. Deleting is done by handlers
 * in the small tables at once; the columns follow here, so that no request waits for them. */
#ifndef GPUFL_SERVER_WATCH_JANITOR_H
#define GPUFL_SERVER_WATCH_JANITOR_H

#include "base/process/thread.h"
#include "meta/meta.h"
#include "server/intake/sessions.h"
#include "store/store.h"

#include <stdatomic.h>

struct janitor {
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;
    struct sessions *sessions; /* that are being received */
    int64_t period_ns;
    char holder[32]; /* this process, for the lease */
    struct wakeup wake;
    atomic_bool ending;
    struct thread thread;
};

struct janitor_config {
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;
    struct sessions *sessions; /* that are being received */
    int64_t period_ns;         /* between rounds that nobody asked for */
};

int janitor_start(struct janitor *j, const struct janitor_config *c, struct err *e);
void janitor_stop(struct janitor *j);

/* Runs one round as if it were now: the thread's own work, for tests. */
void janitor_round(struct janitor *j, int64_t now);

/* Something was deleted. [any] */
void janitor_wake(struct janitor *j);

#endif
