/* sql.c - runs statements; see sql.h. */
#include "store/duckdb/sql.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* Lists parts of the library's messages, and their codes; the first match counts. */
static const struct meaning {
    const char *part;
    int code; /* enum gpufl_error */
} meanings[] = {
    {"INTERRUPT Error", GPUFL_E_TIMEOUT},
    {"Out of Memory Error", GPUFL_E_NOMEM},
    {"could not allocate", GPUFL_E_NOMEM}, /* the appender's message */
    {"failed to allocate", GPUFL_E_NOMEM},
    {"No space left", GPUFL_E_FULL},
    {"File too large", GPUFL_E_FULL},
    {"Disk quota exceeded", GPUFL_E_FULL},
    {"Too many open files", GPUFL_E_UNAVAILABLE},
    {"Could not read enough bytes", GPUFL_E_CORRUPT},
    {"Corrupt", GPUFL_E_CORRUPT},
    {"checksum", GPUFL_E_CORRUPT},
    {"not a valid DuckDB database file", GPUFL_E_CORRUPT},
    {"Serialization Error", GPUFL_E_CORRUPT},
    {"Could not set lock", GPUFL_E_BUSY},
    {"Unique file handle conflict", GPUFL_E_BUSY},
    {"Permission", GPUFL_E_PERM},
    {"has been invalidated", GPUFL_E_UNAVAILABLE}, /* until it is attached again */
    {"transaction is aborted", GPUFL_E_UNAVAILABLE},
    {"within a transaction", GPUFL_E_UNAVAILABLE},
    {"IO Error", GPUFL_E_IO},
};

_Atomic unsigned sql_given_up;

int sql_fail(struct err *e, const char *message)
{
    int rc = GPUFL_E_STATE;
    message = message && *message ? message : "the statement failed";
    if (strstr(message, "has been invalidated"))
        atomic_fetch_add_explicit(&sql_given_up, 1, memory_order_relaxed);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strstr(message, meanings[i].part)) {
            rc = meanings[i].code;
            break;
        }
    err_set(e, rc, "DuckDB: %.360s", message);
    if (e && (rc == GPUFL_E_STATE || rc == GPUFL_E_PERM))
        e->vendor = ERR_ENGINE;
    return rc;
}

int sql_run(const struct duck *d, struct duck_connection *c, const char *text, struct err *e)
{
    struct duck_result r;
    memset(&r, 0, sizeof r);
    int rc = d->query(c, text, &r) == DUCK_OK ? 0 : sql_fail(e, d->result_error(&r));
    d->destroy_result(&r);
    return rc;
}

int sql_run_with(const struct duck *d, struct duck_connection *c, const char *text,
                 const struct sql_arg *args, size_t n, struct err *e)
{
    struct sql q;
    int rc = sql_open(&q, d, c, &(struct sql_bound){text, args, n}, e), more = 1;
    while (!rc && more > 0) {
        more = sql_next(&q, e);
        rc = more < 0 ? more : 0;
    }
    sql_close(&q);
    return rc;
}

/* ---- values -------------------------------------------------------------------------------- */

static int bind_list(struct sql *q, uint64_t place, const struct store_value *v)
{
    const struct duck *d = q->duck;
    struct duck_value **items = mem_array(v->list_count + 1, sizeof(*items)); /* NOLINT */
    if (!items)
        return DUCK_ERROR;
    for (size_t i = 0; i < v->list_count; i++)
        items[i] = d->create_int64(v->list[i]);
    struct duck_type *type = d->create_logical_type(DUCK_TYPE_BIGINT);
    struct duck_value *list = d->create_list_value(type, items, v->list_count);
    int state = list ? d->bind_value(q->statement, place, list) : DUCK_ERROR;
    d->destroy_value(&list);
    d->destroy_logical_type(&type);
    for (size_t i = 0; i < v->list_count; i++)
        d->destroy_value(&items[i]);
    mem_free(items);
    return state;
}

static int bind_one(struct sql *q, uint64_t place, const struct sql_arg *a)
{
    const struct duck *d = q->duck;
    const struct store_value *v = &a->value;
    if (v->null)
        return d->bind_null(q->statement, place);
    switch (a->type) {
    case STORE_INT:
        return d->bind_int64(q->statement, place, v->i);
    case STORE_REAL:
        return d->bind_double(q->statement, place, v->r);
    case STORE_TEXT:
    case STORE_NAME:
        return d->bind_varchar_length(q->statement, place, v->text.len ? v->text.at : "",
                                      v->text.len);
    case STORE_LIST:
        return bind_list(q, place, v);
    }
    return DUCK_ERROR;
}

/* ---- running ------------------------------------------------------------------------------- */

static int start(struct sql *q, struct err *e)
{
    struct duck_pending *p = NULL;
    int rc = 0;
    if (q->duck->pending_prepared_streaming(q->statement, &p) != DUCK_OK) {
        rc = sql_fail(e, q->duck->pending_error(p));
    } else {
        q->has_result = true;
        if (q->duck->execute_pending(p, &q->result) != DUCK_OK)
            rc = sql_fail(e, q->duck->result_error(&q->result));
    }
    q->duck->destroy_pending(&p);
    return rc;
}

static struct store_text text_of(const struct page *p, unsigned column, size_t row)
{
    const struct duck_string *s = (const struct duck_string *)p->data[column] + row;
    return (struct store_text){s->length <= DUCK_STRING_INLINED ? s->prefix : s->at, s->length};
}

int sql_open(struct sql *q, const struct duck *d, struct duck_connection *c,
             const struct sql_bound *s, struct err *e)
{
    memset(q, 0, sizeof *q);
    q->duck = d;
    q->page.text = text_of;
    if (d->prepare(c, s->text, &q->statement) != DUCK_OK)
        return sql_fail(e, d->prepare_error(q->statement));
    for (size_t i = 0; i < s->n; i++)
        if (bind_one(q, i + 1, &s->args[i]) != DUCK_OK)
            return err_set(e, GPUFL_E_INVAL, "DuckDB: value %zu does not fit its parameter", i + 1);
    int rc = start(q, e);
    if (rc)
        return rc;
    q->page.columns = (unsigned)d->column_count(&q->result);
    return q->page.columns <= PAGE_COLUMNS_MAX ? 0 : err_set(e, GPUFL_E_FULL, "too many columns");
}

static void drop_chunk(struct sql *q)
{
    if (q->chunk)
        q->duck->destroy_data_chunk(&q->chunk);
    q->chunk = NULL;
    q->page.rows = 0;
}

void sql_close(struct sql *q)
{
    if (!q->duck)
        return;
    drop_chunk(q);
    if (q->has_result)
        q->duck->destroy_result(&q->result);
    if (q->statement)
        q->duck->destroy_prepare(&q->statement);
    memset(q, 0, sizeof *q);
}

int sql_next(struct sql *q, struct err *e)
{
    const struct duck *d = q->duck;
    do {
        drop_chunk(q);
        q->chunk = d->fetch_chunk(q->result);
        if (!q->chunk) {
            const char *message = d->result_error(&q->result);
            return message && *message ? sql_fail(e, message) : 0;
        }
        q->page.rows = d->data_chunk_get_size(q->chunk);
    } while (!q->page.rows);
    for (unsigned i = 0; i < q->page.columns; i++) {
        struct duck_vector *v = d->data_chunk_get_vector(q->chunk, i);
        q->page.data[i] = d->vector_get_data(v);
        q->page.valid[i] = d->vector_get_validity(v);
    }
    return 1;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void quoted(struct buf *b, const char *text, char quote)
{
    buf_char(b, quote);
    for (; *text; text++) {
        if (*text == quote)
            buf_char(b, quote);
        buf_char(b, *text);
    }
    buf_char(b, quote);
}

void sql_name(struct buf *b, const char *name)
{
    quoted(b, name, '"');
}

void sql_literal(struct buf *b, const char *text)
{
    quoted(b, text, '\'');
}
