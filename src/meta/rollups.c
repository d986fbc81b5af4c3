/* rollups.c - keeps sums of kernels, scopes and lines by application, host and day, which outlive
 * their sessions.
 *
 * The sums are updated when the sums of a session are stored, because a query over a year must not
 * read a row for each session. What each session added is kept as long as the session
 * (rollup_parts): if its sums are stored again, its old part is subtracted first, in the same
 * transaction, so that nothing counts twice. Dropping a session removes its parts and keeps the
 * sums.
 *
 * Sums are kept by application, host and day, a second time by day only, and a third time by spans
 * of 32 days only: a query over a year for all sessions reads the whole spans of that year, and the
 * days before and after them. */
#include "meta/fleet_days.h"

#include "base/intern.h"

#include <string.h>

struct rollup_put {
    const char *session;
    const struct meta_rollup_part *rows;
    size_t count;
};

static int64_t key_of(const char *name)
{
    return (int64_t)intern_hash(name, strlen(name));
}

/* Locks the row of the session, so that of two servers that store its sums one waits. */
static int hold(struct meta_tx *tx, const struct meta_args *of, struct err *e)
{
    return meta_run_one(tx, META_S_rollup_hold, of, "session", e);
}

static int rollup_put(struct meta_tx *tx, void *arg, struct err *e)
{
    static const enum meta_statement_id out[] = {
        META_S_rollup_subtract,    META_S_rollup_empty,         META_S_rollup_daily_subtract,
        META_S_rollup_daily_empty, META_S_rollup_span_subtract, META_S_rollup_span_empty,
        META_S_rollup_part_clear};
    static const enum meta_statement_id in[] = {META_S_rollup_add, META_S_rollup_daily_add,
                                                META_S_rollup_span_add};
    const struct rollup_put *p = arg;
    struct meta_args of = {0};
    meta_arg_text(&of, p->session);
    int rc = hold(tx, &of, e);
    for (size_t i = 0; rc == 0 && i < sizeof out / sizeof out[0]; i++)
        rc = meta_run(tx, out[i], &of, NULL, NULL, e);
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        struct meta_rollup_part row = p->rows[i];
        struct meta_args a = {0};
        row.key = key_of(row.name);
        meta_arg_text(&a, p->session);
        meta_arg_row(&a, META_ROW_rollup_part, &row);
        rc = meta_run(tx, META_S_rollup_part_add, &a, NULL, NULL, e);
    }
    for (size_t i = 0; rc == 0 && i < sizeof in / sizeof in[0]; i++)
        rc = meta_run(tx, in[i], &of, NULL, NULL, e);
    return rc;
}

int meta_rollup_put(struct meta *m, const char *workspace, const char *session,
                    const struct meta_rollup_part *rows, size_t count, struct err *e)
{
    struct rollup_put p = {session, rows, count};
    if (count > META_ROLLUPS_MAX)
        return err_set(e, GPUFL_E_INVAL, "a session adds at most %d rows to the sums",
                       META_ROLLUPS_MAX);
    return meta_write_sums(m, workspace, rollup_put, &p, e);
}

int meta_rollup_forget(struct meta_tx *tx, int64_t day, struct err *e)
{
    struct meta_args days = {0}, spans = {0};
    meta_arg_int(&spans, day / META_SPAN);
    meta_arg_int(&days, day / META_SPAN * META_SPAN);
    int rc = meta_run(tx, META_S_rollup_forget, &days, NULL, NULL, e);
    rc = rc ? rc : meta_run(tx, META_S_rollup_daily_forget, &days, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_rollup_span_forget, &spans, NULL, NULL, e);
}

/* Adds as parameters the whole spans of the days, and the days before and after them. */
static void arg_spans(struct meta_args *a, int64_t from, int64_t to)
{
    const struct meta_spans s = meta_spans_in(from, to);
    meta_arg_int(a, s.first);
    meta_arg_int(a, s.last);
    meta_arg_int(a, from);
    meta_arg_int(a, s.before);
    meta_arg_int(a, s.after);
    meta_arg_int(a, to);
}

int meta_rollup_sums(const struct meta_ask *ask, const struct meta_rollup_query *q,
                     struct meta_page *page, struct meta_rollup_sum **rows, size_t *count)
{
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(ask, page, META_KIND_REAL, false, &c);
    if (rc)
        return rc;
    enum meta_statement_id statement = q->host  ? META_S_rollup_sums_host
                                       : q->app ? META_S_rollup_sums_app
                                                : META_S_rollup_sums;
    meta_arg_text(&a, q->kind);
    meta_arg_real(&a, c->key.r);
    meta_arg_int(&a, c->number);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    if (!q->host && !q->app) {
        arg_spans(&a, q->from, q->to);
    } else {
        meta_arg_int(&a, q->from);
        meta_arg_int(&a, q->to);
        meta_arg_text(&a, q->host ? q->host : q->app);
        if (q->host)
            meta_arg_text(&a, q->app);
    }
    rc = meta_list(ask, statement, &a, META_ROW_rollup_sum, rows, count);
    if (rc || !meta_page_more(page, count))
        return rc;
    const struct meta_rollup_sum *last = &(*rows)[*count - 1];
    const struct meta_value key = {.kind = META_KIND_REAL, .r = last->total};
    return meta_page_end(ask, page, &key, "", key_of(last->name));
}

int meta_rollup_days(const struct meta_ask *ask, const struct meta_rollup_query *q,
                     struct meta_page *page, struct meta_rollup_day **rows, size_t *count)
{
    enum { ALL, OF_APP, OF_HOST, OF_COUNT };
    static const enum meta_statement_id statements[][OF_COUNT] = {
        [META_ROLLUP_DAY] = {META_S_rollup_days, META_S_rollup_days_of_app,
                             META_S_rollup_days_of_host},
        [META_ROLLUP_APP] = {META_S_rollup_days_app, META_S_rollup_days_app_of_app,
                             META_S_rollup_days_app_of_host},
        [META_ROLLUP_HOST] = {META_S_rollup_days_host, META_S_rollup_days_host_of_app,
                              META_S_rollup_days_host_of_host},
    };
    const int of = q->app ? OF_APP : q->host ? OF_HOST : ALL;
    struct meta_args a = {0};
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(ask, page, META_KIND_TEXT, true, &c);
    if (rc)
        return rc;
    meta_arg_text(&a, q->kind);
    meta_arg_int(&a, key_of(q->name));
    meta_arg_int(&a, q->from);
    meta_arg_int(&a, q->to);
    meta_arg_text(&a, c->text);
    meta_arg_int(&a, c->number);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    if (of != ALL)
        meta_arg_text(&a, q->app ? q->app : q->host);
    if (of == OF_APP)
        meta_arg_text(&a, q->host);
    rc = meta_list(ask, statements[q->by][of], &a, META_ROW_rollup_day, rows, count);
    if (rc || !meta_page_more(page, count))
        return rc;
    const struct meta_rollup_day *last = &(*rows)[*count - 1];
    const struct meta_value key = {
        .kind = META_KIND_TEXT, .at = last->name, .len = strlen(last->name)};
    return meta_page_end(ask, page, &key, "", last->day);
}
