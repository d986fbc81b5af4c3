/* select_tables.c - makes the tables that a statement may name, as sub-selects: docs/server-sql.md.
 *
 * A table has the rows that count of one session after the other, with NULL for unknown cells,
 * texts instead of ids of names, and times since the session's start. Joins are nested, since the
 * oldest server allows one join in a SELECT. */
#include "store/clickhouse/select.h"

#include "base/alloc.h"
#include "store/batches.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "toInt64('-9223372036854775808')"

int select_tables_open(struct select_tables *t, struct store *s, const char *workspace,
                       const struct store_select *q, struct err *e)
{
    *t = (struct select_tables){.store = s, .workspace = workspace, .q = q};
    t->states = mem_array(q->session_count + 1, sizeof *t->states);
    if (!t->states)
        return err_nomem(e);
    for (size_t i = 0; i < q->session_count; i++)
        state_init(&t->states[i]);
    int rc = 0;
    for (size_t i = 0; !rc && i < q->session_count; i++) {
        const struct store_session *ss = q->sessions[i].columns;
        t->all |= ss->host != q->sessions[0].columns->host;
        for (size_t k = 0; !rc && k < i; k++)
            if (q->sessions[k].columns == ss)
                rc = err_set(e, GPUFL_E_INVAL, "session %s is named twice", ss->at.id);
        if (rc == 0)
            rc = state_read(ss, &t->states[i], e);
    }
    t->host = q->session_count && !t->all ? q->sessions[0].columns->host : 0;
    return rc;
}

void select_tables_close(struct select_tables *t)
{
    for (size_t i = 0; t->states && i < t->q->session_count; i++)
        state_fini(&t->states[i]);
    mem_free(t->states);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Puts "(SELECT columns FROM … WHERE …)" for a session's table, or a select without rows if the
 * session has none. columns: expressions of the table's columns, each with an alias. */
static void put_rows(struct buf *b, const struct select_tables *t, size_t session, unsigned table,
                     const char *columns)
{
    const struct table *of = store_table(table);
    buf_printf(b, "(SELECT %s FROM ", columns);
    if (t->states[session].rows[table]) {
        small_put_place(b, t->q->sessions[session].columns, &t->states[session], table, t->all);
        buf_str(b, " WHERE ");
        state_where_last(b, t->q->sessions[session].columns, &t->states[session], table);
        buf_char(b, ')');
        return;
    }
    for (unsigned i = 0; i < of->column_count; i++) {
        bool text = of->columns[i].type == CELL_TEXT || of->columns[i].type == CELL_BYTES;
        buf_printf(b, "%s%s AS ", i ? ", " : "(SELECT ", text ? "''" : "toInt64(0)");
        literal_name(b, of->columns[i].name);
    }
    buf_str(b, ") WHERE 0)");
}

/* Puts the second half of "(SELECT * FROM <before> ALL LEFT JOIN (names) USING key)", which adds
 * the text of an id. */
static void put_name_of(struct buf *b, const struct select_tables *t, size_t session,
                        const char *key, const char *text)
{
    char columns[160];
    snprintf(columns, sizeof columns, "id AS %s, toNullable(text) AS %s", key, text);
    buf_str(b, " ALL LEFT JOIN ");
    put_rows(b, t, session, TABLE_names, columns);
    buf_printf(b, " USING %s", key);
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_text(const struct record *r, unsigned column)
{
    return r->columns[column].ref == RECORD_name;
}

static void put_cell(struct buf *b, const struct record *r, unsigned i, int64_t start)
{
    if (is_text(r, i))
        buf_printf(b, "t%u", i);
    else
        buf_printf(b, "nullIf(c%u, " UNKNOWN ")", i);
    if (r->columns[i].coding == CODING_TIME) {
        buf_str(b, " - ");
        literal_int(b, start);
    }
    buf_str(b, " AS ");
    literal_name(b, r->columns[i].name);
}

static void put_record_of(struct buf *b, const struct select_tables *t, size_t session,
                          const struct record *r)
{
    const struct store_select_session *x = &t->q->sessions[session];
    struct buf columns;
    buf_init(&columns, 1 << 16);
    buf_str(b, "SELECT ");
    literal_text(b, x->id, strlen(x->id));
    buf_str(b, " AS session");
    for (unsigned i = 0; i < r->column_count; i++) {
        buf_str(b, ", ");
        put_cell(b, r, i, x->start);
        buf_str(&columns, i ? ", " : "");
        literal_name(&columns, r->columns[i].name);
        buf_printf(&columns, " AS c%u", i);
    }
    buf_str(b, " FROM ");
    for (unsigned i = 0; i < r->column_count; i++)
        if (is_text(r, i))
            buf_str(b, "(SELECT * FROM ");
    put_rows(b, t, session, (unsigned)(r - records), buf_cstr(&columns));
    for (unsigned i = 0; i < r->column_count; i++)
        if (is_text(r, i)) {
            char key[16], text[16];
            snprintf(key, sizeof key, "c%u", i);
            snprintf(text, sizeof text, "t%u", i);
            put_name_of(b, t, session, key, text);
            buf_char(b, ')');
        }
    buf_fini(&columns);
}

static void put_no_record(struct buf *b, const struct record *r)
{
    buf_str(b, "SELECT '' AS session");
    for (unsigned i = 0; i < r->column_count; i++) {
        buf_str(b, is_text(r, i) ? ", toNullable('') AS " : ", toNullable(toInt64(0)) AS ");
        literal_name(b, r->columns[i].name);
    }
    buf_str(b, " WHERE 0");
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Puts kernels with their configuration and its name, their device and its name, and their
 * stream. */
static void put_kernels_of(struct buf *b, const struct select_tables *t, size_t session)
{
    static const char *const shown[] = {"grid_x",    "grid_y",        "grid_z",
                                        "block_x",   "block_y",       "block_z",
                                        "registers", "shared_static", "shared_dynamic"};
    const struct store_select_session *x = &t->q->sessions[session];
    struct buf config;
    buf_init(&config, 1 << 12);
    buf_str(&config, "id AS kc, name AS kn, device AS kd");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        buf_printf(&config, ", nullIf(%s, " UNKNOWN ") AS kx%zu", shown[i], i);
    buf_str(b, "SELECT ");
    literal_text(b, x->id, strlen(x->id));
    buf_str(b, " AS session, nullIf(k0, " UNKNOWN ") - ");
    literal_int(b, x->start);
    buf_str(b, " AS start, nullIf(k1, " UNKNOWN ") AS duration, kname AS name");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        buf_printf(b, ", kx%zu AS %s", i, shown[i]);
    buf_str(b, ", dname AS device, snumber AS stream, nullIf(k2, " UNKNOWN ") AS correlation, "
               "nullIf(k3, " UNKNOWN ") AS scope, nullIf(k4, " UNKNOWN
               ") AS graph, nullIf(k5, " UNKNOWN ") AS thread FROM (SELECT * FROM ");
    put_rows(b, t, session, RECORD_kernel,
             "start AS k0, duration AS k1, correlation AS k2, scope AS k3, graph AS k4, "
             "thread AS k5, config AS kc, stream AS ks");
    buf_str(b, " ALL LEFT JOIN (SELECT * FROM (SELECT * FROM ");
    put_rows(b, t, session, RECORD_config, buf_cstr(&config));
    put_name_of(b, t, session, "kn", "kname");
    buf_str(b, ") ALL LEFT JOIN (SELECT kd, dname FROM ");
    put_rows(b, t, session, RECORD_device, "id AS kd, name AS dn");
    put_name_of(b, t, session, "dn", "dname");
    buf_str(b, ") USING kd) USING kc) ALL LEFT JOIN ");
    put_rows(b, t, session, RECORD_stream, "id AS ks, nullIf(number, " UNKNOWN ") AS snumber");
    buf_str(b, " USING ks");
    buf_fini(&config);
}

static const char no_kernels[] = "SELECT '' AS session, toNullable(toInt64(0)) AS start, start AS "
                                 "duration, toNullable('') AS name, "
                                 "start AS grid_x, start AS grid_y, start AS grid_z, start AS "
                                 "block_x, start AS block_y, start AS "
                                 "block_z, start AS registers, start AS shared_static, start AS "
                                 "shared_dynamic, toNullable('') AS "
                                 "device, start AS stream, start AS correlation, start AS scope, "
                                 "start AS graph, start AS thread "
                                 "WHERE 0";

/* ---- sessions, history ----------------------------------------------------------------------- */

static void put_time(struct buf *b, int64_t v, const char *name)
{
    buf_str(b, ", nullIf(toInt64('");
    buf_i64(b, v);
    buf_printf(b, "'), " UNKNOWN ") AS %s", name);
}

static void put_session(struct buf *b, const struct store_select_session *x)
{
    const char *const texts[] = {x->id, x->app, x->host, x->engine, x->state};
    static const char *const names[] = {"session", "app", "host", "engine", "state"};
    for (size_t i = 0; i < 5; i++) {
        buf_str(b, i ? ", " : "SELECT ");
        literal_text(b, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) : 0);
        buf_printf(b, " AS %s", names[i]);
    }
    put_time(b, x->started ? x->started : INT64_MIN, "started");
    put_time(b, x->ended ? x->ended : INT64_MIN, "ended");
}

/* Puts the history; an unknown real is -0. */
static void put_history(struct buf *b, const struct select_tables *t)
{
    const struct table *of = store_table(TABLE_history);
    for (unsigned i = 0; i < of->column_count; i++) {
        const char *name = of->columns[i].name;
        buf_str(b, i ? ", " : "SELECT ");
        if (of->columns[i].type == CELL_TEXT)
            literal_name(b, name);
        else if (of->columns[i].type == CELL_REAL)
            buf_printf(b, "if(h_%s = 0 AND 1 / h_%s < 0, NULL, h_%s)", name, name, name);
        else if (strcmp(name, "kind") == 0)
            buf_str(b, "if(h_kind = " UNKNOWN ", toInt64(0), h_kind)");
        else
            buf_printf(b, "nullIf(h_%s, " UNKNOWN ")", name);
        buf_str(b, " AS ");
        literal_name(b, name);
    }
    buf_str(b, " FROM (SELECT ");
    for (unsigned i = 0; i < of->column_count; i++) {
        buf_str(b, i ? ", " : "");
        literal_name(b, of->columns[i].name);
        if (of->columns[i].type != CELL_TEXT)
            buf_printf(b, " AS h_%s", of->columns[i].name);
    }
    buf_str(b, " FROM ");
    place_put_all(b, t->store, t->workspace, place_name(TABLE_history));
    buf_str(b, " WHERE gone = 0 AND (session, version) IN (SELECT session, max(version) FROM ");
    place_put(b, t->store, t->workspace, place_name(TABLE_history));
    buf_str(b, " GROUP BY session))");
}

/* ---- by name --------------------------------------------------------------------------------- */

static bool is(struct store_text name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.at, text, name.len) == 0;
}

bool select_tables_put(void *arg, struct buf *out, struct store_text table)
{
    const struct select_tables *t = arg;
    size_t n = t->q->session_count;
    int record = record_find(table.at, table.len);
    bool kernels = is(table, "kernels"), sessions = is(table, "sessions");
    if (!kernels && !sessions && record == RECORD_NONE && !is(table, "history"))
        return false;
    buf_char(out, '(');
    for (size_t i = 0; i < n && (kernels || sessions || record != RECORD_NONE); i++) {
        buf_str(out, i ? " UNION ALL " : "");
        if (kernels)
            put_kernels_of(out, t, i);
        else if (sessions)
            put_session(out, &t->q->sessions[i]);
        else
            put_record_of(out, t, i, &records[record]);
    }
    if (!n && kernels)
        buf_str(out, no_kernels);
    else if (!n && sessions) {
        put_session(out, &(struct store_select_session){.id = ""});
        buf_str(out, " WHERE 0");
    } else if (!n && record != RECORD_NONE)
        put_no_record(out, &records[record]);
    if (is(table, "history"))
        put_history(out, t);
    buf_char(out, ')');
    return true;
}
