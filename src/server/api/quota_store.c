/* quota_store.c - limits of one workspace or key, which an administrator sets while the server
 * runs.
 *
 * The limits are settings in the small tables, `quota.workspace.ID` and `quota.key.ID`, and are
 * read again each minute, so that all servers of these tables come to have them. */
#include "server/api/quota.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define READ_NS INT64_C(60000000000)

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
    bool due = !q->read_at || now - q->read_at >= READ_NS;
    q->read_at = due ? now : q->read_at;
    pthread_mutex_unlock(&q->lock);
    return due;
}

void quota_refresh(const struct parts *p)
{
    struct meta_setting *rows = NULL;
    struct region mem;
    struct err e = {0};
    size_t count = 0;
    if (!is_due(p->quotas, clock_mono()))
        return;
    region_init(&mem, 16 << 20);
    const struct meta_ask ask = {p->meta, NULL, &mem, &e};
    if (meta_setting_list(&ask, &rows, &count) == 0) /* else those of a minute ago stay valid */
        for (size_t i = 0; i < count; i++)
            take_setting(p->quotas, &rows[i]);
    region_fini(&mem);
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
