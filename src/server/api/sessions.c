/* sessions.c - makes lists of sessions, and their findings. */
#include "server/common/logs.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* Lists the parameters that lists and counts of sessions share. */
#define SESSION_QUERY(c, route)                                                                    \
    {                                                                                              \
        .app = ARG(c, route, app)->text, .host = ARG(c, route, host)->text,                        \
        .engine = ARG(c, route, engine)->text, .state = ARG(c, route, state)->text,                \
        .account = ARG(c, route, account)->text, .gpu = ARG(c, route, gpu)->text,                  \
        .label = ARG(c, route, label)->text, .label_value = ARG(c, route, label_value)->text,      \
        .text = ARG(c, route, text)->text, .from = ARG(c, route, from)->i,                         \
        .to = ARG(c, route, to)->i                                                                 \
    }

void api_sessions(struct call *c)
{
    struct meta_session_query q = SESSION_QUERY(c, sessions);
    struct meta_page page = ROWS_PAGE(c, sessions);
    struct meta_session *rows = NULL;
    struct rows_list l;
    q.sort = (enum meta_session_sort)ARG(c, sessions, sort)->i;
    q.ascending = ARG(c, sessions, ascending)->i;
    rows_list_begin(&l, c);
    int rc = meta_session_list(&l.ask, &q, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_session, rows, page.next);
}

void api_session_count(struct call *c)
{
    const struct meta_session_query q = SESSION_QUERY(c, session_count);
    struct err e = {0};
    struct json_out j;
    int64_t count = 0;
    int rc = meta_session_count(c->parts->meta, c->who.workspace, &q, &count, &e);
    if (rc) {
        call_fail(c, rc, "count", &e);
        return;
    }
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_int(&j, "count", count);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}

void api_session_names(struct call *c)
{
    struct meta_name_count *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_session_names(&l.ask, (enum meta_by)ARG(c, session_names, by)->i,
                                (unsigned)ARG(c, session_names, limit)->i, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_name_count, rows, NULL);
}

static bool shared_elsewhere(const struct call *c, const char *session)
{
    return c->who.session && strcmp(c->who.session, session) != 0;
}

void api_session(struct call *c)
{
    const char *id = ARG(c, session, session)->text;
    struct meta_session row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = shared_elsewhere(c, id) ? GPUFL_E_NOENT : meta_session_get(&ask, id, &row);
    if (rc)
        call_fail_named(c, rc, "session", &e);
    else
        rows_send_one(c, META_ROW_session, &row);
}

void api_session_delete(struct call *c)
{
    const char *id = ARG(c, session_delete, session)->text;
    int64_t now = clock_real();
    struct err e = {0};
    int rc = meta_session_drop(c->parts->meta, c->who.workspace, id, now, &e);
    if (rc) {
        call_fail_named(c, rc, "session", &e);
        return;
    }
    access_note(c, "session.delete", id);
    janitor_wake(c->parts->janitor); /* frees the columns */
    http_send_nothing(c->http, 204);
}

static void set_label(struct call *c, const char *session, const char *name, const char *value)
{
    char target[META_ID_MAX + 260];
    struct err e = {0};
    int rc = meta_session_label(c->parts->meta, c->who.workspace, session, name, value, &e);
    if (rc) {
        call_fail_named(c, rc, value ? "session" : "label", &e);
        return;
    }
    snprintf(target, sizeof target, "%s %s", session, name);
    access_note(c, value ? "label.set" : "label.delete", target);
    http_send_nothing(c->http, 204);
}

void api_label_put(struct call *c)
{
    set_label(c, ARG(c, label_put, session)->text, ARG(c, label_put, label)->text,
              ARG(c, label_put, value)->text);
}

void api_label_delete(struct call *c)
{
    set_label(c, ARG(c, label_delete, session)->text, ARG(c, label_delete, label)->text, NULL);
}

void api_session_findings(struct call *c)
{
    const char *id = ARG(c, session_findings, session)->text;
    struct meta_finding *rows;
    struct meta_session row;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = shared_elsewhere(c, id) ? GPUFL_E_NOENT : meta_session_get(&ask, id, &row);
    if (rc == 0)
        rc = meta_finding_list(&ask, id, &rows, &count);
    if (rc)
        call_fail_named(c, rc, "session", &e);
    else
        rows_send(c, META_ROW_finding, rows, count, NULL);
    region_fini(&mem);
}

void api_findings(struct call *c)
{
    const struct meta_finding_query q = {.rule = ARG(c, findings, rule)->text,
                                         .app = ARG(c, findings, app)->text,
                                         .host = ARG(c, findings, host)->text,
                                         .file = ARG(c, findings, file)->text,
                                         .kernel = ARG(c, findings, kernel)->text,
                                         .severity = ARG(c, findings, severity)->i,
                                         .from = ARG(c, findings, from)->i,
                                         .to = ARG(c, findings, to)->i};
    struct meta_page page = ROWS_PAGE(c, findings);
    struct meta_found *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_finding_search(&l.ask, &q, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_found, rows, page.next);
}
