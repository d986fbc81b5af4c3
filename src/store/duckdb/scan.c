/* scan.c - a session's rows in the order in which they came. */
#include "store/duckdb/engine.h"

#include "base/alloc.h"

#include <string.h>

enum { BATCH_ROWS = 65536 };

/* Rows being gathered into batches. */
struct gather {
    struct wire_batch batch;
    int64_t *cells; /* owned: BATCH_ROWS cells a column */
    const struct wire_visitor *visitor;
};

static int deliver(struct gather *g)
{
    int code =
        g->batch.rows && g->visitor->batch ? g->visitor->batch(g->visitor->arg, &g->batch) : 0;
    g->batch.rows = 0;
    return code;
}

static int take_chunk(struct gather *g, const struct sql *q)
{
    if (g->batch.rows + q->page.rows > BATCH_ROWS) {
        int code = deliver(g);
        if (code)
            return code;
    }
    for (unsigned c = 0; c < q->page.columns; c++) {
        int64_t *to = g->cells + (size_t)c * BATCH_ROWS + g->batch.rows;
        memcpy(to, q->page.data[c], q->page.rows * sizeof *to);
        for (size_t i = 0; q->page.valid[c] && i < q->page.rows; i++)
            if (!sql_known(q, c, i))
                to[i] = CELL_NULL;
    }
    g->batch.rows += q->page.rows;
    return 0;
}

/* Column of the record's time; -1: it has none. */
static int time_column(const struct record *r)
{
    for (unsigned i = 0; i < r->column_count; i++)
        if (r->columns[i].coding == CODING_TIME)
            return (int)i;
    return -1;
}

static void scan_text(struct buf *text, const struct store_session *ss, enum record_type type,
                      bool bounded)
{
    const struct record *r = &records[type];
    int time = time_column(r);
    buf_str(text, "SELECT ");
    for (unsigned i = 0; i < r->column_count; i++) {
        buf_str(text, i ? ", " : "");
        sql_name(text, r->columns[i].name);
    }
    buf_str(text, " FROM ");
    session_table(text, ss, type);
    if (time >= 0 && bounded) {
        buf_str(text, " WHERE ");
        sql_name(text, r->columns[time].name);
        buf_str(text, " BETWEEN $1 AND $2");
    }
}

static int run_scan(struct gather *g, struct store_session *ss, struct connection *c, int64_t from,
                    int64_t to, struct err *e)
{
    struct buf text;
    struct sql q;
    const struct sql_arg bounds[] = {SQL_INT(from), SQL_INT(to)};
    bool bounded = (from != INT64_MIN || to != INT64_MAX) && time_column(g->batch.record) >= 0;
    buf_init(&text, SQL_TEXT_MAX);
    scan_text(&text, ss, g->batch.type, bounded);
    int code =
        sql_open(&q, ss->store->duck, c->handle, buf_cstr(&text), bounds, bounded ? 2 : 0, e);
    int more = 0;
    while (!code && (more = sql_next(&q, e)) > 0)
        code = take_chunk(g, &q);
    sql_close(&q);
    buf_fini(&text);
    if (code || more < 0)
        return code ? code : more;
    return deliver(g);
}

int scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
              const struct wire_visitor *v, struct err *e)
{
    struct connection *c;
    struct gather g = {.batch = {.type = type, .record = &records[type]}, .visitor = v};
    g.cells = mem_array(records[type].column_count, BATCH_ROWS * sizeof *g.cells);
    if (!g.cells)
        return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    for (unsigned i = 0; i < records[type].column_count; i++)
        g.batch.col[i] = g.cells + (size_t)i * BATCH_ROWS;
    int code = engine_take(ss->store, &c, e);
    if (!code) {
        code = run_scan(&g, ss, c, from, to, e);
        engine_give(ss->store, c);
    }
    mem_free(g.cells);
    return code;
}

/* Walks a statement over a table; row is called for each of its rows. */
static int walk(struct store_session *ss, unsigned table, const char *columns,
                int (*chunk)(void *arg, const struct sql *q), void *arg, struct err *e)
{
    struct connection *c;
    struct buf text;
    struct sql q;
    int code = engine_take(ss->store, &c, e), more = 0;
    if (code)
        return code;
    buf_init(&text, SQL_TEXT_MAX);
    buf_printf(&text, "SELECT %s FROM ", columns);
    session_table(&text, ss, table);
    code = sql_open(&q, ss->store->duck, c->handle, buf_cstr(&text), NULL, 0, e);
    while (!code && (more = sql_next(&q, e)) > 0)
        code = chunk(arg, &q);
    sql_close(&q);
    buf_fini(&text);
    engine_give(ss->store, c);
    return code || more > 0 ? code : more;
}

static int take_names(void *arg, const struct sql *q)
{
    const struct wire_visitor *v = arg;
    int code = 0;
    for (size_t i = 0; !code && i < q->page.rows; i++) {
        struct store_text text = sql_text(q, 1, i);
        code = v->name(v->arg, (uint32_t)sql_int(q, 0, i), text.at, text.len);
    }
    return code;
}

int scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e)
{
    struct wire_visitor visitor = *v;
    return v->name ? walk(ss, TABLE_names, "id, text", take_names, &visitor, e) : 0;
}

static int take_unknown(void *arg, const struct sql *q)
{
    const struct store_visitor *v = arg;
    int code = 0;
    for (size_t i = 0; !code && i < q->page.rows; i++) {
        struct store_text cells[2] = {sql_text(q, 0, i), sql_text(q, 1, i)};
        const struct store_vec columns[2] = {{.type = STORE_TEXT, .texts = &cells[0]},
                                             {.type = STORE_TEXT, .texts = &cells[1]}};
        const struct store_chunk one = {1, 2, columns};
        code = v->chunk(v->arg, &one);
    }
    return code;
}

int scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e)
{
    struct store_visitor visitor = *v;
    return walk(ss, TABLE_unknown, "channel, line", take_unknown, &visitor, e);
}
