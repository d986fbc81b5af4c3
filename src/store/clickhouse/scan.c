/* scan.c - a session's rows in the order in which they came: piece by piece of a run, each sorted by
 * the server, so that neither side holds more than a piece. Rows lie there by time, which is about
 * the order of their coming: a piece is read without most of the others. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <string.h>

enum { BATCH_ROWS = 65536, PIECE_ROWS = RUN_ROWS / 4 };

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

static int take_rows(void *arg, const struct page *p)
{
    struct gather *g = arg;
    int code = 0;
    for (size_t from = 0, n; !code && from < p->rows; from += n) {
        n = p->rows - from < BATCH_ROWS - g->batch.rows ? p->rows - from
                                                        : BATCH_ROWS - g->batch.rows;
        for (unsigned c = 0; c < p->columns; c++)
            memcpy(g->cells + (size_t)c * BATCH_ROWS + g->batch.rows,
                   (const int64_t *)p->data[c] + from, n * sizeof(int64_t));
        g->batch.rows += n;
        if (g->batch.rows == BATCH_ROWS)
            code = deliver(g);
    }
    return code;
}

static void put_columns(struct buf *b, unsigned place)
{
    const struct table *t = store_table(place);
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(b, i ? ", " : "SELECT ");
        literal_name(b, t->columns[i].name);
    }
}

/* Rows of a numbered table from one on. */
static int scan_piece(const struct store_session *ss, const struct state *t, unsigned place,
                      int64_t first, const char *bounds, ask_take take, void *arg, struct err *e)
{
    struct buf text;
    buf_init(&text, 256 << 10);
    put_columns(&text, place);
    buf_str(&text, " FROM ");
    place_put(&text, ss->store, ss->workspace->name, place_name(place));
    buf_str(&text, " WHERE ");
    state_where(&text, ss, t);
    buf_printf(&text,
               " AND run = %" PRId64 " AND rowid BETWEEN %" PRId64 " AND %" PRId64
               "%s ORDER BY rowid FORMAT Native",
               first >> RUN_SHIFT, first, first + PIECE_ROWS - 1, bounds);
    int code = buf_error(&text)
                   ? err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM))
                   : link_ask(&ss->store->links, ss->host, text.data, text.len, 0, take, arg, e);
    buf_fini(&text);
    return code;
}

static int scan_pieces(const struct store_session *ss, const struct state *t, unsigned place,
                       const char *bounds, ask_take take, void *arg, struct err *e)
{
    int code = 0;
    for (int64_t first = 0; !code && first < t->rows[place]; first += PIECE_ROWS)
        code = scan_piece(ss, t, place, first, bounds, take, arg, e);
    return code;
}

static int scan_records(struct gather *g, struct store_session *ss, int64_t from, int64_t to,
                        struct err *e)
{
    struct state t;
    struct buf bounds;
    int time = place_time(g->batch.type);
    state_init(&t);
    buf_init(&bounds, 4096);
    if (time >= 0 && (from != INT64_MIN || to != INT64_MAX)) {
        buf_str(&bounds, " AND ");
        literal_name(&bounds, g->batch.record->columns[time].name);
        buf_str(&bounds, " BETWEEN ");
        literal_int(&bounds, from == INT64_MIN ? from + 1 : from); /* which is unknown */
        buf_str(&bounds, " AND ");
        literal_int(&bounds, to);
    }
    int code = state_read(ss, &t, e);
    code = code ? code : scan_pieces(ss, &t, g->batch.type, buf_cstr(&bounds), take_rows, g, e);
    code = code ? code : deliver(g);
    buf_fini(&bounds);
    state_fini(&t);
    return code;
}

int click_scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                    const struct wire_visitor *v, struct err *e)
{
    struct gather g = {.batch = {.type = type, .record = &records[type]}, .visitor = v};
    g.cells = mem_array(records[type].column_count, BATCH_ROWS * sizeof *g.cells);
    if (!g.cells)
        return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    for (unsigned i = 0; i < records[type].column_count; i++)
        g.batch.col[i] = g.cells + (size_t)i * BATCH_ROWS;
    int code = scan_records(&g, ss, from, to, e);
    mem_free(g.cells);
    return code;
}

/* ---- texts ------------------------------------------------------------------------------------ */

static int take_names(void *arg, const struct page *p)
{
    const struct wire_visitor *v = arg;
    int code = 0;
    for (size_t i = 0; !code && i < p->rows; i++) {
        struct store_text text = page_text(p, 1, i);
        code = v->name(v->arg, (uint32_t)page_int(p, 0, i), text.at, text.len);
    }
    return code;
}

int click_scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e)
{
    struct wire_visitor visitor = *v;
    struct state t;
    struct buf text;
    if (!v->name)
        return 0;
    state_init(&t);
    buf_init(&text, 256 << 10);
    int code = state_read(ss, &t, e);
    if (!code && t.rows[TABLE_names]) {
        buf_str(&text, "SELECT id, text FROM ");
        place_put(&text, ss->store, ss->workspace->name, place_name(TABLE_names));
        buf_str(&text, " WHERE ");
        state_where(&text, ss, &t);
        buf_str(&text, " FORMAT Native");
        code =
            link_ask(&ss->store->links, ss->host, text.data, text.len, 0, take_names, &visitor, e);
    }
    buf_fini(&text);
    state_fini(&t);
    return code;
}

static int take_unknown(void *arg, const struct page *p)
{
    const struct store_visitor *v = arg;
    int code = 0;
    for (size_t i = 0; !code && i < p->rows; i++) {
        struct store_text cells[2] = {page_text(p, 0, i), page_text(p, 1, i)};
        const struct store_vec columns[2] = {{.type = STORE_TEXT, .texts = &cells[0]},
                                             {.type = STORE_TEXT, .texts = &cells[1]}};
        const struct store_chunk one = {1, 2, columns};
        code = v->chunk(v->arg, &one);
    }
    return code;
}

int click_scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e)
{
    struct store_visitor visitor = *v;
    struct state t;
    state_init(&t);
    int code = state_read(ss, &t, e);
    code = code ? code : scan_pieces(ss, &t, TABLE_unknown, "", take_unknown, &visitor, e);
    state_fini(&t);
    return code;
}
