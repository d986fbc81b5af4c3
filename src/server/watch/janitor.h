/* janitor.h - removes deleted sessions, sessions beyond their retention, and expired secrets.
 *
 * There is one thread. If several servers share the small tables, a lease says which of them does
 * the work; but each server frees its own columns (DuckDB). Handlers delete at once in the small
 * tables; the columns are removed here, so that no request waits for that. */
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
    int64_t period_ns;         /* between rounds without janitor_wake */
};

int janitor_start(struct janitor *j, const struct janitor_config *c, struct err *e);
void janitor_stop(struct janitor *j);

/* Runs one round for the time `now`: the thread's work, for tests. */
void janitor_round(struct janitor *j, int64_t now);

/* Call after something was deleted. [any] */
void janitor_wake(struct janitor *j);

#endif
