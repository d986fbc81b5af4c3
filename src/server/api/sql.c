/* sql.c - runs one SELECT that a client wrote (docs/server-sql.md).
 *
 * Which sessions may be asked is decided here, as for every other address; the store checks the
 * statement and runs it in a separate process. The audit log has every statement. */
#include "server/common/logs.h"
#include "server/request/handlers.h"
#include "server/request/ids_list.h"
#include "server/request/parts.h"
#include "server/request/session_ref.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { SQL_BYTES_MAX = 16 << 20, SQL_AUDIT_MAX = 2000 };

struct asked {
    struct session_ref subjects[STORE_SELECT_SESSIONS];
    struct store_select_session sessions[STORE_SELECT_SESSIONS];
    size_t opened, count; /* subjects; sessions: those of them that have columns */
};

static void close_all(struct call *c, struct asked *a)
{
    while (a->opened > 0)
        session_ref_close(c, &a->subjects[--a->opened]);
}

static bool add(struct call *c, struct asked *a, const char *id)
{
    struct session_ref *s = &a->subjects[a->opened];
    if (a->opened == STORE_SELECT_SESSIONS) {
        http_problem_of(c->http, 400, "sessions", "A statement can read %d sessions at most.",
                        STORE_SELECT_SESSIONS);
        return false;
    }
    if (!session_ref_open(c, id, s))
        return false;
    a->opened++;
    if (s->columns)
        a->sessions[a->count++] =
            (struct store_select_session){.columns = s->columns,
                                          .live = strcmp(s->row.state, "live") == 0,
                                          .id = s->row.id,
                                          .app = s->row.app,
                                          .host = s->row.host,
                                          .engine = s->row.engine,
                                          .state = s->row.state,
                                          .start = s->start,
                                          .started = s->row.started,
                                          .ended = s->row.ended};
    return true;
}

/* Opens all sessions; false: the call was answered. */
static bool open_all(struct call *c, struct asked *a)
{
    const char *list = ARG(c, sql, sessions)->text;
    char id[META_ID_MAX];
    bool bad = false;
    while (ids_next(&list, id, &bad))
        if (!add(c, a, id))
            return false;
    if (bad)
        ids_bad(c, "sessions");
    return !bad;
}

/* Writes the statement and its outcome to the audit log. */
static void note(struct call *c, int rc, const struct err *e, int64_t took)
{
    const char *sql = ARG(c, sql, sql)->text;
    struct buf detail;
    struct err failed = {0};
    size_t n = strlen(sql);
    while (n > SQL_AUDIT_MAX || (n < strlen(sql) && (sql[n] & 0xc0) == 0x80))
        n = n > SQL_AUDIT_MAX ? SQL_AUDIT_MAX : n - 1;
    buf_init(&detail, 8 * SQL_AUDIT_MAX + 4096);
    buf_str(&detail, "{\"sql\":");
    buf_json(&detail, sql, n);
    buf_str(&detail, ",\"sessions\":");
    buf_json_str(&detail, ARG(c, sql, sessions)->text);
    buf_printf(&detail, ",\"ms\":%lld", (long long)(took / 1000000));
    if (rc) {
        buf_str(&detail, ",\"error\":");
        buf_json_str(&detail, e->text[0] ? e->text : err_text(rc));
    }
    buf_char(&detail, '}');
    const struct meta_audit audit = {.at = clock_real(),
                                     .actor = c->who.actor,
                                     .kind = c->who.kind,
                                     .action = "sql.ask",
                                     .target = "",
                                     .detail = buf_cstr(&detail),
                                     .address = c->http->peer};
    if (meta_audit_add(c->parts->meta, c->who.workspace, &audit, &failed))
        logs_say(LOG_ERROR, "audit", "an entry was not written: %s", failed.text);
    buf_fini(&detail);
}

static void fail(struct call *c, int rc, const struct err *e)
{
    if (rc == GPUFL_E_INVAL)
        http_problem_of(c->http, 400, "sql", "%s", e->text);
    else if (rc == GPUFL_E_TIMEOUT || rc == GPUFL_E_NOMEM || rc == GPUFL_E_FULL)
        http_problem(c->http, 400, "The statement was ended: %s.",
                     rc == GPUFL_E_NOMEM ? "it needs more memory than it may have" : e->text);
    else if (rc == GPUFL_E_UNAVAILABLE && e->text[0])
        http_problem(c->http, 501, "This server cannot run SQL here: %s.", e->text);
    else
        call_fail(c, rc, "statement", e);
}

static void ask(struct call *c, const struct asked *a)
{
    const char *sql = ARG(c, sql, sql)->text;
    const struct store_select q = {.sql = {sql, strlen(sql)},
                                   .sessions = a->sessions,
                                   .session_count = a->count,
                                   .rows_most = ARG(c, sql, rows)->i,
                                   .bytes_most = SQL_BYTES_MAX,
                                   .time_most = ARG(c, sql, milliseconds)->i * 1000000};
    const struct parts *s = c->parts;
    struct err e = {0};
    int64_t began = clock_mono();
    struct buf *body = http_body(c->http, 2 * (size_t)SQL_BYTES_MAX);
    int rc = s->ops->select(s->store, c->who.workspace, &q, body, &e);
    note(c, rc, &e, clock_mono() - began);
    if (rc)
        fail(c, rc, &e);
    else
        http_send(c->http, 200, "application/json");
}

void api_sql(struct call *c)
{
    static const char off[] = "This server takes no SQL.";
    const struct parts *s = c->parts;
    if (!s->selects || !s->ops->select) {
        http_problem(c->http, 501, "%s", off);
        return;
    }
    if (!sql_gate_enter(s->sql_gate, c->who.workspace)) {
        http_problem(c->http, 429, "The workspace has asked as many statements as it may at once.");
        http_set(c->http, "Retry-After", "1");
        return;
    }
    struct asked *a = region_array(c->memory, 1, sizeof *a);
    if (!a)
        call_fail(c, GPUFL_E_NOMEM, "statement", NULL);
    else if (open_all(c, a))
        ask(c, a);
    if (a)
        close_all(c, a);
    sql_gate_leave(s->sql_gate, c->who.workspace);
}
