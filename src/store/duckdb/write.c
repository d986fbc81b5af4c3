/* write.c - a transaction of a session: rows in, all of it or nothing.
 *
 * Tables are made when their first row comes, inside the same transaction: a file
 * has those that its session needs, and an older one gets new tables by itself. New
 * columns of old tables are added before a transaction, in one of their own.
 *
 * What the writer remembers of the file is dropped where a transaction fails, and
 * read again by the next one. [the session's writer] */
#include "store/duckdb/write.h"

#include "base/alloc.h"
#include "store/text.h"

#include <string.h>

static int no_memory(struct err *e)
{
    return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
}

static struct writer *writer_of(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    if (w && w->connection)
        return w;
    err_set(e, GPUFL_E_STATE, "session %s: no transaction has begun", ss->id);
    return NULL;
}

/* ---- tables -------------------------------------------------------------------------------- */

static int make_table(struct store_session *ss, unsigned table, struct err *e)
{
    struct writer *w = ss->writer;
    buf_clear(&w->text);
    session_create_table(&w->text, ss, table);
    session_note_table(&w->text, ss, table);
    int code = sql_run(ss->store->duck, w->connection->handle, buf_cstr(&w->text), e);
    w->made[table] = !code;
    return code;
}

int write_table(struct store_session *ss, unsigned table, struct rows **out, struct err *e)
{
    struct writer *w = ss->writer;
    *out = w->tables[table];
    if (*out)
        return 0;
    int code = ss->have[table] || w->made[table] ? 0 : make_table(ss, table, e);
    if (code)
        return code;
    struct rows *r = mem_zalloc(sizeof *r);
    if (!r)
        return no_memory(e);
    code = rows_open(r, ss->store->duck, w->connection->handle, ss->alias, store_table(table), e);
    if (code) {
        mem_free(r);
        return code;
    }
    *out = w->tables[table] = r;
    return 0;
}

/* Columns that this version has and the file has not. */
static int upgrade(struct store_session *ss, struct connection *c, struct buf *text, struct err *e)
{
    bool any = false;
    buf_clear(text);
    buf_str(text, "BEGIN;");
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (ss->have[i] && ss->have[i] < store_table(i)->column_count) {
            any = true;
            session_add_columns(text, ss, i);
            session_note_table(text, ss, i);
        }
    buf_str(text, "COMMIT");
    if (!any)
        return 0;
    int code = sql_run(ss->store->duck, c->handle, buf_cstr(text), e);
    if (code) {
        engine_undo(ss->store, c);
        return code;
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (ss->have[i] && ss->have[i] < store_table(i)->column_count)
            ss->have[i] = (unsigned char)store_table(i)->column_count;
    return 0;
}

/* ---- what the writer remembers ---------------------------------------------------------------- */

static int load_ids_of(struct store_session *ss, unsigned table, int64_t dictionary, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    bool added;
    if (!ss->have[table])
        return 0;
    buf_clear(&w->text);
    buf_str(&w->text, "SELECT \"id\" FROM ");
    session_name(&w->text, ss, table);
    int code = sql_open(&q, ss->store->duck, w->connection->handle, buf_cstr(&w->text), NULL, 0, e);
    int more = code ? code : 1;
    while (!code && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; !code && i < q.page.rows; i++)
            code = ids_add(&w->ids, dictionary, sql_int(&q, 0, i), &added);
    sql_close(&q);
    if (code == GPUFL_E_NOMEM)
        return no_memory(e);
    return more < 0 ? more : code;
}

static int load(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    if (w->loaded)
        return 0;
    ids_fini(&w->ids);
    int code = load_ids_of(ss, TABLE_names, RECORD_name, e);
    for (unsigned i = 0; !code && i < RECORD_COUNT; i++)
        if (records[i].kind == RECORD_KIND_DICT)
            code = load_ids_of(ss, i, i, e);
    ids_commit(&w->ids);
    code = code ? code : write_sums_load(ss, e);
    w->loaded = !code;
    return code;
}

/* ---- begin, commit, rollback ------------------------------------------------------------------ */

static int make_writer(struct store_session *ss, struct err *e)
{
    if (ss->writer)
        return 0;
    struct writer *w = mem_zalloc(sizeof *w);
    if (!w)
        return no_memory(e);
    ids_init(&w->ids);
    kernel_sums_init(&w->kernels);
    lane_sums_init(&w->lanes);
    buf_init(&w->text, SQL_TEXT_MAX);
    ss->writer = w;
    return 0;
}

static int begin(struct store_session *ss, struct connection *c, struct err *e)
{
    struct writer *w = ss->writer;
    int code = upgrade(ss, c, &w->text, e);
    code = code ? code : sql_run(ss->store->duck, c->handle, "BEGIN", e);
    if (code)
        return code;
    w->connection = c;
    code = load(ss, e);
    if (code) {
        w->connection = NULL;
        engine_undo(ss->store, c);
    }
    return code;
}

/* [write_lock held; let go of where this fails] */
static int begin_locked(struct store_session *ss, struct err *e)
{
    struct connection *c;
    int code = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->id)
                           : make_writer(ss, e);
    code = code ? code : engine_take(ss->store, &c, e);
    if (!code) {
        code = begin(ss, c, e);
        if (code)
            engine_give(ss->store, c);
    }
    if (code)
        pthread_mutex_unlock(&ss->write_lock);
    return code;
}

int write_begin(struct store_session *ss, struct err *e)
{
    if (pthread_mutex_trylock(&ss->write_lock))
        return err_set(e, GPUFL_E_BUSY, "session %s is being written or copied", ss->id);
    return begin_locked(ss, e);
}

int write_begin_waiting(struct store_session *ss, struct err *e)
{
    pthread_mutex_lock(&ss->write_lock);
    return begin_locked(ss, e);
}

/* After COMMIT or ROLLBACK. */
static void end(struct store_session *ss)
{
    struct writer *w = ss->writer;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->tables[i]) {
            rows_close(w->tables[i]);
            mem_free(w->tables[i]);
            w->tables[i] = NULL;
        }
    memset(w->made, 0, sizeof w->made);
    engine_give(ss->store, w->connection);
    w->connection = NULL;
    pthread_mutex_unlock(&ss->write_lock);
}

void write_rollback(struct store_session *ss)
{
    struct writer *w = writer_of(ss, NULL);
    if (!w)
        return;
    ids_rollback(&w->ids);
    w->loaded = false;
    engine_undo(ss->store, w->connection);
    end(ss);
}

static int put_positions(struct store_session *ss, const struct store_position *p, unsigned n,
                         struct err *e)
{
    struct writer *w = ss->writer;
    struct rows *r;
    int code = 0;
    if (!n)
        return 0;
    if (ss->have[TABLE_position]) {
        buf_clear(&w->text);
        buf_str(&w->text, "DELETE FROM ");
        session_name(&w->text, ss, TABLE_position);
        code = sql_run(ss->store->duck, w->connection->handle, buf_cstr(&w->text), e);
    }
    code = code ? code : write_table(ss, TABLE_position, &r, e);
    for (unsigned i = 0; !code && i < n; i++) {
        rows_text(r, 0, p[i].channel, strnlen(p[i].channel, sizeof p[i].channel));
        rows_int(r, 1, p[i].offset);
        code = rows_end(r, e);
    }
    return code;
}

static int flush_all(struct writer *w, struct err *e)
{
    int code = 0;
    for (unsigned i = 0; !code && i < TABLE_COUNT; i++)
        if (w->tables[i])
            code = rows_flush(w->tables[i], e);
    return code;
}

int write_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                 struct err *e)
{
    struct writer *w = writer_of(ss, e);
    if (!w)
        return GPUFL_E_STATE;
    int code = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->id)
                           : put_positions(ss, p, n, e);
    code = code ? code : write_sums_commit(ss, e);
    code = code ? code : flush_all(w, e);
    code = code ? code : sql_run(ss->store->duck, w->connection->handle, "COMMIT", e);
    if (code) {
        write_rollback(ss);
        return code;
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->made[i])
            ss->have[i] = (unsigned char)store_table(i)->column_count;
    ids_commit(&w->ids);
    end(ss);
    return 0;
}

void write_close(struct store_session *ss)
{
    struct writer *w = ss->writer;
    if (!w)
        return;
    write_rollback(ss);
    ids_fini(&w->ids);
    kernel_sums_fini(&w->kernels);
    rowset_fini(&w->lanes);
    buf_fini(&w->text);
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
    int code = engine_take(ss->store, &c, e), more = 0;
    if (code)
        return code;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SELECT channel, \"offset\" FROM ");
    session_table(&text, ss, TABLE_position);
    code = sql_open(&q, ss->store->duck, c->handle, buf_cstr(&text), NULL, 0, e);
    while (!code && (more = sql_next(&q, e)) > 0)
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
    return more < 0 ? more : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int write_names(struct store_session *ss, const uint32_t *ids, const char *const *texts,
                const size_t *lens, size_t n, struct err *e)
{
    struct writer *w = writer_of(ss, e);
    struct rows *r;
    bool added;
    if (!w)
        return GPUFL_E_STATE;
    int code = n ? write_table(ss, TABLE_names, &r, e) : 0;
    for (size_t i = 0; !code && i < n; i++) {
        if (ids_add(&w->ids, RECORD_name, ids[i], &added))
            return no_memory(e);
        if (!added)
            continue;
        struct store_text text = text_clean(&w->text, texts[i], lens[i]);
        if (buf_error(&w->text))
            return no_memory(e);
        rows_int(r, 0, ids[i]);
        rows_text(r, 1, text.at, text.len);
        code = rows_end(r, e);
    }
    return code;
}

/* Rows of a dictionary whose ids are new. */
static int append_dictionary(struct store_session *ss, struct rows *r, const struct wire_batch *b,
                             struct err *e)
{
    int code = 0;
    for (size_t i = 0; !code && i < b->rows; i++) {
        bool added;
        int64_t id = b->col[0] ? b->col[0][i] : CELL_NULL;
        if (id == CELL_NULL)
            continue;
        if (ids_add(&ss->writer->ids, b->type, id, &added))
            return no_memory(e);
        if (!added)
            continue;
        for (unsigned c = 0; c < r->table->column_count; c++)
            rows_int(r, c, b->col[c] ? b->col[c][i] : CELL_NULL);
        code = rows_end(r, e);
    }
    return code;
}

int write_append(struct store_session *ss, const struct wire_batch *b, struct err *e)
{
    struct writer *w = writer_of(ss, e);
    struct rows *r;
    if (!w)
        return GPUFL_E_STATE;
    int code = b->rows ? write_table(ss, b->type, &r, e) : 0;
    if (code || !b->rows)
        return code;
    if (records[b->type].kind == RECORD_KIND_DICT)
        return append_dictionary(ss, r, b, e);
    code = rows_put_columns(r, b->col, b->rows, e);
    return code || b->type != RECORD_kernel ? code : write_sums_kernels(ss, b, e);
}

int write_tiles(struct store_session *ss, int level, const struct tile *rows, size_t n,
                struct err *e)
{
    struct rows *r;
    if (!writer_of(ss, e))
        return GPUFL_E_STATE;
    if (level < 0 || level >= TILE_LEVELS)
        return err_set(e, GPUFL_E_INVAL, "there is no level %d of tiles", level);
    int code = n ? write_table(ss, TABLE_tile_0 + (unsigned)level, &r, e) : 0;
    if (!code && level == 0 && lane_sums_tiles(&ss->writer->lanes, rows, n))
        code = no_memory(e);
    for (size_t i = 0; !code && i < n; i++) {
        const struct tile *t = &rows[i];
        const int64_t cells[] = {t->lane,    t->bucket, t->events,   t->busy,
                                 t->longest, t->name,   t->name_busy};
        for (unsigned c = 0; c < sizeof cells / sizeof *cells; c++)
            rows_int(r, c, cells[c]);
        code = rows_end(r, e);
    }
    return code;
}

int write_spans(struct store_session *ss, int level, const struct tile_span *rows, size_t n,
                struct err *e)
{
    struct rows *r;
    if (!writer_of(ss, e))
        return GPUFL_E_STATE;
    if (level < 0 || level >= TILE_LEVELS)
        return err_set(e, GPUFL_E_INVAL, "there is no level %d of spans", level);
    int code = n ? write_table(ss, TABLE_span_0 + (unsigned)level, &r, e) : 0;
    if (!code && lane_sums_spans(&ss->writer->lanes, rows, n))
        code = no_memory(e);
    for (size_t i = 0; !code && i < n; i++) {
        const struct tile_span *t = &rows[i];
        const int64_t cells[] = {t->lane, t->start, t->duration, t->name, t->ref};
        for (unsigned c = 0; c < sizeof cells / sizeof *cells; c++)
            rows_int(r, c, cells[c]);
        code = rows_end(r, e);
    }
    return code;
}

int write_unknown(struct store_session *ss, const char *channel, const char *line, size_t len,
                  struct err *e)
{
    struct writer *w = writer_of(ss, e);
    struct rows *r;
    if (!w)
        return GPUFL_E_STATE;
    int code = write_table(ss, TABLE_unknown, &r, e);
    if (code)
        return code;
    struct store_text text = text_clean(&w->text, channel, strlen(channel));
    rows_text(r, 0, text.at, text.len);
    rows_text(r, 1, line, len);
    return rows_end(r, e);
}
