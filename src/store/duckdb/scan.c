/* scan.c - a session's rows in the order in which they came. */
#include "store/duckdb/engine.h"

#include "store/batches.h"

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

/* Runs a statement; its pages go to take. */
static int run(struct store_session *ss, struct buf *text, const struct sql_arg *args, size_t n,
               ask_take take, void *arg, struct err *e)
{
    struct connection *c;
    struct sql q;
    int code = engine_take(ss->store, &c, e), more = 0;
    if (code)
        return code;
    code = sql_open(&q, ss->store->duck, c->handle, buf_cstr(text), args, n, e);
    while (!code && (more = sql_next(&q, e)) > 0)
        code = take(arg, &q.page);
    sql_close(&q);
    engine_give(ss->store, c);
    return code || more > 0 ? code : more;
}

int scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
              const struct wire_visitor *v, struct err *e)
{
    const struct sql_arg bounds[] = {SQL_INT(from), SQL_INT(to)};
    bool bounded = (from != INT64_MIN || to != INT64_MAX) && batches_time(type) >= 0;
    struct batches b;
    struct buf text;
    if (batches_open(&b, type, v))
        return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    buf_init(&text, SQL_TEXT_MAX);
    scan_text(&text, ss, type, bounded);
    int code = run(ss, &text, bounds, bounded ? 2 : 0, batches_take, &b, e);
    code = code ? code : batches_end(&b);
    buf_fini(&text);
    batches_close(&b);
    return code;
}

static int walk(struct store_session *ss, unsigned table, const char *columns, ask_take take,
                void *arg, struct err *e)
{
    struct buf text;
    buf_init(&text, SQL_TEXT_MAX);
    buf_printf(&text, "SELECT %s FROM ", columns);
    session_table(&text, ss, table);
    int code = run(ss, &text, NULL, 0, take, arg, e);
    buf_fini(&text);
    return code;
}

int scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e)
{
    struct wire_visitor visitor = *v;
    return v->name ? walk(ss, TABLE_names, "id, text", batches_names, &visitor, e) : 0;
}

int scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e)
{
    struct store_visitor visitor = *v;
    return walk(ss, TABLE_unknown, "channel, line", batches_unknown, &visitor, e);
}
