/* select_views.c - makes the tables that a select may name: docs/server-sql.md.
 *
 * There is a view for each record, with texts instead of ids of names, times since the session's
 * start, and all sessions one after the other; `kernels`, which joins a kernel with its launch;
 * `sessions`; and `history`. Names and meanings of columns do not change: they are those of
 * schema/records.def, where columns are only added. */
#include "store/duckdb/select.h"

#include "store/duckdb/history.h"
#include "wire/record.h"

#include <inttypes.h>

static void put_literal(struct buf *b, struct store_text t)
{
    buf_char(b, '\'');
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] == '\'')
            buf_char(b, '\'');
        buf_char(b, t.at[i]);
    }
    buf_char(b, '\'');
}

static bool is_text(const struct record *r, unsigned column)
{
    return r->columns[column].ref == RECORD_name;
}

/* Puts the cell of a record's column for the view. r is the alias of the row, n<column> that of its
 * name. */
static void put_cell(struct buf *b, const struct select_session *s, const struct record *r,
                     unsigned i)
{
    if (is_text(r, i))
        buf_printf(b, "n%u.text", i);
    else if (r->columns[i].coding == CODING_TIME)
        buf_printf(b, "r.\"%s\" - (%" PRId64 ")", r->columns[i].name, s->start);
    else
        buf_printf(b, "r.\"%s\"", r->columns[i].name);
}

static void put_session(struct buf *b, const struct select_session *s, const struct record *r)
{
    buf_str(b, "SELECT ");
    put_literal(b, s->id);
    buf_str(b, " AS session");
    for (unsigned i = 0; i < r->column_count; i++) {
        buf_str(b, ", ");
        put_cell(b, s, r, i);
        buf_str(b, " AS ");
        sql_name(b, r->columns[i].name);
    }
    buf_str(b, " FROM ");
    session_table(b, &s->columns, (unsigned)(r - records));
    buf_str(b, " r");
    for (unsigned i = 0; i < r->column_count; i++)
        if (is_text(r, i)) {
            buf_str(b, " LEFT JOIN ");
            session_table(b, &s->columns, TABLE_names);
            buf_printf(b, " n%u ON n%u.id = r.\"%s\"", i, i, r->columns[i].name);
        }
}

/* Puts the record's view without any session. */
static void put_empty(struct buf *b, const struct record *r)
{
    buf_str(b, "SELECT NULL::VARCHAR AS session");
    for (unsigned i = 0; i < r->column_count; i++) {
        buf_printf(b, ", NULL::%s AS ", is_text(r, i) ? "VARCHAR" : "BIGINT");
        sql_name(b, r->columns[i].name);
    }
    buf_str(b, " WHERE false");
}

static void put_record(struct buf *b, const struct select_session *sessions, size_t n,
                       const struct record *r)
{
    buf_str(b, "CREATE VIEW ");
    sql_name(b, r->type);
    buf_str(b, " AS ");
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i ? " UNION ALL " : "");
        put_session(b, &sessions[i], r);
    }
    if (!n)
        put_empty(b, r);
    buf_char(b, ';');
}

static void put_time(struct buf *b, int64_t v)
{
    if (v == CELL_NULL)
        buf_str(b, ", NULL");
    else
        buf_printf(b, ", %" PRId64, v);
}

static void put_sessions(struct buf *b, const struct select_session *sessions, size_t n)
{
    buf_str(b, "CREATE TABLE sessions (session VARCHAR, app VARCHAR, host VARCHAR, engine VARCHAR, "
               "state VARCHAR, started BIGINT, ended BIGINT);");
    for (size_t i = 0; i < n; i++) {
        const struct store_text texts[] = {sessions[i].id, sessions[i].app, sessions[i].host,
                                           sessions[i].engine, sessions[i].state};
        buf_str(b, "INSERT INTO sessions VALUES (");
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            buf_str(b, t ? ", " : "");
            put_literal(b, texts[t]);
        }
        put_time(b, sessions[i].started);
        put_time(b, sessions[i].ended);
        buf_str(b, ");");
    }
}

static void put_history(struct buf *b, const struct store_session *history)
{
    static const struct store_session none; /* has no tables: only the columns */
    buf_str(b, "CREATE VIEW history AS SELECT * REPLACE (coalesce(kind, 0) AS kind) FROM ");
    history_table(b, history ? history : &none, NULL);
    buf_str(b, " h;");
}

/* This is the view `kernels`, which joins the columns that statements need most. */
static const char kernels[] =
    "CREATE VIEW kernels AS SELECT k.session, k.start, k.duration, c.name, c.grid_x, c.grid_y, "
    "c.grid_z, c.block_x, c.block_y, c.block_z, c.registers, c.shared_static, c.shared_dynamic, "
    "d.name AS device, s.number AS stream, k.correlation, k.scope, k.graph, k.thread "
    "FROM kernel k LEFT JOIN config c ON c.session = k.session AND c.id = k.config "
    "LEFT JOIN device d ON d.session = k.session AND d.id = c.device "
    "LEFT JOIN stream s ON s.session = k.session AND s.id = k.stream;";

void select_views(struct buf *b, const struct select_session *sessions, size_t n,
                  const struct store_session *history)
{
    for (unsigned i = 0; i < RECORD_COUNT; i++)
        put_record(b, sessions, n, &records[i]);
    put_sessions(b, sessions, n);
    put_history(b, history);
    buf_str(b, kernels);
}
