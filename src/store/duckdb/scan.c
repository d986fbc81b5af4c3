/* scan.c - reads a session's rows in the order in which they came. */
#include "store/duckdb/engine.h"

#include "store/batches.h"
#include "store/duckdb/history.h"
#include "store/duckdb/small.h"

#include <string.h>

static void scan_text(struct buf *text, const struct store_session *ss, enum record_type type,
                      bool bounded)
{
    const struct record *r = &records[type];
    int time = batches_time(type);
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

/* Runs a statement and gives its pages to take. */
static int run_on(struct store_session *ss, struct connection *c, const struct sql_bound *s,
                  ask_take take, void *arg, struct err *e)
{
    struct sql q;
    int more = 0;
    int rc = sql_open(&q, ss->store->duck, c->handle, s, e);
    while (!rc && (more = sql_next(&q, e)) > 0)
        rc = take(arg, &q.page);
    sql_close(&q);
    return rc || more > 0 ? rc : more;
}

static int run(struct store_session *ss, const struct sql_bound *s, ask_take take, void *arg,
               struct err *e)
{
    struct connection *c;
    int rc = engine_take(ss->store, &c, e);
    if (rc)
        return rc;
    rc = run_on(ss, c, s, take, arg, e);
    engine_give(ss->store, c);
    return rc;
}

/* Reads all columns of an image's table. */
static int put_image(const struct image *image, struct image_ask *ask, ask_take take, void *arg)
{
    unsigned columns[RECORD_MAX_COLUMNS];
    ask->columns = columns;
    ask->column_count = store_table(ask->table)->column_count;
    for (unsigned i = 0; i < ask->column_count; i++)
        columns[i] = i;
    return image_pages(image, ask, take, arg);
}

static int scan_statement(struct store_session *ss, enum record_type type, struct image_ask *ask,
                          struct batches *b, struct err *e)
{
    const struct sql_arg bounds[] = {SQL_INT(ask->from), SQL_INT(ask->to)};
    struct buf text;
    buf_init(&text, SQL_TEXT_MAX);
    scan_text(&text, ss, type, ask->time >= 0);
    const struct sql_bound s = {buf_cstr(&text), bounds, ask->time >= 0 ? 2 : 0};
    int rc = run(ss, &s, batches_take, b, e);
    buf_fini(&text);
    return rc;
}

/* Scans the rows of a small session. */
static int scan_small(struct store_session *ss, struct image_ask *ask, const struct wire_visitor *v,
                      struct err *e)
{
    const struct image *image;
    struct batches b;
    int rc = small_hold_image(ss, &image, e);
    if (rc)
        return rc;
    if (!image)
        return scan_rows(ss, (enum record_type)ask->table, ask->from, ask->to, v, e);
    size_t rows = image_rows(image, ask->table);
    if (rows && batches_open(&b, (enum record_type)ask->table, rows, v)) {
        rc = err_nomem(e);
    } else if (rows) {
        rc = put_image(image, ask, batches_take, &b);
        if (rc == 0)
            rc = batches_end(&b);
        batches_close(&b);
    }
    small_release_image(ss, image);
    return rc;
}

int scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
              const struct wire_visitor *v, struct err *e)
{
    struct store_session *file = small_file(ss);
    bool bounded = from != INT64_MIN || to != INT64_MAX;
    struct image_ask ask = {
        .table = type, .time = bounded ? batches_time(type) : -1, .from = from, .to = to};
    struct batches b;
    if (!file)
        return scan_small(ss, &ask, v, e);
    if (batches_open(&b, type, BATCHES_ROWS, v))
        return err_nomem(e);
    int rc = scan_statement(file, type, &ask, &b, e);
    if (rc == 0)
        rc = batches_end(&b);
    batches_close(&b);
    return rc;
}

static int scan_table(struct store_session *ss, unsigned table, const char *columns, ask_take take,
                      void *arg, struct err *e)
{
    struct image_ask ask = {.table = table, .time = -1};
    const struct image *image = NULL;
    struct buf text;
    int rc = small_file(ss) ? 0 : small_hold_image(ss, &image, e);
    if (rc)
        return rc;
    if (image) {
        rc = put_image(image, &ask, take, arg);
        small_release_image(ss, image);
        return rc;
    }
    buf_init(&text, SQL_TEXT_MAX);
    buf_printf(&text, "SELECT %s FROM ", columns);
    session_table(&text, small_file(ss), table);
    rc = run(small_file(ss), &(struct sql_bound){buf_cstr(&text), NULL, 0}, take, arg, e);
    buf_fini(&text);
    return rc;
}

int scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e)
{
    struct wire_visitor visitor = *v;
    return v->name ? scan_table(ss, TABLE_names, "id, text", batches_names, &visitor, e) : 0;
}

int scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e)
{
    struct store_visitor visitor = *v;
    return scan_table(ss, TABLE_unknown, "channel, line", batches_unknown, &visitor, e);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int take_positions(void *arg, const struct page *p)
{
    const struct store_walk *w = arg;
    struct store_position at[STORE_POSITIONS_MAX] = {{{0}, 0}};
    unsigned n = 0;
    for (size_t i = 0; i < p->rows && n < STORE_POSITIONS_MAX; i++) {
        struct store_text channel = page_text(p, 0, i);
        if (channel.len >= sizeof at->channel)
            continue;
        memcpy(at[n].channel, channel.at, channel.len);
        at[n++].offset = page_int(p, 1, i);
    }
    return w->positions(w->arg, at, n);
}

static void table_text(struct buf *text, const struct store_session *ss, unsigned table)
{
    const struct table *t = store_table(table);
    buf_clear(text);
    buf_str(text, "SELECT ");
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(text, i ? ", " : "");
        sql_name(text, t->columns[i].name);
    }
    buf_str(text, " FROM ");
    session_table(text, ss, table);
}

static int walk_tables(struct store_session *ss, struct connection *c, const struct store_walk *w,
                       struct err *e)
{
    struct batches_walk each = {w, 0};
    struct buf text;
    buf_init(&text, SQL_TEXT_MAX);
    table_text(&text, ss, TABLE_position);
    int rc =
        run_on(ss, c, &(struct sql_bound){buf_cstr(&text), NULL, 0}, take_positions, (void *)w, e);
    for (int i = -1; !rc && (i = batches_next(w, i)) >= 0;) {
        each.table = (unsigned)i;
        table_text(&text, ss, each.table);
        if (ss->have[i])
            rc = run_on(ss, c, &(struct sql_bound){buf_cstr(&text), NULL, 0}, batches_walk, &each,
                        e);
    }
    buf_fini(&text);
    return rc;
}

static int walk_image(const struct image *image, const struct store_walk *w)
{
    struct batches_walk each = {w, 0};
    int rc = 0;
    if (image->position_count)
        rc = w->positions(w->arg, image->positions, image->position_count);
    for (int i = -1; !rc && (i = batches_next(w, i)) >= 0;) {
        each.table = (unsigned)i;
        rc = image_table_pages(image, each.table, store_table(each.table)->column_count,
                               batches_walk, &each);
    }
    return rc;
}

int scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e)
{
    struct connection *c;
    const struct image *image = NULL;
    int rc = small_file(ss) ? 0 : small_hold_image(ss, &image, e);
    if (!rc && image) {
        rc = walk_image(image, w);
        small_release_image(ss, image);
        return rc;
    }
    if (rc == 0)
        rc = engine_take(ss->store, &c, e);
    if (rc)
        return rc;
    rc = sql_run(ss->store->duck, c->handle, "BEGIN TRANSACTION READ ONLY", e);
    if (rc == 0)
        rc = walk_tables(small_file(ss), c, w, e);
    engine_undo(ss->store, c); /* nothing was written */
    engine_give(ss->store, c);
    return rc;
}

int scan_history(struct store *s, const char *workspace, ask_take take, void *arg, struct err *e)
{
    struct store_session *ss;
    struct buf text;
    int rc = session_get_history(s, workspace, false, &ss, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SELECT * FROM ");
    history_table(&text, ss, NULL);
    buf_str(&text, " ORDER BY session");
    rc = run(ss, &(struct sql_bound){buf_cstr(&text), NULL, 0}, take, arg, e);
    buf_fini(&text);
    session_put(ss);
    return rc;
}
