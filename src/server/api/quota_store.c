/* quota_store.c - what quotas have in the small tables: the counts of the day, and limits of one
 * workspace or key, which an administrator sets while the server runs.
 *
 * The limits are settings in the small tables, `quota.workspace.ID` and `quota.key.ID`, and are
 * read again each minute, so that all servers of these tables come to have them. */
#include "server/api/quota.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define READ_NS    INT64_C(60000000000)
#define COUNTS_MAX ((size_t)512 << 20)

static const char *const leads[] = {"quota.workspace.", "quota.key."}; /* enum quota_of */

static void take_setting(struct quotas *q, const struct meta_setting *s)
{
    for (enum quota_of of = 0; of < QUOTA_OFS; of++) {
        size_t n = strlen(leads[of]);
        if (strncmp(s->name, leads[of], n) == 0)
            quota_set(q, of, s->name + n, s->value, NULL); /* of a newer version: as it was */
    }
}

static bool is_due(struct quotas *q, int64_t now)
{
    pthread_mutex_lock(&q->lock);
    bool due = !q->read_at || now - q->read_at >= READ_NS || q->day != quota_day(clock_real());
    q->read_at = due ? now : q->read_at;
    pthread_mutex_unlock(&q->lock);
    return due;
}

/* What could not be read is read when the next body comes. */
static void read_again(struct quotas *q, const struct err *e)
{
    pthread_mutex_lock(&q->lock);
    q->read_at = 0;
    pthread_mutex_unlock(&q->lock);
    log_warn("limits and counts of quotas cannot be read: %s", e->text);
}

/* [writing held] */
static int write_counts(struct quotas *q, struct meta *m, struct err *e)
{
    struct quota_batch b;
    struct region mem;
    region_init(&mem, COUNTS_MAX);
    int rc = quota_unwritten(q, &mem, &b);
    if (rc)
        err_nomem(e);
    else if (b.counts.day_count)
        rc = meta_quota_add(m, &b.counts, e);
    if (rc == 0)
        quota_wrote(q, &b);
    region_fini(&mem);
    return rc;
}

/* [writing held] */
static int read_counts(struct quotas *q, const struct meta_ask *ask)
{
    struct meta_quota_counts counts;
    int64_t day = quota_day(clock_real());
    int rc = write_counts(q, ask->m, ask->e);
    if (rc == 0)
        rc = meta_quota_list(ask, day, &counts);
    if (rc == 0)
        rc = quota_recall(q, day, &counts) ? err_nomem(ask->e) : 0;
    return rc;
}

void quota_refresh(struct quotas *q, struct meta *m)
{
    struct meta_setting *rows = NULL;
    struct region mem;
    struct err e = {0};
    size_t count = 0;
    if (!is_due(q, clock_mono()))
        return;
    region_init(&mem, COUNTS_MAX);
    const struct meta_ask ask = {m, NULL, &mem, &e};
    int rc = meta_setting_list(&ask, &rows, &count); /* else those of a minute ago stay valid */
    for (size_t i = 0; !rc && i < count; i++)
        take_setting(q, &rows[i]);
    pthread_mutex_lock(&q->writing);
    rc = rc ? rc : read_counts(q, &ask);
    pthread_mutex_unlock(&q->writing);
    if (rc)
        read_again(q, &e);
    region_fini(&mem);
}

static bool is_written(struct quotas *q)
{
    pthread_mutex_lock(&q->lock);
    bool written = q->counted == q->written;
    pthread_mutex_unlock(&q->lock);
    return written;
}

void quota_keep(struct quotas *q, struct meta *m)
{
    struct err e = {0};
    if (is_written(q))
        return;
    pthread_mutex_lock(&q->writing); /* its holder may have written these counts */
    int rc = is_written(q) ? 0 : write_counts(q, m, &e);
    if (rc && !q->failing)
        log_warn("counts of quotas are not written yet: %s", e.text);
    q->failing = rc != 0;
    pthread_mutex_unlock(&q->writing);
}

void api_quota_put(struct call *c)
{
    enum quota_of of = (enum quota_of)ARG(c, quota_put, of)->i;
    const char *id = ARG(c, quota_put, id)->text, *limits = ARG(c, quota_put, limits)->text;
    char name[128];
    struct err e = {0};
    int rc = quota_set(c->parts->quotas, of, id, limits, &e);
    if (rc) {
        call_fail(c, rc, "limit", &e);
        return;
    }
    snprintf(name, sizeof name, "%s%s", leads[of], id);
    const struct meta_setting s = {.name = name, .value = limits, .changed = clock_real()};
    rc = meta_setting_put(c->parts->meta, &s, &e);
    if (rc) {
        call_fail(c, rc, "limit", &e);
        return;
    }
    access_note(c, "quota.set", id);
    http_send_nothing(c->http, 204);
}
