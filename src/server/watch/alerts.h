/* alerts.h - checks alert rules against hosts, GPUs and findings, and publishes what fires.
 *
 * Every few seconds one of the servers that share the small tables (a lease says which) checks
 * every rule of every workspace. A condition that is true opens a firing, which is pending; once
 * the condition has been true for as long as the rule says, the rule fires. When the condition is
 * no longer true, the firing is resolved, or removed if it was only pending. Firing and resolving
 * are published to the workspace's listeners, and a delivery is written in the same transaction, so
 * that no crash loses a delivery and no second server repeats it.
 *
 * A metric is the value of the newest sample of a host or GPU (fleet.h), and unknown if that is
 * older than ALERTS_STALE_NS; an unknown value makes no condition true. Among the processes and the
 * parts of a GPU the highest or the lowest value counts, and the subject is the GPU. `silent` is
 * the time since the last sample or record, in s. Findings are those of sessions that run, or sent
 * something within ALERTS_RECENT_NS. */
#ifndef GPUFL_SERVER_WATCH_ALERTS_H
#define GPUFL_SERVER_WATCH_ALERTS_H

#include "base/err.h"
#include "meta/meta.h"

#include <stdbool.h>
#include <stdint.h>

#define ALERTS_STALE_NS  INT64_C(120000000000)
#define ALERTS_RECENT_NS INT64_C(3600000000000)
/* Says how long resolved firings and their deliveries are kept: 30 days. */
#define ALERTS_KEEP_NS INT64_C(2592000000000000)

struct alerts_config {
    struct meta *meta;
    const char *holder; /* this process, for the lease */
    int64_t period_ns;  /* between rounds; 0: 5 s */
    void *arg;
    /* Called when a rule fired or a firing was resolved, with {"event":…, …} as it is posted.
     * [alerts' thread] May be NULL. */
    void (*event)(void *arg, const char *workspace, const char *json, size_t len);
    void (*posts)(void *arg); /* called when there are deliveries to send; may be NULL */
};

struct alerts;

int alerts_open(struct alerts **out, const struct alerts_config *c, struct err *e);
void alerts_close(struct alerts *a); /* NULL: nothing */
void alerts_wake(struct alerts *a);  /* call after a rule was changed [any] */

/* Runs one round for the time `now`: the thread's work without the lease, for tests. */
int alerts_round(const struct alerts_config *c, int64_t now, struct err *e);

/* Checks a rule. GPUFL_E_INVAL with a sentence that says what is wrong. */
int alerts_check(const struct meta_alert *r, struct err *e);

/* Writes the body that a rule's test posts. */
void alerts_test_body(struct buf *out, const char *workspace, const struct meta_alert *r,
                      int64_t now);

/* ---- between alerts.c and watch.c ----------------------------------------------------- */

/* This is the state of one host, GPU or session that a rule watches. */
struct alerts_seen {
    const char *subject;
    double value; /* NAN: unknown */
    const char *text;
};

/* Calls seen for every subject of a rule for which something is known. The lists of a workspace are
 * read once in a round, into mem. */
struct alerts_watch {
    struct meta *meta;
    const char *workspace;
    int64_t now;
    struct region *mem;
    bool gpus_read, hosts_read, running_read;
    struct meta_gpu_now *gpus;
    struct meta_host_now *hosts;
    struct meta_running *running;
    size_t gpu_count, host_count, running_count;
};

int alerts_watch(struct alerts_watch *w, const struct meta_alert *r,
                 int (*seen)(void *arg, const struct alerts_seen *s, struct err *e), void *arg,
                 struct err *e);
bool alerts_metric_known(const char *name);

#endif
