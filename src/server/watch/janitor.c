/* janitor.c - makes rounds: drops what retention says, frees what was dropped, forgets what
 * expired. */
#include "server/watch/janitor.h"

#include "base/clock.h"
#include "meta/quota_days.h"
#include "server/common/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { BATCH = 100 /* sessions of one look */, MEMORY = 8 << 20 };

#define DAY_NS INT64_C(86400000000000)

static const char LEASE[] = "janitor";
static const int64_t LEASE_NS = 120000000000, OTHERS_NS = 86400000000000,
                     LATE_NS = 3600000000000; /* after it nothing of a lost turn comes any more */

static bool going(struct janitor *j)
{
    return !atomic_load_explicit(&j->ending, memory_order_relaxed);
}

/* Writes the audit log's entry of a session that nobody deleted. */
static void note_drop(struct janitor *j, const char *workspace, const char *session,
                      const char *why, int64_t now)
{
    char detail[64];
    struct err e = {0};
    snprintf(detail, sizeof detail, "{\"why\":\"%s\"}", why);
    const struct meta_audit a = {.at = now,
                                 .actor = "",
                                 .kind = "server",
                                 .action = "session.expire",
                                 .target = session,
                                 .detail = detail,
                                 .address = ""};
    if (meta_audit_add(j->meta, workspace, &a, &e))
        logs_say(LOG_ERROR, "audit", "an entry was not written: %s", e.text);
}

/* This is a session that a round looks at. */
struct keeping {
    const char *workspace;
    int64_t now;
    int64_t freed; /* bytes, so far */
};

/* Drops sessions that ended before; returns how many there were. */
static size_t drop_old(struct janitor *j, struct keeping *k, int64_t before, unsigned limit,
                       const char *why)
{
    const char *workspace = k->workspace;
    struct meta_session *rows;
    struct region mem;
    size_t count = 0, dropped = 0;
    struct err e = {0};
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {j->meta, workspace, &mem, &e};
    if (meta_session_oldest(&ask, before, limit, &rows, &count) == 0)
        for (size_t i = 0; i < count && going(j); i++) {
            if (meta_session_drop(j->meta, workspace, rows[i].id, k->now, &e))
                continue;
            note_drop(j, workspace, rows[i].id, why, k->now);
            dropped++;
            k->freed += rows[i].bytes;
        }
    region_fini(&mem);
    return dropped;
}

/* Drops what a workspace keeps too long, or too much of. */
static void retain(struct janitor *j, const char *workspace, int64_t now)
{
    struct meta_retention keep;
    struct err e = {0};
    struct keeping k = {workspace, now, 0};
    int64_t bytes = 0;
    size_t dropped = 0, n;
    if (meta_retention_get(j->meta, workspace, &keep, &e))
        return;
    do {
        n = keep.sessions > 0 ? drop_old(j, &k, now - keep.sessions, BATCH, "age") : 0;
        dropped += n;
    } while (n == BATCH && going(j));
    while (keep.bytes > 0 && going(j) && meta_session_bytes(j->meta, workspace, &bytes, &e) == 0 &&
           bytes > keep.bytes && drop_old(j, &k, now, 1, "size") == 1)
        dropped++;
    if (keep.metrics > 0 && going(j) &&
        meta_fleet_forget(j->meta, workspace, now - keep.metrics, &e))
        logs_say(LOG_WARN, "retention", "hosts of workspace %s are kept: %s", workspace, e.text);
    if (dropped)
        logs_say(LOG_NOTE, "retention",
                 "%zu sessions of workspace %s were dropped, %" PRId64 " bytes", dropped, workspace,
                 k.freed);
}

static void retain_all(struct janitor *j, int64_t now)
{
    struct meta_workspace *rows;
    struct region mem;
    size_t count = 0;
    struct err e = {0};
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {j->meta, NULL, &mem, &e};
    if (meta_workspace_list(&ask, &rows, &count) == 0)
        for (size_t i = 0; i < count && going(j); i++)
            retain(j, rows[i].id, now);
    region_fini(&mem);
}

/* Other servers may have columns that this one does not see. */
static bool has_own_columns(const struct janitor *j)
{
    return strcmp(j->ops->name, "duckdb") == 0 && strcmp(meta_engine(j->meta), "sqlite") != 0;
}

/* Frees the columns of a dropped session. STATE: another server has them; after a day the lease's
 * holder marks them as freed all the same. */
static int free_one(struct janitor *j, const struct meta_dropped *d, bool mine, int64_t now,
                    struct err *e)
{
    int rc = sessions_drop(j->sessions, d->workspace, d->session, e);
    if (rc == 0)
        rc = j->ops->drop(j->store, d->workspace, d->session, e);
    if (rc == GPUFL_E_NOENT && has_own_columns(j) && !(mine && now - d->at > OTHERS_NS))
        return GPUFL_E_STATE;
    if (rc == 0 || rc == GPUFL_E_NOENT)
        rc = meta_dropped_freed(j->meta, d->workspace, d->session, e);
    return rc;
}

/* Frees the columns of dropped sessions; those in use go when their last reader does. */
static void free_dropped(struct janitor *j, bool mine, int64_t now)
{
    struct meta_dropped *rows;
    struct region mem;
    size_t count = 0, done = 0;
    struct err e = {0};
    region_init(&mem, MEMORY);
    do {
        region_clear(&mem);
        done = count = 0;
        const struct meta_ask ask = {j->meta, NULL, &mem, &e};
        if (meta_dropped_list(&ask, BATCH, &rows, &count))
            break;
        for (size_t i = 0; i < count && going(j); i++) {
            int rc = free_one(j, &rows[i], mine, now, &e);
            if (rc && rc != GPUFL_E_STATE)
                logs_say(LOG_ERROR, "drop",
                         "session %s was deleted, but its columns are still there: %s",
                         rows[i].session, e.text);
            done += rc == 0;
        }
    } while (count == BATCH && done && going(j));
    region_fini(&mem);
}

void janitor_round(struct janitor *j, int64_t now)
{
    bool mine = false;
    struct err e = {0};
    const struct meta_lease lease = {LEASE, j->holder, now, now + LEASE_NS};
    if (meta_lease(j->meta, &lease, &mine, &e))
        return;
    if (mine) {
        retain_all(j, now);
        meta_expire(j->meta, now, &e);
        meta_turn_expire(j->meta, now - LATE_NS, &e);
        meta_quota_expire(j->meta, now / DAY_NS - 1, &e);
    }
    if (mine || has_own_columns(j))
        free_dropped(j, mine, now);
}

static void *run(void *arg)
{
    struct janitor *j = arg;
    while (going(j)) {
        janitor_round(j, clock_real());
        wakeup_wait(&j->wake, j->period_ns);
    }
    return NULL;
}

int janitor_start(struct janitor *j, const struct janitor_config *c, struct err *e)
{
    uint64_t random = 0;
    j->ops = c->ops;
    j->store = c->store;
    j->meta = c->meta;
    j->sessions = c->sessions;
    j->period_ns = c->period_ns;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint64_t)clock_real();
    snprintf(j->holder, sizeof j->holder, "%016" PRIx64, random);
    atomic_store_explicit(&j->ending, false, memory_order_relaxed);
    int rc = wakeup_init(&j->wake);
    if (rc == 0)
        rc = thread_start(&j->thread, "janitor", 10, run, j);
    return rc ? err_set(e, rc, "cannot start the janitor's thread") : 0;
}

void janitor_stop(struct janitor *j)
{
    if (!j->thread.running)
        return;
    atomic_store_explicit(&j->ending, true, memory_order_relaxed);
    wakeup_signal(&j->wake);
    thread_join(&j->thread);
    wakeup_fini(&j->wake);
    bool mine = false; /* the next one, often this server started again, need not wait */
    int64_t now = clock_real();
    const struct meta_lease over = {LEASE, j->holder, now, now};
    if (meta_lease(j->meta, &over, &mine, NULL))
        logs_say(LOG_WARN, "janitor", "its lease was not given back; others wait for two minutes");
}

void janitor_wake(struct janitor *j)
{
    wakeup_signal(&j->wake);
}
