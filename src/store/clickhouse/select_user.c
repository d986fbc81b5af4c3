/* select_user.c - checks the users that run clients' statements: one for each workspace, made by
 * ClickHouse's administrator. ClickHouse's own settings confine a user: a profile that limits
 * statements and forbids writing and settings, and a right to see only the workspace's database. */
#include "store/clickhouse/select.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says for how many ns the result of a check is used, since rights may change. */
#define LOOKED INT64_C(60000000000)

struct link_login select_login(const struct store *s, const char *workspace,
                               char name[2 * STORE_ID_MAX + 2])
{
    snprintf(name, 2 * STORE_ID_MAX + 2, "%s_%s", s->select_user, workspace);
    return (struct link_login){name, s->select_password};
}

struct seen {
    const struct store *store;
    const char *workspace;
    long long readonly, time, memory, rows;
    bool cut;
    char other[LINK_NAME_MAX]; /* another workspace's database that the user sees; "": none */
};

static bool same(struct store_text t, const char *text)
{
    return t.len == strlen(text) && memcmp(t.at, text, t.len) == 0;
}

static int take_settings(void *arg, const struct page *p)
{
    struct seen *s = arg;
    for (size_t i = 0; i < p->rows; i++) {
        struct store_text name = page_text(p, 0, i), value = page_text(p, 1, i);
        char text[32];
        snprintf(text, sizeof text, "%.*s", (int)(value.len < 31 ? value.len : 31), value.at);
        long long number = strtoll(text, NULL, 10);
        s->cut |= same(name, "result_overflow_mode") && same(value, "break");
        s->readonly = same(name, "readonly") ? number : s->readonly;
        s->time = same(name, "max_execution_time") ? number : s->time;
        s->memory = same(name, "max_memory_usage") ? number : s->memory;
        s->rows = same(name, "max_result_rows") ? number : s->rows;
    }
    return 0;
}

static int take_databases(void *arg, const struct page *p)
{
    struct seen *s = arg;
    char own[2 * STORE_ID_MAX + 16], all[2 * STORE_ID_MAX + 32];
    snprintf(own, sizeof own, "%s_%s", s->store->links.place.prefix, s->workspace);
    snprintf(all, sizeof all, "%s_all", own);
    for (size_t i = 0; i < p->rows; i++) {
        struct store_text t = page_text(p, 0, i);
        if (!same(t, own) && !same(t, all) && !same(t, "system") &&
            !same(t, "information_schema") && !same(t, "INFORMATION_SCHEMA"))
            snprintf(s->other, sizeof s->other, "%.*s", (int)t.len, t.at);
    }
    return 0;
}

static int judge(const struct seen *s, const char *user, struct err *e)
{
    if (*s->other)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "user %s of ClickHouse sees database %.60s: it may see only that of "
                       "its workspace (docs/server.md, allow_databases)",
                       user, s->other);
    if (s->readonly != 1 || s->time <= 0 || s->memory <= 0 || s->rows <= 0 || !s->cut)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "the profile of user %s of ClickHouse must have readonly 1, "
                       "result_overflow_mode break, and max_execution_time, max_memory_usage and "
                       "max_result_rows (docs/server.md)",
                       user);
    return 0;
}

/* Rights may change between two requests: the databases and the settings belong together only if
 * the settings are equal before and after. */
static bool is_changed(const struct seen *a, const struct seen *b)
{
    return a->readonly != b->readonly || a->time != b->time || a->memory != b->memory ||
           a->rows != b->rows || a->cut != b->cut;
}

static int look(struct store *s, const char *workspace, unsigned host, int64_t *rows, struct err *e)
{
    static const char settings[] =
        "SELECT name, value FROM system.settings WHERE name IN ('readonly', 'max_execution_time', "
        "'max_memory_usage', 'max_result_rows', 'result_overflow_mode') FORMAT Native";
    static const char databases[] = "SELECT name FROM system.databases FORMAT Native";
    struct seen seen = {.store = s, .workspace = workspace}, after = seen;
    char name[2 * STORE_ID_MAX + 2];
    const struct link_login who = select_login(s, workspace, name);
    struct err why = {0};
    int rc = link_ask_as(
        &s->links, host, &who,
        &(struct link_question){settings, sizeof settings - 1, take_settings, &seen, 0}, &why);
    if (rc == 0)
        rc = link_ask_as(
            &s->links, host, &who,
            &(struct link_question){databases, sizeof databases - 1, take_databases, &seen, 0},
            &why);
    if (rc == 0)
        rc = link_ask_as(
            &s->links, host, &who,
            &(struct link_question){settings, sizeof settings - 1, take_settings, &after, 0}, &why);
    *rows = seen.rows;
    if (rc == GPUFL_E_PERM)
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "ClickHouse has no user %s, or another password for it: its administrator makes "
            "one for this workspace (docs/server.md)",
            name);
    if (!rc && is_changed(&seen, &after))
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "the profile of user %s of ClickHouse was changed while it was being "
                       "checked: try again",
                       name);
    return rc ? err_set(e, rc, "%s", why.text) : judge(&seen, name, e);
}

int select_user_check(struct store *s, const char *workspace, unsigned host, int64_t *rows,
                      struct err *e)
{
    if (!*s->select_user)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this server has no ClickHouse user for SQL: set --columns-sql "
                       "(docs/server.md)");
    struct workspace *w = workspace_of(s, workspace);
    if (!w)
        return err_nomem(e);
    int64_t now = clock_mono(),
            good = atomic_load_explicit(&w->select_good[host], memory_order_relaxed);
    *rows = atomic_load_explicit(&w->select_rows[host], memory_order_relaxed);
    if (good && now < good)
        return 0;
    int rc = look(s, workspace, host, rows, e);
    atomic_store_explicit(&w->select_rows[host], *rows, memory_order_relaxed);
    atomic_store_explicit(&w->select_good[host], rc ? 0 : now + LOOKED, memory_order_relaxed);
    return rc;
}
