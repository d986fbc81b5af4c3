/* write.c - runs a transaction of a session with a file: all of its rows count, or none.
 *
 * A table is made when its first row comes, inside that transaction: a file has only the tables
 * that its session needs, and an older file gets new tables in this way, too. New columns of old
 * tables are added before a transaction, in a separate transaction.
 *
 * The writer's state is dropped when a transaction fails, and read again by the next one. [the
 * session's writer] */
#include "store/duckdb/write.h"

#include "base/alloc.h"

#include <string.h>

static struct writer *writer_of(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    if (w && w->connection)
        return w;
    err_set(e, GPUFL_E_STATE, "session %s: no transaction has begun", ss->at.id);
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int make_table(struct store_session *ss, unsigned table, struct err *e)
{
    struct writer *w = ss->writer;
    buf_clear(&w->text);
    session_make_table(&w->text, ss, store_table(table), 0);
    session_note_table(&w->text, ss, table);
    int rc = sql_run(ss->store->duck, w->connection->handle, buf_cstr(&w->text), e);
    w->made[table] = !rc;
    return rc;
}

int write_table(struct store_session *ss, unsigned table, struct rows **out, struct err *e)
{
    struct writer *w = ss->writer;
    *out = w->tables[table];
    if (*out)
        return 0;
    int rc = ss->have[table] || w->made[table] ? 0 : make_table(ss, table, e);
    if (rc)
        return rc;
    struct rows *r = mem_zalloc(sizeof *r);
    if (!r)
        return err_nomem(e);
    rc = rows_open(r, ss->store->duck, w->connection->handle, ss->alias, store_table(table), e);
    if (rc) {
        mem_free(r);
        return rc;
    }
    *out = w->tables[table] = r;
    return 0;
}

/* Adds the columns that this version has and the file lacks. */
static int upgrade(struct store_session *ss, struct connection *c, struct buf *text, struct err *e)
{
    bool any = false;
    buf_clear(text);
    buf_str(text, "BEGIN;");
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (ss->have[i] && ss->have[i] < store_table(i)->column_count) {
            any = true;
            session_make_table(text, ss, store_table(i), ss->have[i]);
            session_note_table(text, ss, i);
        }
    buf_str(text, "COMMIT");
    if (!any)
        return 0;
    int rc = sql_run(ss->store->duck, c->handle, buf_cstr(text), e);
    if (rc) {
        engine_undo(ss->store, c);
        return rc;
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (ss->have[i] && ss->have[i] < store_table(i)->column_count)
            ss->have[i] = (unsigned char)store_table(i)->column_count;
    return 0;
}

/* ---- rows, and what a file has already ------------------------------------------------------- */

static int put_row(struct store_session *ss, unsigned table, const int64_t *cells,
                   const struct store_text *texts, struct err *e)
{
    struct rows *r;
    int rc = write_table(ss, table, &r, e);
    if (rc)
        return rc;
    for (unsigned c = 0; c < r->table->column_count; c++) {
        enum cell_type type = r->table->columns[c].type;
        if (type == CELL_TEXT || type == CELL_BYTES)
            rows_text(r, c, texts[c].at, texts[c].len);
        else
            rows_int(r, c, cells[c]); /* the bits of a real: no cell is -0.0 */
    }
    return rows_end(r, e);
}

static int put_columns(struct store_session *ss, unsigned table, const int64_t *const *columns,
                       size_t n, struct err *e)
{
    struct rows *r;
    int rc = write_table(ss, table, &r, e);
    return rc ? rc : rows_put_columns(r, columns, n, e);
}

/* Runs w->text. */
static int ask(struct store_session *ss, const struct sql_arg *args, size_t n, ask_take take,
               void *arg, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    int rc = sql_open(&q, ss->store->duck, w->connection->handle,
                      &(struct sql_bound){buf_cstr(&w->text), args, n}, e);
    int more = rc ? rc : 1;
    while (!rc && (more = sql_next(&q, e)) > 0)
        rc = take(arg, &q.page);
    sql_close(&q);
    return more < 0 ? more : rc;
}

static int read_dictionary(struct store_session *ss, unsigned table, unsigned columns,
                           ask_take take, void *arg, struct err *e)
{
    struct buf *text = &ss->writer->text;
    if (!ss->have[table])
        return 0;
    buf_clear(text);
    for (unsigned i = 0; i < columns; i++) {
        buf_str(text, i ? ", " : "SELECT ");
        sql_name(text, store_table(table)->columns[i].name);
    }
    buf_str(text, " FROM ");
    session_name(text, ss, table);
    return ask(ss, NULL, 0, take, arg, e);
}

/* Rows keep their place in the table when their cells change. */
static int amend_row(struct store_session *ss, unsigned table, int64_t place, const int64_t *cells,
                     struct err *e)
{
    struct writer *w = ss->writer;
    const struct table *t = store_table(table);
    struct sql_arg args[RECORD_MAX_COLUMNS];
    (void)place;
    buf_clear(&w->text);
    buf_str(&w->text, "UPDATE ");
    session_name(&w->text, ss, table);
    for (unsigned i = 0; i < t->column_count; i++) {
        args[i] = SQL_INT(cells[i]);
        args[i].value.null = cells[i] == CELL_NULL;
        if (i == 0)
            continue;
        buf_str(&w->text, i > 1 ? ", " : " SET ");
        sql_name(&w->text, t->columns[i].name);
        buf_printf(&w->text, " = $%u", i + 1);
    }
    buf_str(&w->text, " WHERE \"id\" = $1");
    return sql_run_with(ss->store->duck, w->connection->handle, buf_cstr(&w->text), args,
                        t->column_count, e);
}

struct slices {
    int64_t *count, *summed;
};

static int take_slices(void *arg, const struct page *p)
{
    const struct slices *s = arg;
    *s->count = page_int(p, 0, 0);
    *s->summed = page_int(p, 1, 0);
    return 0;
}

static int read_slices(struct store_session *ss, int64_t *slices, int64_t *summed, struct err *e)
{
    struct buf *text = &ss->writer->text;
    struct slices s = {slices, summed};
    *slices = *summed = 0;
    if (!ss->have[TABLE_kernel_slice])
        return 0;
    buf_clear(text);
    buf_str(text, "SELECT count(*), coalesce(max(first_row + \"rows\"), 0)::BIGINT FROM ");
    session_name(text, ss, TABLE_kernel_slice);
    return ask(ss, NULL, 0, take_slices, &s, e);
}

/* The file numbers the rows itself (rowid), since nothing is ever deleted from that table. */
static int read_rest(struct store_session *ss, int64_t summed, ask_take take, void *arg,
                     struct err *e)
{
    struct buf *text = &ss->writer->text;
    const struct sql_arg from[] = {SQL_INT(summed)};
    if (!ss->have[RECORD_kernel])
        return 0;
    buf_clear(text);
    buf_str(text, "SELECT start, duration, config, stream FROM ");
    session_name(text, ss, RECORD_kernel);
    buf_str(text, " WHERE rowid >= $1");
    return ask(ss, from, 1, take, arg, e);
}

const struct append_engine write_engine = {put_row,         put_columns, amend_row,
                                           read_dictionary, read_slices, read_rest};

/* ---- begin, commit, rollback ----------------------------------------------------------------- */

static int make_writer(struct store_session *ss, struct err *e)
{
    if (ss->writer)
        return 0;
    struct writer *w = mem_zalloc(sizeof *w);
    if (!w)
        return err_nomem(e);
    append_init(&w->append, &write_engine, ss);
    buf_init(&w->text, SQL_TEXT_MAX);
    ss->writer = w;
    return 0;
}

static int begin(struct store_session *ss, struct connection *c, struct err *e)
{
    struct writer *w = ss->writer;
    int rc = upgrade(ss, c, &w->text, e);
    if (rc == 0)
        rc = sql_run(ss->store->duck, c->handle, "BEGIN", e);
    if (rc)
        return rc;
    w->connection = c;
    rc = append_load(&w->append, e);
    if (rc) {
        w->connection = NULL;
        engine_undo(ss->store, c);
        return rc;
    }
    ss->at.append = &w->append;
    return 0;
}

/* Begins a transaction. [write_lock held; released where this fails] */
static int begin_locked(struct store_session *ss, struct err *e)
{
    struct connection *c;
    int rc = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id)
                         : make_writer(ss, e);
    if (rc == 0)
        rc = engine_take(ss->store, &c, e);
    if (!rc) {
        rc = begin(ss, c, e);
        if (rc)
            engine_discard(ss->store, c);
    }
    if (rc)
        pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

int write_begin(struct store_session *ss, struct err *e)
{
    if (pthread_mutex_trylock(&ss->write_lock))
        return err_set(e, GPUFL_E_BUSY, "session %s is being written or copied", ss->at.id);
    return begin_locked(ss, e);
}

int write_begin_waiting(struct store_session *ss, struct err *e)
{
    pthread_mutex_lock(&ss->write_lock);
    return begin_locked(ss, e);
}

int write_begin_alone(struct store_session *ss, struct err *e)
{
    pthread_mutex_lock(&ss->write_lock);
    struct connection *c;
    int rc = make_writer(ss, e);
    if (rc == 0)
        rc = engine_take(ss->store, &c, e);
    if (!rc) {
        rc = sql_run(ss->store->duck, c->handle, "BEGIN", e);
        if (rc)
            engine_discard(ss->store, c);
    }
    if (rc) {
        pthread_mutex_unlock(&ss->write_lock);
        return rc;
    }
    ss->writer->connection = c;
    append_rollback(&ss->writer->append); /* `append` has no state of these rows */
    return 0;
}

/* Gives up what the transaction used, after COMMIT or ROLLBACK. failed: the connection is not used
 * again. */
static void end(struct store_session *ss, bool failed)
{
    struct writer *w = ss->writer;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->tables[i]) {
            rows_close(w->tables[i]);
            mem_free(w->tables[i]);
            w->tables[i] = NULL;
        }
    memset(w->made, 0, sizeof w->made);
    if (failed)
        engine_discard(ss->store, w->connection);
    else
        engine_give(ss->store, w->connection);
    w->connection = NULL;
    ss->at.append = NULL;
    pthread_mutex_unlock(&ss->write_lock);
}

void write_rollback(struct store_session *ss)
{
    struct writer *w = writer_of(ss, NULL);
    if (!w)
        return;
    append_rollback(&w->append);
    engine_undo(ss->store, w->connection);
    end(ss, true);
}

static int put_positions(struct store_session *ss, const struct store_position *p, unsigned n,
                         struct err *e)
{
    struct writer *w = ss->writer;
    struct rows *r;
    int rc = 0;
    if (!n)
        return 0;
    if (ss->have[TABLE_position]) {
        buf_clear(&w->text);
        buf_str(&w->text, "DELETE FROM ");
        session_name(&w->text, ss, TABLE_position);
        rc = sql_run(ss->store->duck, w->connection->handle, buf_cstr(&w->text), e);
    }
    if (rc == 0)
        rc = write_table(ss, TABLE_position, &r, e);
    for (unsigned i = 0; !rc && i < n; i++) {
        rows_text(r, 0, p[i].channel, strnlen(p[i].channel, sizeof p[i].channel));
        rows_int(r, 1, p[i].offset);
        rc = rows_end(r, e);
    }
    return rc;
}

static int flush_all(struct writer *w, struct err *e)
{
    int rc = 0;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (w->tables[i])
            rc = rows_flush(w->tables[i], e);
    return rc;
}

int write_flush(struct store_session *ss, struct err *e)
{
    return flush_all(ss->writer, e);
}

int write_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                 struct err *e)
{
    struct writer *w = writer_of(ss, e);
    if (!w)
        return GPUFL_E_STATE;
    int rc = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id)
                         : put_positions(ss, p, n, e);
    if (rc == 0)
        rc = append_finish(&w->append, e);
    if (rc == 0)
        rc = flush_all(w, e);
    if (rc == 0)
        rc = sql_run(ss->store->duck, w->connection->handle, "COMMIT", e);
    if (rc) {
        write_rollback(ss);
        return rc;
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->made[i])
            ss->have[i] = (unsigned char)store_table(i)->column_count;
    append_commit(&w->append);
    end(ss, false);
    return 0;
}

void write_close(struct store_session *ss)
{
    struct writer *w = ss->writer;
    if (!w)
        return;
    write_rollback(ss);
    append_fini(&w->append);
    buf_fini(&w->text);
    keyed_fini(&w->kept);
    mem_free(w);
    ss->writer = NULL;
}

int write_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                    struct err *e)
{
    struct connection *c;
    struct buf text;
    struct sql q;
    unsigned room = *count;
    *count = 0;
    int rc = engine_take(ss->store, &c, e), more = 0;
    if (rc)
        return rc;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SELECT channel, \"offset\" FROM ");
    session_table(&text, ss, TABLE_position);
    rc = sql_open(&q, ss->store->duck, c->handle, &(struct sql_bound){buf_cstr(&text), NULL, 0}, e);
    while (!rc && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; i < q.page.rows && *count < room; i++) {
            struct store_text channel = sql_text(&q, 0, i);
            struct store_position *at = &out[(*count)++];
            memset(at, 0, sizeof *at);
            if (channel.len < sizeof at->channel)
                memcpy(at->channel, channel.at, channel.len);
            at->offset = sql_int(&q, 1, i);
        }
    sql_close(&q);
    buf_fini(&text);
    engine_give(ss->store, c);
    return more < 0 ? more : rc;
}
