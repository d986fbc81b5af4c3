/* write.c - runs a transaction of a session: all of its rows count, or none.
 *
 * Rows are collected by table and sent in large blocks, at the latest with the commit. They count
 * once `commits` has a row with their number. If the answer to that row is lost, the server is
 * asked what it has; if it does not answer either, the transaction has failed. The next one begins
 * only after the positions have been read again, so that no rows are sent twice.
 *
 * The writer's state is dropped when a transaction fails or another server wrote, and is read again
 * by the next one. A transaction holds the session's turn (turn.c), so that one of several servers
 * writes at a time. [the session's writer] */
#include "store/clickhouse/small.h"

#include "base/alloc.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <string.h>

/* Limits the bytes of collected rows before some are sent, and of a block. */
enum { GATHER_MAX = 48 << 20, BODY_MAX = 512 << 20 };

/* A session with this many ranges of numbers has too many: each change of the writing process, and
 * each failure, adds one, and questions name all of them. */
enum { RANGES_MANY = 200 };

static struct writer *writer_of(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    if (w && w->begun)
        return w;
    err_set(e, GPUFL_E_STATE, "session %s: no transaction has begun", ss->at.id);
    return NULL;
}

/* ---- rows to their tables -------------------------------------------------------------------- */

static int send_place(struct store_session *ss, struct rows *r, struct err *e)
{
    struct writer *w = ss->writer;
    if (!r->count)
        return 0;
    int rc = w->next.small ? small_grow(ss, e) : 0;
    if (rc == 0)
        rc = click_rows_send(r, ss, w->number, &w->body, e);
    click_rows_clear(r, r->first + (int64_t)r->count);
    return rc;
}

/* Sends the collected rows; those of a small session are put into `together` instead. */
static int send_all(struct store_session *ss, struct buf *together, struct err *e)
{
    struct writer *w = ss->writer;
    bool small = w->next.small && small_fits(w);
    int rc = small ? small_gather(ss, together, e) : 0;
    for (unsigned i = 0; !rc && !small && i < TABLE_COUNT; i++)
        if (w->places[i])
            rc = send_place(ss, w->places[i], e);
    w->gathered = 0;
    return rc;
}

/* Sends the rows of the largest place if there are too many. */
static int make_room(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct rows *largest = NULL;
    size_t all = 0;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        struct rows *r = w->places[i];
        all += r ? click_rows_bytes(r) : 0;
        if (r && (!largest || click_rows_bytes(r) > click_rows_bytes(largest)))
            largest = r;
    }
    w->gathered = all;
    if (all < GATHER_MAX)
        return 0;
    w->gathered -= click_rows_bytes(largest);
    return send_place(ss, largest, e);
}

/* Gets the collected rows of a table's place, with room for n more. */
static int place_rows(struct store_session *ss, unsigned table, size_t n, struct rows **out,
                      struct err *e)
{
    struct writer *w = ss->writer;
    unsigned place = place_of(table);
    struct rows *r = w->places[place];
    int rc = 0;
    if (!r) {
        r = mem_alloc(sizeof *r);
        if (!r)
            return err_nomem(e);
        click_rows_init(r, place);
        click_rows_clear(r, w->next.rows[place]);
        w->places[place] = r;
    }
    if (r->count + n > ROWS_BLOCK_MAX)
        rc = send_place(ss, r, e);
    w->gathered += n * (r->table->column_count + 4) * sizeof(int64_t);
    if (!rc && w->gathered >= GATHER_MAX)
        rc = make_room(ss, e);
    *out = r;
    return rc;
}

static void drop_rows(struct writer *w)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (w->places[i]) {
            click_rows_fini(w->places[i]);
            mem_free(w->places[i]);
            w->places[i] = NULL;
        }
    w->gathered = 0;
}

/* ---- rows, and what the server has already --------------------------------------------------- */

/* Adds a row. mark: as in click_rows_end. */
static int put_marked(struct store_session *ss, unsigned table, const int64_t *cells,
                      const struct store_text *texts, int64_t mark, struct err *e)
{
    struct rows *r;
    int rc = place_rows(ss, table, 1, &r, e);
    if (rc)
        return rc;
    for (unsigned c = 0; c < r->table->column_count; c++) {
        enum cell_type type = r->table->columns[c].type;
        if (type == CELL_TEXT || type == CELL_BYTES) {
            ss->writer->gathered += texts[c].len;
            click_rows_text(r, c, texts[c].at, texts[c].len);
        } else {
            click_rows_int(r, c, cells[c]);
        }
    }
    return click_rows_end(r, mark) ? err_nomem(e) : 0;
}

static int put_row(struct store_session *ss, unsigned table, const int64_t *cells,
                   const struct store_text *texts, struct err *e)
{
    int64_t *rows = &ss->writer->next.rows[table];
    int rc =
        put_marked(ss, table, cells, texts, place_completed(table) ? *rows : place_level(table), e);
    ++*rows;
    return rc;
}

static int amend_row(struct store_session *ss, unsigned table, int64_t place, const int64_t *cells,
                     struct err *e)
{
    static const struct store_text none[1]; /* all its columns are numbers */
    return put_marked(ss, table, cells, none, place, e);
}

static int put_columns(struct store_session *ss, unsigned table, const int64_t *const *columns,
                       size_t n, struct err *e)
{
    struct rows *r;
    for (size_t done = 0, step; done < n; done += step) {
        const int64_t *from[RECORD_MAX_COLUMNS];
        step = n - done < ROWS_BLOCK_MAX ? n - done : ROWS_BLOCK_MAX;
        for (unsigned c = 0; c < store_table(table)->column_count; c++)
            from[c] = columns[c] ? columns[c] + done : NULL;
        int rc = place_rows(ss, table, step, &r, e);
        if (rc)
            return rc;
        ss->writer->next.rows[table] += (int64_t)step;
        if (click_rows_put_columns(r, from, step))
            return err_nomem(e);
    }
    return 0;
}

/* Holds the rows of a table that count, from a run on, and what takes their first columns. */
struct reading {
    unsigned table, columns;
    int64_t run;
    ask_take take;
    void *arg;
};

static int read_columns(struct store_session *ss, const struct reading *r, struct err *e)
{
    unsigned table = r->table;
    const struct state *t = &ss->writer->state;
    struct buf text;
    if (!t->rows[table])
        return 0;
    buf_init(&text, STATE_STATEMENT_MAX);
    for (unsigned i = 0; i < r->columns; i++) {
        buf_str(&text, i ? ", " : "SELECT ");
        literal_name(&text, store_table(table)->columns[i].name);
    }
    buf_str(&text, " FROM ");
    small_put_place(&text, ss, t, table, false);
    buf_str(&text, " WHERE ");
    state_where_last(&text, ss, t, table);
    if (r->run)
        buf_printf(&text, " AND run >= %" PRId64, r->run);
    buf_str(&text, place_completed(table) ? " ORDER BY rowid FORMAT Native" : " FORMAT Native");
    const struct link_question q = {text.data, text.len, r->take, r->arg, 0};
    int rc = buf_error(&text) ? err_nomem(e) : link_ask(&ss->store->links, ss->host, &q, e);
    buf_fini(&text);
    return rc;
}

static int read_dictionary(struct store_session *ss, unsigned table, unsigned columns,
                           ask_take take, void *arg, struct err *e)
{
    return read_columns(ss, &(struct reading){table, columns, 0, take, arg}, e);
}

_Static_assert((int)KERNEL_SLICE == (int)RUN_ROWS, "a slice is a run");

static int read_slices(struct store_session *ss, int64_t *slices, int64_t *summed, struct err *e)
{
    (void)e;
    *slices = ss->writer->state.rows[TABLE_kernel_slice];
    *summed = *slices << RUN_SHIFT;
    return 0;
}

static int read_rest(struct store_session *ss, int64_t summed, ask_take take, void *arg,
                     struct err *e)
{
    _Static_assert(COL_kernel_start == 0 && COL_kernel_duration == 1 && COL_kernel_config == 2 &&
                       COL_kernel_stream == 3,
                   "the first columns are what is summed up");
    const struct reading r = {RECORD_kernel, 4, summed >> RUN_SHIFT, take, arg};
    return read_columns(ss, &r, e);
}

static const struct append_engine appending = {put_row,         put_columns, amend_row,
                                               read_dictionary, read_slices, read_rest};

/* ---- begin, commit, roll back ---------------------------------------------------------------- */

static int make_writer(struct store_session *ss, struct err *e)
{
    if (ss->writer)
        return 0;
    struct writer *w = mem_zalloc(sizeof *w);
    if (!w)
        return err_nomem(e);
    state_init(&w->state);
    state_init(&w->next);
    append_init(&w->append, &appending, ss);
    buf_init(&w->body, BODY_MAX);
    ss->writer = w;
    return 0;
}

/* Checks that the server's last commit is the one that the caller last saw. */
static int look(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    int64_t was = w->state.commit, seen = __atomic_load_n(&ss->seen, __ATOMIC_RELAXED);
    int rc = state_read(ss, &w->state, e);
    if (rc) {
        w->append.loaded = false;
        return rc;
    }
    w->append.loaded &= was == w->state.commit;
    if (w->state.kind == STATE_DROPPED)
        return err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id);
    if (seen >= 0 && seen != w->state.commit)
        return err_set(e, GPUFL_E_BUSY,
                       "session %s has got further than this server knows: its positions must be "
                       "asked for again (does another server load it?)",
                       ss->at.id);
    return 0;
}

static bool has_rows(const struct state *t)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (t->rows[i])
            return true;
    return false;
}

/* Begins a transaction, within the session's turn. */
static int begin_in(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    if (w->state.range_count > RANGES_MANY)
        click_tidy_session(ss, NULL); /* if that fails, the next begin tries again */
    int rc = look(ss, e);
    if (!rc && !w->append.loaded)
        w->number = state_number(&w->state) - 1;
    if (rc == 0)
        rc = append_load(&w->append, e);
    if (!rc && state_copy(&w->next, &w->state))
        rc = err_nomem(e);
    if (rc)
        return rc;
    w->begun = true;
    ss->at.append = &w->append;
    w->number++;
    w->next.commit = w->number;
    w->next.kind = STATE_COMMIT;
    w->next.small = w->state.small || (!has_rows(&w->state) && !ss->store->all_large);
    return 0;
}

static int begin(struct store_session *ss, struct err *e)
{
    int rc = make_writer(ss, e);
    if (rc == 0)
        rc = turn_take(ss, e);
    if (rc)
        return rc;
    rc = begin_in(ss, e);
    if (rc)
        turn_give(ss, NULL);
    return rc;
}

int click_write_begin(struct store_session *ss, struct err *e)
{
    if (ss->dropped)
        return err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id);
    if (pthread_mutex_trylock(&ss->write_lock))
        return err_set(e, GPUFL_E_BUSY, "session %s is being written", ss->at.id);
    int rc = begin(ss, e);
    if (rc)
        pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

static void finish(struct store_session *ss)
{
    drop_rows(ss->writer);
    ss->writer->begun = false;
    ss->at.append = NULL;
    pthread_mutex_unlock(&ss->write_lock);
}

void click_write_rollback(struct store_session *ss)
{
    struct writer *w = writer_of(ss, NULL);
    if (!w)
        return;
    append_rollback(&w->append);
    turn_give(ss, NULL);
    finish(ss);
}

/* ---- commits --------------------------------------------------------------------------------- */

/* Sends a transaction's rows, or puts those of a small session into rows, and puts the row of its
 * commit into last. */
static int prepare(const struct store_commit *c, struct buf *rows, struct buf *last, struct err *e)
{
    struct store_session *ss = c->session;
    struct writer *w = writer_of(ss, e);
    unsigned n = c->count < STORE_POSITIONS_MAX ? c->count : STORE_POSITIONS_MAX;
    if (!w)
        return GPUFL_E_STATE;
    int rc = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id) : 0;
    if (rc == 0)
        rc = append_finish(&w->append, e);
    if (rc == 0)
        rc = send_all(ss, rows, e);
    if (n) {
        memcpy(w->next.positions, c->positions, n * sizeof *c->positions);
        w->next.position_count = n;
    }
    if (!rc && (state_count(&w->next, w->number) || state_put(last, ss, &w->next)))
        rc = err_nomem(e);
    return rc;
}

/* Checks whether the row of a commit is there after all, since only its answer may have been
 * lost. */
static int check_stands(struct store_session *ss, int rc)
{
    struct state now;
    state_init(&now);
    bool stands = !state_read(ss, &now, NULL) && now.commit == ss->writer->number;
    state_fini(&now);
    return stands ? 0 : rc;
}

/* Takes over what was committed, or rolls back. */
static void conclude(struct store_commit *c)
{
    struct store_session *ss = c->session;
    struct writer *w = ss->writer;
    if (c->rc == 0)
        c->rc = turn_give(ss, &c->err);
    if (!c->rc && state_copy(&w->state, &w->next))
        w->append.loaded = false; /* the commit counts, and the state is read again */
    if (c->rc) {
        click_write_rollback(ss);
        return;
    }
    __atomic_store_n(&ss->seen, w->number, __ATOMIC_RELAXED);
    append_commit(&w->append);
    finish(ss);
}

static bool share_tables(const struct store_session *a, const struct store_session *b)
{
    return a->workspace == b->workspace && a->host == b->host;
}

/* Commits the remaining sessions that share the tables of the first one. */
static void commit_some(struct store_commit *of, size_t n, bool *done)
{
    struct store_session *first = NULL;
    struct buf rows, last;
    struct err why = {0};
    bool mine[STORE_COMMITS_MAX] = {false};
    buf_init(&rows, BODY_MAX);
    buf_init(&last, BODY_MAX);
    for (size_t i = 0; i < n; i++) {
        if (done[i] || (first && !share_tables(first, of[i].session)))
            continue;
        first = of[i].session;
        size_t rows_before = rows.len, last_before = last.len;
        of[i].rc = prepare(&of[i], &rows, &last, &of[i].err);
        mine[i] = !of[i].rc;
        done[i] = true;
        if (mine[i])
            continue;
        rows.len = rows_before; /* keeps the rows of the others */
        last.len = last_before;
        click_write_rollback(of[i].session);
    }
    int rc = last.len ? small_send(first, &rows, &why) : 0;
    bool sent = rc == 0;
    if (sent && last.len)
        rc = state_insert(first, &last, &why);
    for (size_t i = 0; i < n; i++) {
        if (!mine[i])
            continue;
        if (sent)
            known_written(of[i].session, rc ? NULL : &of[i].session->writer->next);
        of[i].rc = rc && sent ? check_stands(of[i].session, rc) : rc;
        of[i].err = of[i].rc ? why : of[i].err;
        conclude(&of[i]);
    }
    buf_fini(&rows);
    buf_fini(&last);
}

void click_write_commit_all(struct store_commit *of, size_t n)
{
    for (size_t from = 0, step; from < n; from += step) {
        bool done[STORE_COMMITS_MAX] = {false};
        step = n - from < STORE_COMMITS_MAX ? n - from : STORE_COMMITS_MAX;
        for (size_t i = 0; i < step; i++)
            if (!done[i])
                commit_some(of + from, step, done);
    }
}

int click_write_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                       struct err *e)
{
    struct store_commit one = {.session = ss, .positions = p, .count = n};
    click_write_commit_all(&one, 1);
    if (one.rc && e)
        *e = one.err;
    return one.rc;
}

void click_write_close(struct store_session *ss)
{
    struct writer *w = ss->writer;
    if (!w)
        return;
    click_write_rollback(ss);
    append_fini(&w->append);
    state_fini(&w->state);
    state_fini(&w->next);
    buf_fini(&w->body);
    mem_free(w);
    ss->writer = NULL;
}

/* Reads the positions. *commit: the commit that has the positions. */
static int read_positions(const struct store_session *ss, struct store_position *out,
                          unsigned *count, int64_t *commit, struct err *e)
{
    struct state t;
    unsigned room = *count;
    *count = 0;
    if (atomic_load_explicit(&ss->damaged, memory_order_relaxed))
        return err_set(e, GPUFL_E_CORRUPT,
                       "what ClickHouse has of session %s is damaged: send it again from its "
                       "begin, or delete it",
                       ss->at.id);
    state_init(&t);
    int rc = state_read(ss, &t, e);
    if (!rc) {
        *count = t.position_count < room ? t.position_count : room;
        memcpy(out, t.positions, *count * sizeof *out);
        *commit = t.commit;
    }
    state_fini(&t);
    return rc;
}

int click_write_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                          struct err *e)
{
    int64_t commit;
    int rc = read_positions(ss, out, count, &commit, e);
    if (!rc)
        __atomic_store_n(&ss->seen, commit, __ATOMIC_RELAXED);
    return rc;
}

int click_write_peek(struct store_session *ss, struct store_position *out, unsigned *count,
                     struct err *e)
{
    int64_t commit;
    return read_positions(ss, out, count, &commit, e);
}
