/* rows.c - see rows.h. */
#include "store/clickhouse/rows.h"

#include "base/alloc.h"

#include <string.h>

enum { COLUMN_MAX = 256 << 20 };

void click_rows_init(struct rows *r, unsigned place)
{
    memset(r, 0, sizeof *r);
    r->place = place;
    r->table = store_table(place);
    for (unsigned i = 0; i < RECORD_MAX_COLUMNS; i++)
        buf_init(&r->columns[i], COLUMN_MAX);
    buf_init(&r->marks, COLUMN_MAX);
}

void click_rows_fini(struct rows *r)
{
    for (unsigned i = 0; i < RECORD_MAX_COLUMNS; i++)
        buf_fini(&r->columns[i]);
    buf_fini(&r->marks);
}

void click_rows_clear(struct rows *r, int64_t first)
{
    for (unsigned i = 0; i < r->table->column_count; i++)
        buf_clear(&r->columns[i]);
    buf_clear(&r->marks);
    r->count = 0;
    r->first = first;
}

size_t click_rows_bytes(const struct rows *r)
{
    size_t bytes = r->marks.len + r->count * 32;
    for (unsigned i = 0; i < r->table->column_count; i++)
        bytes += r->columns[i].len;
    return bytes;
}

int click_rows_check(const struct rows *r)
{
    for (unsigned i = 0; i < r->table->column_count; i++)
        if (buf_error(&r->columns[i]))
            return GPUFL_E_NOMEM;
    return buf_error(&r->marks) ? GPUFL_E_NOMEM : 0;
}

static void put_cells(struct buf *b, int64_t cell, size_t n)
{
    if (buf_reserve(b, n * sizeof cell))
        return;
    int64_t *to = (int64_t *)(void *)(b->data + b->len); /* the buffer has only such cells */
    for (size_t i = 0; i < n; i++)
        to[i] = cell;
    b->len += n * sizeof cell;
}

int click_rows_put_columns(struct rows *r, const int64_t *const *columns, size_t n)
{
    for (unsigned i = 0; i < r->table->column_count; i++)
        if (columns[i])
            buf_put(&r->columns[i], columns[i], n * sizeof(int64_t));
        else
            put_cells(&r->columns[i], CELL_NULL, n);
    r->count += n;
    return click_rows_check(r);
}

void click_rows_int(struct rows *r, unsigned column, int64_t v)
{
    buf_put(&r->columns[column], &v, sizeof v);
}

void click_rows_text(struct rows *r, unsigned column, const char *at, size_t len)
{
    native_text(&r->columns[column], at, len);
}

int click_rows_end(struct rows *r, int64_t mark)
{
    if (place_levelled(r->place) || place_completed(r->place))
        buf_put(&r->marks, &mark, sizeof mark);
    r->count++;
    return r->count % 1024 ? 0 : click_rows_check(r);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void put_same(struct buf *body, const char *name, const char *type, int64_t v, size_t n)
{
    native_column(body, name, type);
    if (buf_reserve(body, n * sizeof v))
        return;
    for (size_t i = 0; i < n; i++)
        memcpy(body->data + body->len + i * sizeof v, &v, sizeof v);
    body->len += n * sizeof v;
}

static void put_numbers(struct buf *body, const char *name, int64_t first, unsigned shift, size_t n)
{
    native_column(body, name, "Int64");
    if (buf_reserve(body, n * sizeof first))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t v = (first + (int64_t)i) >> shift;
        memcpy(body->data + body->len + i * sizeof v, &v, sizeof v);
    }
    body->len += n * sizeof first;
}

/* Puts the run and rowid of rows from their marks. */
static void put_marked(struct buf *body, const struct buf *marks, size_t n)
{
    native_column(body, "run", "Int64");
    for (size_t i = 0; i < n; i++) {
        int64_t rowid;
        memcpy(&rowid, marks->data + i * sizeof rowid, sizeof rowid);
        rowid >>= RUN_SHIFT;
        buf_put(body, &rowid, sizeof rowid);
    }
    native_column(body, "rowid", "Int64");
    buf_put(body, marks->data, marks->len);
}

static void put_block(struct rows *r, const struct store_session *ss, int64_t commit,
                      struct buf *body)
{
    static const char *const types[] = {
        [CELL_INT] = "Int64",
        [CELL_REAL] = "Float64",
        [CELL_TEXT] = "String",
        [CELL_BYTES] = "String",
    };
    bool numbered = place_numbered(r->place), levelled = place_levelled(r->place);
    native_block(body, r->table->column_count + 2 + 2 * numbered + levelled, r->count);
    put_same(body, "session", "UInt64", (int64_t)ss->key, r->count);
    put_same(body, "commit", "Int64", commit, r->count);
    if (levelled) {
        native_column(body, "level", "Int64");
        buf_put(body, r->marks.data, r->marks.len);
    }
    if (place_completed(r->place)) {
        put_marked(body, &r->marks, r->count);
    } else if (numbered) {
        put_numbers(body, "run", r->first, RUN_SHIFT, r->count);
        put_numbers(body, "rowid", r->first, 0, r->count);
    }
    for (unsigned i = 0; i < r->table->column_count; i++) {
        native_column(body, r->table->columns[i].name, types[r->table->columns[i].type]);
        buf_put(body, r->columns[i].data, r->columns[i].len);
    }
}

int click_rows_send(struct rows *r, const struct store_session *ss, int64_t commit,
                    struct buf *body, struct err *e)
{
    struct buf into;
    int rc = click_rows_check(r) ? GPUFL_E_NOMEM : 0;
    if (rc || !r->count)
        return rc ? err_set(e, rc, "%s", err_text(rc)) : 0;
    rc = place_ready(ss->store, ss->workspace, r->place, e);
    if (rc)
        return rc;
    buf_clear(body);
    put_block(r, ss, commit, body);
    buf_init(&into, 4096);
    place_put(&into, ss->store, ss->workspace->name, place_name(r->place));
    rc = buf_error(body)
             ? err_nomem(e)
             : link_insert(&ss->store->links, ss->host, buf_cstr(&into), body->data, body->len, e);
    buf_fini(&into);
    return rc;
}
