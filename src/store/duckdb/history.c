/* history.c - keeps the rows that finished sessions leave for questions about a workspace.
 *
 * The rows of a session are added to the table `history` of the workspace's file. Every block of
 * such rows has rows of every name, so that a question about one name would read all blocks. When
 * the table has many rows they are moved, in one transaction and in the order of their names, to
 * the table `history_by_name`. It has a hash of the name in an additional column: a question about
 * a name reads this column, and the others only in blocks with rows of that name. The table
 * `history_sums` adds up the moved rows by kind, application and name; the list of names reads
 * these sums.
 *
 * A file of an older version has all rows in `history`; they are moved after the next session.
 *
 * Invariants: all rows of a session are in `history`, or all were moved. The sums are those of the
 * moved rows: rows that are removed are subtracted in the same transaction, as rows of their own.
 *
 * Threads: any; the file's write_lock admits one writer. */
#include "store/duckdb/history.h"

#include "base/intern.h"
#include "base/log.h"
#include "store/duckdb/write.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum {
    KEYS = 1 << 16,       /* of names; never changes, since files have the keys */
    SORTED_ROWS = 131072, /* that are sorted at once, which takes memory */
    KEPT_MAX = 1 << 24,   /* sessions; for more, rows are searched */
};

/* Describes the tables, which only the history's file has. Constant after describe. */
static struct table by_name = {.name = "history_by_name", .columns = {{"key", CELL_INT}}};
static const struct table sums = {
    .name = "history_sums",
    .columns = {{"made", CELL_INT},
                {"kind", CELL_INT},
                {"app", CELL_TEXT},
                {"name", CELL_TEXT},
                {"sessions", CELL_INT},
                {"calls", CELL_INT},
                {"total", CELL_INT}},
    .column_count = 7,
};

static void describe(void)
{
    const struct table *t = store_table(TABLE_history);
    memcpy(by_name.columns + 1, t->columns, t->column_count * sizeof *t->columns);
    by_name.column_count = t->column_count + 1;
}

static const struct table *named(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe);
    return &by_name;
}

/* Few bits take few bytes to read; names that share a key are distinguished by their text. */
static int64_t key_of(struct store_text name)
{
    return (int64_t)(intern_hash(name.at, name.len) % KEYS);
}

/* ---- statements ------------------------------------------------------------------------------ */

static unsigned have_named(const struct store_session *ss)
{
    return atomic_load_explicit(&ss->have_named, memory_order_relaxed);
}

/* Puts the columns of the history; those that a table of an older file lacks are null. */
static void put_columns(struct buf *b, unsigned have)
{
    const struct table *t = store_table(TABLE_history);
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(b, i ? ", " : "SELECT ");
        if (i >= have)
            buf_printf(b, "CAST(NULL AS %s) AS ", session_type(t->columns[i].type));
        sql_name(b, t->columns[i].name);
    }
    buf_str(b, " FROM ");
}

/* Puts the moved rows. name: those of that name, and perhaps a few of other names. */
static void put_moved(struct buf *b, const struct store_session *ss, const struct store_text *name)
{
    put_columns(b, have_named(ss) - 1);
    session_put_name(b, ss, named());
    if (name)
        buf_printf(b, " WHERE key = %" PRId64, key_of(*name));
}

void history_table(struct buf *b, const struct store_session *ss, const struct store_text *name)
{
    if (!have_named(ss)) {
        session_table(b, ss, TABLE_history);
        return;
    }
    buf_char(b, '(');
    put_columns(b, RECORD_MAX_COLUMNS);
    session_table(b, ss, TABLE_history);
    buf_str(b, " UNION ALL ");
    put_moved(b, ss, name);
    buf_char(b, ')');
}

/* Puts a sum that fits into a column. */
static void put_sum(struct buf *b, const char *sign, const char *column)
{
    buf_printf(b, "least(greatest(%ssum(%s), -9223372036854775807), 9223372036854775807)::BIGINT",
               sign, column);
}

/* Puts the sums of calls and time, up to the rows that are summed. */
static void put_sums_from(struct buf *b, const char *sign)
{
    put_sum(b, sign, "calls");
    buf_str(b, ", ");
    put_sum(b, sign, "total");
    buf_str(b, " FROM (");
}

/* Puts the sums of the rows that were not moved yet. */
static void put_new_sums(struct buf *b, const struct store_session *ss)
{
    buf_str(b, "SELECT coalesce(kind, 0) AS kind, app, name, count(DISTINCT session) AS sessions, "
               "sum(calls) AS calls, sum(total) AS total FROM ");
    session_table(b, ss, TABLE_history);
    buf_str(b, " GROUP BY ALL");
}

void history_sums(struct buf *b, const struct store_session *ss)
{
    buf_char(b, '(');
    put_new_sums(b, ss);
    if (have_named(ss)) {
        buf_str(b, " UNION ALL SELECT kind, app, name, sessions, calls, total FROM ");
        session_put_name(b, ss, &sums);
    }
    buf_char(b, ')');
}

bool history_note(struct store_session *ss, struct store_text name, int64_t columns)
{
    size_t len = strlen(by_name.name);
    bool is = name.len == len && !memcmp(name.at, by_name.name, len);
    if (is && columns > 1 && columns <= RECORD_MAX_COLUMNS)
        ss->have_named = (unsigned char)columns;
    return is;
}

/* ---- moving rows ----------------------------------------------------------------------------- */

/* Runs the statement in the writer's text, and clears the text. */
static int run(struct store_session *ss, const struct sql_arg *args, size_t n, struct err *e)
{
    struct writer *w = ss->writer;
    int rc = sql_run_with(ss->store->duck, w->connection->handle, buf_cstr(&w->text), args, n, e);
    buf_clear(&w->text);
    return rc;
}

/* Makes the tables, or adds the columns that those of an older file lack. */
static int make_tables(struct store_session *ss, struct err *e)
{
    struct buf *b = &ss->writer->text;
    const unsigned have = have_named(ss), columns = named()->column_count;
    buf_clear(b);
    if (have >= columns)
        return 0;
    session_make_table(b, ss, named(), have);
    if (!have)
        session_make_table(b, ss, &sums, 0);
    buf_str(b, "INSERT INTO ");
    session_name(b, ss, TABLE_about);
    buf_str(b, " VALUES (");
    sql_literal(b, named()->name);
    buf_printf(b, ", %u);", columns);
    int rc = sql_run(ss->store->duck, ss->writer->connection->handle, buf_cstr(b), e);
    buf_clear(b);
    return rc;
}

static unsigned column_of_name(void)
{
    const struct table *t = store_table(TABLE_history);
    unsigned i = 0;
    while (strcmp(t->columns[i].name, "name") != 0)
        i++;
    return i;
}

/* Adds a row of `history`, with the key of its name before the columns. */
static int move_row(struct rows *out, const struct page *p, size_t row, struct err *e)
{
    rows_int(out, 0, key_of(page_text(p, column_of_name(), row)));
    for (unsigned i = 0; i < p->columns; i++) {
        enum cell_type type = out->table->columns[i + 1].type;
        struct store_text text;
        if (!page_known(p, i, row)) {
            rows_null(out, i + 1);
        } else if (type == CELL_TEXT) {
            text = page_text(p, i, row);
            rows_text(out, i + 1, text.at, text.len);
        } else if (type == CELL_REAL) {
            rows_real(out, i + 1, page_real(p, i, row));
        } else {
            rows_int(out, i + 1, page_int(p, i, row));
        }
    }
    return rows_end(out, e);
}

/* Copies SORTED_ROWS of `history` from a number on. */
static int move_some(struct store_session *ss, struct connection *reader, int64_t from,
                     struct rows *out, struct err *e)
{
    const struct sql_arg range[] = {SQL_INT(from), SQL_INT(from + SORTED_ROWS)};
    struct buf *b = &ss->writer->text;
    struct sql q;
    int more = 1;
    put_columns(b, RECORD_MAX_COLUMNS);
    session_table(b, ss, TABLE_history);
    buf_str(b, " WHERE rowid >= $1 AND rowid < $2 ORDER BY name, started");
    int rc = sql_open(&q, ss->store->duck, reader->handle,
                      &(struct sql_bound){buf_cstr(b), range, 2}, e);
    buf_clear(b);
    while (!rc && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; !rc && i < q.page.rows; i++)
            rc = move_row(out, &q.page, i, e);
    sql_close(&q);
    return rc ? rc : more;
}

/* Finds the number after that of the last row of `history`. */
static int find_end(struct store_session *ss, struct connection *reader, int64_t *end,
                    struct err *e)
{
    struct buf *b = &ss->writer->text;
    struct sql q;
    int more = 0;
    buf_str(b, "SELECT coalesce(max(rowid), -1) + 1 FROM ");
    session_table(b, ss, TABLE_history);
    int rc =
        sql_open(&q, ss->store->duck, reader->handle, &(struct sql_bound){buf_cstr(b), NULL, 0}, e);
    buf_clear(b);
    if (!rc && (more = sql_next(&q, e)) > 0)
        *end = sql_int(&q, 0, 0);
    sql_close(&q);
    return rc ? rc : more < 0 ? more : 0;
}

/* Copies all rows of `history`. Another connection reads them, since the writer's adds rows. */
static int copy_rows(struct store_session *ss, struct err *e)
{
    struct rows out = {0};
    struct connection *reader;
    int64_t end = 0;
    int rc = engine_take(ss->store, &reader, e);
    if (rc)
        return rc;
    rc = find_end(ss, reader, &end, e);
    if (rc == 0) {
        rc =
            rows_open(&out, ss->store->duck, ss->writer->connection->handle, ss->alias, named(), e);
        for (int64_t from = 0; !rc && from < end; from += SORTED_ROWS)
            rc = move_some(ss, reader, from, &out, e);
        rc = rc ? rc : rows_flush(&out, e);
        rows_close(&out);
    }
    engine_give(ss->store, reader);
    return rc;
}

/* Adds the rows of `history` to the sums, in new rows that replace all others. */
static int add_sums(struct store_session *ss, struct err *e)
{
    struct buf *b = &ss->writer->text;
    buf_str(b, "INSERT INTO ");
    session_put_name(b, ss, &sums);
    buf_str(b, " SELECT (SELECT coalesce(max(made), 0) + 1 FROM ");
    session_put_name(b, ss, &sums);
    buf_str(b, "), kind, app, name, sum(sessions), ");
    put_sums_from(b, "");
    put_new_sums(b, ss);
    buf_str(b, " UNION ALL SELECT kind, app, name, sessions, calls, total FROM ");
    session_put_name(b, ss, &sums);
    buf_str(b, ") GROUP BY kind, app, name HAVING sum(sessions) > 0");
    int rc = run(ss, NULL, 0, e);
    if (rc)
        return rc;
    buf_str(b, "DELETE FROM ");
    session_put_name(b, ss, &sums);
    buf_str(b, " WHERE made < (SELECT max(made) FROM ");
    session_put_name(b, ss, &sums);
    buf_char(b, ')');
    return run(ss, NULL, 0, e);
}

/* Moves all rows of `history`, in a transaction of its own. */
static int move_rows(struct store_session *ss, struct err *e)
{
    int rc = write_begin_waiting(ss, e);
    if (rc)
        return rc;
    rc = make_tables(ss, e);
    if (rc == 0)
        rc = copy_rows(ss, e);
    if (rc == 0)
        rc = add_sums(ss, e);
    if (rc == 0) {
        buf_str(&ss->writer->text, "DELETE FROM ");
        session_name(&ss->writer->text, ss, TABLE_history);
        rc = run(ss, NULL, 0, e);
    }
    if (rc) {
        write_rollback(ss);
        return rc;
    }
    rc = write_commit(ss, NULL, 0, e);
    if (rc == 0)
        ss->have_named = (unsigned char)named()->column_count;
    return rc;
}

/* Moves the rows if there are many. A failure loses nothing: the rows stay where they are, and are
 * moved after as many more. */
static void move_many(struct store_session *ss)
{
    const size_t most = ss->store->history_most;
    struct err why = {0};
    pthread_mutex_lock(&ss->write_lock);
    bool many = ss->writer && ss->writer->unmoved >= most;
    if (many)
        ss->writer->unmoved = 0;
    pthread_mutex_unlock(&ss->write_lock);
    if (many && move_rows(ss, &why))
        log_warn("the history of workspace %s could not be stored by name, and is read more "
                 "slowly: %s",
                 ss->at.workspace, why.text);
}

/* ---- adding rows ----------------------------------------------------------------------------- */

static int put_row(struct rows *r, const struct store_chunk *c, size_t row, const char *session,
                   struct err *e)
{
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    rows_text(r, 0, session, strlen(session));
    for (unsigned i = 1; i < def->column_count; i++) {
        const struct store_vec *v = &c->columns[i];
        if (!store_known(v, row))
            rows_null(r, i);
        else if (def->columns[i].type == STORE_INT)
            rows_int(r, i, v->ints[row]);
        else if (def->columns[i].type == STORE_REAL)
            rows_real(r, i, v->reals[row]);
        else
            rows_text(r, i, v->texts[row].at, v->texts[row].len);
    }
    return rows_end(r, e);
}

/* Notes a session that has or may have rows. *news: it was not noted before. */
static int note_kept(struct writer *w, const char *session, size_t len, bool *news)
{
    const uint64_t hash = intern_hash(session, len);
    uint32_t index;
    bool added;
    int rc = keyed_put(&w->kept, &hash, &index, &added);
    *news = index && added;
    return rc;
}

/* Reads which sessions have rows, and how many rows were not moved yet. */
static int read_kept(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    bool news;
    int more = 1;
    keyed_fini(&w->kept);
    keyed_init(&w->kept, sizeof(uint64_t), sizeof(uint64_t), KEPT_MAX);
    w->unmoved = 0;
    buf_clear(&w->text);
    buf_str(&w->text,
            "SELECT session, sum(unmoved)::BIGINT FROM (SELECT session, 1 AS unmoved FROM ");
    session_table(&w->text, ss, TABLE_history);
    if (have_named(ss)) {
        buf_str(&w->text, " UNION ALL SELECT session, 0 FROM ");
        session_put_name(&w->text, ss, named());
    }
    buf_str(&w->text, ") GROUP BY session");
    int rc = sql_open(&q, ss->store->duck, w->connection->handle,
                      &(struct sql_bound){buf_cstr(&w->text), NULL, 0}, e);
    while (!rc && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; !rc && i < q.page.rows; i++) {
            struct store_text id = sql_text(&q, 0, i);
            rc = note_kept(w, id.at, id.len, &news) ? err_nomem(e) : 0;
            w->unmoved += (size_t)sql_int(&q, 1, i);
        }
    sql_close(&q);
    rc = rc ? rc : more;
    w->kept_read = rc == 0;
    return rc;
}

static int delete_from(struct store_session *ss, const struct table *t,
                       const struct sql_arg *session, struct err *e)
{
    struct buf *b = &ss->writer->text;
    buf_clear(b);
    buf_str(b, "DELETE FROM ");
    session_put_name(b, ss, t);
    buf_str(b, " WHERE session = $1");
    return run(ss, session, 1, e);
}

/* Removes a session's rows. Moved rows are subtracted from the sums. */
static int remove_rows(struct store_session *ss, const char *session, struct err *e)
{
    struct buf *b = &ss->writer->text;
    const struct sql_arg of = SQL_TEXT(session, strlen(session));
    int rc = ss->have[TABLE_history] ? delete_from(ss, store_table(TABLE_history), &of, e) : 0;
    if (rc || !have_named(ss))
        return rc;
    buf_str(b, "INSERT INTO ");
    session_put_name(b, ss, &sums);
    buf_str(b, " SELECT (SELECT coalesce(max(made), 0) FROM ");
    session_put_name(b, ss, &sums);
    buf_str(b, "), coalesce(kind, 0) AS of_kind, app, name, -1, ");
    put_sums_from(b, "-");
    put_moved(b, ss, NULL);
    buf_str(b, ") WHERE session = $1 GROUP BY of_kind, app, name");
    rc = run(ss, &of, 1, e);
    return rc ? rc : delete_from(ss, named(), &of, e);
}

/* Rows of a session that has none yet are added without searching all rows. */
static int replace_rows(struct store_session *ss, const char *session, const struct store_chunk *c,
                        struct err *e)
{
    struct writer *w = ss->writer;
    struct rows *r;
    bool news = false;
    int rc = w->kept_read ? 0 : read_kept(ss, e);
    if (!rc && note_kept(w, session, strlen(session), &news))
        rc = err_nomem(e);
    if (!rc && !news)
        rc = remove_rows(ss, session, e);
    w->unmoved += c->rows;
    rc = rc || !c->rows ? rc : write_table(ss, TABLE_history, &r, e);
    for (size_t i = 0; !rc && i < c->rows; i++)
        rc = put_row(r, c, i, session, e);
    return rc;
}

static int history_ok(const struct store_history *h, struct err *e)
{
    const unsigned columns = store_queries[QUERY_kernel_history].column_count;
    if (!store_id_ok(h->session))
        return err_set(e, GPUFL_E_INVAL, "%.64s is no name of a session", h->session);
    if (h->rows->rows && h->rows->column_count != columns)
        return err_set(e, GPUFL_E_INVAL, "rows of history have %u columns", columns);
    return 0;
}

/* Keeps all in one transaction, because for a small session most of the cost is that of a
 * transaction and its write to the disk. */
int history_keep(struct store *s, const char *workspace, const struct store_history *of,
                 size_t count, struct err *e)
{
    struct store_session *ss;
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = history_ok(&of[i], e);
    if (rc == 0)
        rc = session_get_history(s, workspace, true, &ss, e);
    if (rc)
        return rc;
    rc = write_begin_waiting(ss, e);
    if (!rc) {
        for (size_t i = 0; !rc && i < count; i++)
            rc = replace_rows(ss, of[i].session, of[i].rows, e);
        if (rc)
            write_rollback(ss);
        else
            rc = write_commit(ss, NULL, 0, e);
    }
    if (rc == 0)
        move_many(ss);
    session_put(ss);
    return rc;
}
