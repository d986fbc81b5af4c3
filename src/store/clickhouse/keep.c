/* keep.c - keeps history, exports and backups, which outlive a session's rows. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/clickhouse/literal.h"
#include "store/copy.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- history --------------------------------------------------------------------------------- */

static void put_same(struct buf *b, const char *name, int64_t v, size_t rows)
{
    native_column(b, name, "Int64");
    for (size_t i = 0; i < rows; i++)
        buf_put(b, &v, sizeof v);
}

/* An unknown number is written as on the wire, CELL_NULL; its bits as a real are -0.0. */
static void put_cells(struct buf *b, const struct store_vec *v, bool real, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        int64_t cell = CELL_NULL;
        double known = v && real && store_known(v, i) ? v->reals[i] + 0.0 : 0;
        if (v && real && store_known(v, i))
            memcpy(&cell, &known, sizeof cell);
        else if (v && store_known(v, i))
            cell = v->ints[i];
        buf_put(b, &cell, sizeof cell);
    }
}

static void put_texts(struct buf *b, const struct store_vec *v, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        buf_char(b, v && store_known(v, i) ? 0 : 1);
    for (size_t i = 0; i < rows; i++) {
        bool known = v && store_known(v, i);
        native_text(b, known ? v->texts[i].at : "", known ? v->texts[i].len : 0);
    }
}

/* Puts the rows, or one row that says that there are no rows. */
static void put_history(struct buf *b, const char *session, const struct store_chunk *c,
                        int64_t version)
{
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    size_t rows = c->rows ? c->rows : 1;
    native_block(b, def->column_count + 2, rows);
    put_same(b, "version", version, rows);
    put_same(b, "gone", c->rows == 0, rows);
    native_column(b, "session", "String");
    for (size_t i = 0; i < rows; i++)
        native_text(b, session, strlen(session));
    for (unsigned i = 1; i < def->column_count; i++) {
        const struct store_vec *v = c->rows ? &c->columns[i] : NULL;
        enum store_type type = def->columns[i].type;
        bool text = type == STORE_TEXT || type == STORE_NAME;
        native_column(b, def->columns[i].name,
                      text                 ? "Nullable(String)"
                      : type == STORE_REAL ? "Float64"
                                           : "Int64");
        if (text)
            put_texts(b, v, rows);
        else
            put_cells(b, v, type == STORE_REAL, rows);
    }
}

/* Drops replaced versions, if there are any. ClickHouse does that later, by itself. */
static int drop_versions(struct store *s, unsigned host, const char *workspace, const char *session,
                         int64_t version, struct err *e)
{
    struct buf text;
    buf_init(&text, 4096);
    buf_str(&text, "ALTER TABLE ");
    place_put(&text, s, workspace, place_name(TABLE_history));
    buf_str(&text, " DELETE WHERE session = ");
    literal_text(&text, session, strlen(session));
    buf_printf(&text, " AND version < %" PRId64, version);
    int rc = link_do(&s->links, host, buf_cstr(&text), e);
    buf_fini(&text);
    return rc;
}

struct version {
    int64_t count, last;
};

static int take_version(void *arg, const struct page *p)
{
    struct version *v = arg;
    v->count = page_int(p, 0, 0);
    v->last = page_int(p, 1, 0);
    return 0;
}

static int find_version(struct store *s, unsigned host, const char *workspace, const char *session,
                        struct version *v, struct err *e)
{
    struct buf text;
    buf_init(&text, 4096);
    buf_str(&text, "SELECT count(), max(version) FROM ");
    place_put(&text, s, workspace, place_name(TABLE_history));
    buf_str(&text, " WHERE session = ");
    literal_text(&text, session, strlen(session));
    buf_str(&text, " FORMAT Native");
    int rc = link_ask(&s->links, host,
                      &(struct link_question){text.data, text.len, take_version, v, 0}, e);
    buf_fini(&text);
    return rc;
}

static int keep_one(struct store *s, const char *workspace, const char *session,
                    const struct store_chunk *rows, struct err *e)
{
    struct version was = {0, 0};
    struct buf body, into;
    if (!store_id_ok(session) || !store_id_ok(workspace))
        return err_set(e, GPUFL_E_INVAL, "%.64s is no name of a session", session);
    if (rows->rows && rows->column_count != store_queries[QUERY_kernel_history].column_count)
        return err_set(e, GPUFL_E_INVAL, "rows of history have %u columns",
                       store_queries[QUERY_kernel_history].column_count);
    struct workspace *w = workspace_of(s, workspace);
    unsigned host = place_host(place_key(session), s->links.place.host_count);
    int rc = w ? place_ready(s, w, TABLE_history, e) : err_nomem(e);
    if (rc == 0)
        rc = find_version(s, host, workspace, session, &was, e);
    if (rc || (!was.count && !rows->rows))
        return rc;
    int64_t version = clock_real();
    version = version > was.last ? version : was.last + 1;
    buf_init(&body, NATIVE_BLOCK_MAX);
    buf_init(&into, 4096);
    put_history(&body, session, rows, version);
    place_put(&into, s, workspace, place_name(TABLE_history));
    rc = buf_error(&body) ? err_nomem(e)
                          : link_insert(&s->links, host, buf_cstr(&into), body.data, body.len, e);
    if (!rc && was.count)
        rc = drop_versions(s, host, workspace, session, version, e);
    buf_fini(&body);
    buf_fini(&into);
    return rc;
}

int click_keep_history(struct store *s, const char *workspace, const struct store_history *of,
                       size_t count, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = keep_one(s, workspace, of[i].session, of[i].rows, e);
    return rc;
}

/* Selects the last version of each session's history, except versions that say that there is no
 * history. */
static void history_text(struct buf *b, const struct store *s, const char *workspace)
{
    const struct table *t = store_table(TABLE_history);
    buf_str(b, "SELECT ");
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(b, i ? ", " : "");
        literal_name(b, t->columns[i].name);
    }
    buf_str(b, " FROM ");
    place_put(b, s, workspace, place_name(TABLE_history));
    buf_str(b, " WHERE gone = 0 AND (session, version) IN (SELECT session, max(version) FROM ");
    place_put(b, s, workspace, place_name(TABLE_history));
    buf_str(b, " GROUP BY session) ORDER BY session FORMAT Native");
}

struct history_pages {
    ask_take take;
    void *arg;
};

/* Gives cells with CELL_NULL to the caller as unknown. */
static int take_history(void *arg, const struct page *p)
{
    const struct history_pages *h = arg;
    const struct table *t = store_table(TABLE_history);
    struct page shown = *p;
    size_t words = p->rows / 64 + 1;
    uint64_t *valid = mem_array(p->columns, words * sizeof *valid), *next = valid;
    if (!valid)
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < p->columns; c++, next += words) {
        if (t->columns[c].type == CELL_TEXT)
            continue;
        memset(next, 0, words * sizeof *valid);
        for (size_t row = 0; row < p->rows; row++)
            if (((const int64_t *)p->data[c])[row] != CELL_NULL)
                next[row / 64] |= UINT64_C(1) << (row % 64);
        shown.valid[c] = next;
    }
    int rc = h->take(h->arg, &shown);
    mem_free(valid);
    return rc;
}

/* Runs a statement on each server; a server without the table has no history. */
static int ask_all(struct store *s, const struct buf *text, ask_take take, void *arg, struct err *e)
{
    int rc = 0;
    for (unsigned host = 0; !rc && host < s->links.place.host_count; host++) {
        rc = link_ask(&s->links, host, &(struct link_question){text->data, text->len, take, arg, 0},
                      e);
        rc = rc == GPUFL_E_NOENT ? 0 : rc;
    }
    return rc;
}

int click_keep_walk_history(struct store *s, const char *workspace, ask_take take, void *arg,
                            struct err *e)
{
    struct history_pages h = {take, arg};
    struct buf text;
    buf_init(&text, 8192);
    history_text(&text, s, workspace);
    int rc = ask_all(s, &text, take_history, &h, e);
    buf_fini(&text);
    return rc;
}

/* ---- copies ---------------------------------------------------------------------------------- */

int click_keep_parquet(struct store_session *ss, enum record_type type, const char *path,
                       struct err *e)
{
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s.columns", path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    return store_copy_parquet(&store_clickhouse, ss, type, folder, path, e);
}

struct ids_taker {
    int (*take)(void *arg, const char *id);
    void *arg;
};

static int take_ids(void *arg, const struct page *p)
{
    const struct ids_taker *t = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        struct store_text name = page_text(p, 0, i);
        char id[STORE_ID_MAX];
        snprintf(id, sizeof id, "%.*s", (int)name.len, name.at);
        rc = store_id_ok(id) ? t->take(t->arg, id) : 0;
    }
    return rc;
}

int click_keep_sessions(struct store *s, const char *workspace,
                        int (*take)(void *arg, const char *id), void *arg, struct err *e)
{
    struct ids_taker t = {take, arg};
    struct buf text;
    if (!store_id_ok(workspace))
        return err_set(e, GPUFL_E_INVAL, "%.64s is no name of a workspace", workspace);
    buf_init(&text, 4096);
    buf_str(&text, "SELECT argMax(name, commit) FROM ");
    place_put(&text, s, workspace, place_name(TABLE_position));
    buf_printf(&text, " GROUP BY session HAVING argMax(kind, commit) NOT IN (%d, %d) FORMAT Native",
               STATE_DROPPED, STATE_APART);
    int rc = ask_all(s, &text, take_ids, &t, e);
    buf_fini(&text);
    return rc;
}
