/* rows.c - fills chunks by copying columns; see rows.h. */
#include "store/duckdb/rows.h"

#include <string.h>

static int failed(struct rows *r, struct err *e)
{
    return sql_fail(e, r->duck->appender_error(r->appender));
}

static int duck_type_of(enum cell_type type)
{
    static const int types[] = {
        [CELL_INT] = DUCK_TYPE_BIGINT,
        [CELL_REAL] = DUCK_TYPE_DOUBLE,
        [CELL_TEXT] = DUCK_TYPE_VARCHAR,
        [CELL_BYTES] = DUCK_TYPE_BLOB,
    };
    return types[type];
}

/* Looks up the addresses of the vectors' cells, which change with each reset. */
static void look_up(struct rows *r)
{
    r->filled = 0;
    for (unsigned i = 0; i < r->table->column_count; i++) {
        r->vectors[i] = r->duck->data_chunk_get_vector(r->chunk, i);
        r->data[i] = r->duck->vector_get_data(r->vectors[i]);
        r->valid[i] = NULL;
    }
}

int rows_open(struct rows *r, const struct duck *d, struct duck_connection *c, const char *catalog,
              const struct table *t, struct err *e)
{
    struct duck_type *types[RECORD_MAX_COLUMNS];
    memset(r, 0, sizeof *r);
    r->duck = d;
    r->table = t;
    if (d->appender_create_ext(c, catalog, "main", t->name, &r->appender) != DUCK_OK) {
        int rc = failed(r, e);
        rows_close(r);
        return rc;
    }
    for (unsigned i = 0; i < t->column_count; i++)
        types[i] = d->create_logical_type(duck_type_of(t->columns[i].type));
    r->chunk = d->create_data_chunk(types, t->column_count);
    for (unsigned i = 0; i < t->column_count; i++)
        d->destroy_logical_type(&types[i]);
    if (!r->chunk) {
        rows_close(r);
        return err_nomem(e);
    }
    r->size = d->vector_size();
    look_up(r);
    return 0;
}

static int hand_over(struct rows *r, struct err *e)
{
    if (!r->filled)
        return 0;
    r->duck->data_chunk_set_size(r->chunk, r->filled);
    if (r->duck->append_data_chunk(r->appender, r->chunk) != DUCK_OK)
        return failed(r, e);
    r->duck->data_chunk_reset(r->chunk);
    look_up(r);
    return 0;
}

int rows_flush(struct rows *r, struct err *e)
{
    int rc = hand_over(r, e);
    if (!rc && r->duck->appender_flush(r->appender) != DUCK_OK)
        rc = failed(r, e);
    return rc;
}

void rows_close(struct rows *r)
{
    if (!r->duck)
        return;
    if (r->chunk)
        r->duck->destroy_data_chunk(&r->chunk);
    if (r->appender) {
        /* Without this, leftover rows would go to a transaction that has ended. */
        if (r->duck->appender_clear)
            r->duck->appender_clear(r->appender);
        r->duck->appender_destroy(&r->appender);
    }
    memset(r, 0, sizeof *r);
}

/* ---- cells that are not known ---------------------------------------------------------------- */

static uint64_t *validity(struct rows *r, unsigned column)
{
    if (!r->valid[column]) {
        r->duck->vector_ensure_validity_writable(r->vectors[column]);
        r->valid[column] = r->duck->vector_get_validity(r->vectors[column]);
    }
    return r->valid[column];
}

static void clear_bit(uint64_t *bits, size_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static void clear_bits(uint64_t *bits, size_t from, size_t n)
{
    for (; n && from % 64; from++, n--)
        clear_bit(bits, from);
    for (; n >= 64; from += 64, n -= 64)
        bits[from / 64] = 0;
    for (; n; from++, n--)
        clear_bit(bits, from);
}

static bool any_null(const int64_t *cells, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= cells[i] == CELL_NULL;
    return any;
}

static void put_cells(struct rows *r, unsigned column, const int64_t *cells, size_t n)
{
    if (!cells) {
        clear_bits(validity(r, column), r->filled, n);
        return;
    }
    memcpy((int64_t *)r->data[column] + r->filled, cells, n * sizeof *cells);
    if (!any_null(cells, n))
        return;
    uint64_t *bits = validity(r, column);
    for (size_t i = 0; i < n; i++)
        if (cells[i] == CELL_NULL)
            clear_bit(bits, r->filled + i);
}

int rows_put_columns(struct rows *r, const int64_t *const *columns, size_t n, struct err *e)
{
    int rc = 0;
    for (size_t done = 0; !rc && done < n;) {
        size_t step = r->size - r->filled;
        if (step > n - done)
            step = n - done;
        for (unsigned i = 0; i < r->table->column_count; i++)
            put_cells(r, i, columns[i] ? columns[i] + done : NULL, step);
        r->filled += step;
        done += step;
        if (r->filled == r->size)
            rc = hand_over(r, e);
    }
    return rc;
}

/* ---- row by row ------------------------------------------------------------------------------ */

void rows_int(struct rows *r, unsigned column, int64_t v)
{
    ((int64_t *)r->data[column])[r->filled] = v;
    if (v == CELL_NULL)
        clear_bit(validity(r, column), r->filled);
}

void rows_null(struct rows *r, unsigned column)
{
    clear_bit(validity(r, column), r->filled);
}

void rows_real(struct rows *r, unsigned column, double v)
{
    ((double *)r->data[column])[r->filled] = v;
}

void rows_text(struct rows *r, unsigned column, const char *at, size_t len)
{
    r->duck->vector_assign_string_element_len(r->vectors[column], r->filled, len ? at : "", len);
}

int rows_end(struct rows *r, struct err *e)
{
    r->filled++;
    return r->filled == r->size ? hand_over(r, e) : 0;
}
