/* write_sums.c - sums that go with a transaction: kernels by slice, lanes.
 *
 * Kernel rows are numbered by the file itself, from 0 in the order in which they
 * came (rowid: nothing is ever deleted from that table). What stands behind the last
 * slice is summed up again when a writer starts. */
#include "store/duckdb/write.h"

#include <string.h>

static int no_memory(struct err *e)
{
    return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
}

/* ---- what a file has already ------------------------------------------------------------------ */

static int load_slices(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    w->slices = w->summed = 0;
    if (!ss->have[TABLE_kernel_slice])
        return 0;
    buf_clear(&w->text);
    buf_str(&w->text, "SELECT count(*), coalesce(max(first_row + \"rows\"), 0)::BIGINT FROM ");
    session_name(&w->text, ss, TABLE_kernel_slice);
    int code = sql_open(&q, ss->store->duck, w->connection->handle, buf_cstr(&w->text), NULL, 0, e);
    int more = code ? code : sql_next(&q, e);
    if (more > 0) {
        w->slices = sql_int(&q, 0, 0);
        w->summed = sql_int(&q, 1, 0);
    }
    sql_close(&q);
    return more < 0 ? more : 0;
}

static int load_rest(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    if (!ss->have[RECORD_kernel])
        return 0;
    buf_clear(&w->text);
    buf_str(&w->text, "SELECT start, duration, config, stream FROM ");
    session_name(&w->text, ss, RECORD_kernel);
    buf_str(&w->text, " WHERE rowid >= $1");
    const struct sql_arg from[] = {SQL_INT(w->summed)};
    int code = sql_open(&q, ss->store->duck, w->connection->handle, buf_cstr(&w->text), from, 1, e);
    int more = code ? code : 1;
    while (!code && (more = sql_next(&q, e)) > 0)
        code = ask_add_kernels(&w->kernels, &q.page);
    sql_close(&q);
    if (code == GPUFL_E_NOMEM)
        return no_memory(e);
    return more < 0 ? more : code;
}

int write_sums_load(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    kernel_sums_clear(&w->kernels);
    rowset_clear(&w->lanes);
    int code = load_slices(ss, e);
    return code ? code : load_rest(ss, e);
}

/* ---- slices ------------------------------------------------------------------------------------ */

static int put_row(struct rows *r, const int64_t *cells, unsigned n, struct err *e)
{
    for (unsigned i = 0; i < n; i++)
        rows_int(r, i, cells[i]);
    return rows_end(r, e);
}

static int put_cells(struct store_session *ss, struct err *e)
{
    const struct kernel_sums *k = &ss->writer->kernels;
    struct rows *r;
    int code = write_table(ss, TABLE_kernel_sum, &r, e);
    for (size_t i = 0; !code && i < kernel_sums_cells(k); i++) {
        const struct kernel_cell *c = kernel_sums_cell(k, i);
        const int64_t before[] = {ss->writer->slices, c->config, c->stream, c->calls, c->total};
        for (unsigned n = 0; n < 5; n++)
            rows_int(r, n, before[n]);
        rows_real(r, 5, kernel_cell_spread(c));
        rows_int(r, 6, c->shortest);
        rows_int(r, 7, c->longest);
        code = rows_end(r, e);
    }
    return code;
}

static int put_bins(struct store_session *ss, struct err *e)
{
    const struct kernel_sums *k = &ss->writer->kernels;
    struct rows *r;
    int code = write_table(ss, TABLE_kernel_bin, &r, e);
    for (size_t i = 0; !code && i < kernel_sums_bins(k); i++) {
        const struct kernel_bin *b = kernel_sums_bin(k, i);
        const int64_t cells[] = {ss->writer->slices, b->config, b->stream, b->bin,
                                 b->calls,           b->total};
        code = put_row(r, cells, 6, e);
    }
    return code;
}

static int put_slice(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct kernel_sums *k = &w->kernels;
    struct rows *r;
    const int64_t cells[] = {w->slices, w->summed, k->rows, k->least_start, k->greatest_start};
    int code = write_table(ss, TABLE_kernel_slice, &r, e);
    code = code ? code : put_row(r, cells, 5, e);
    code = code ? code : put_cells(ss, e);
    code = code ? code : put_bins(ss, e);
    w->slices++;
    w->summed += k->rows;
    kernel_sums_clear(k);
    return code;
}

int write_sums_kernels(struct store_session *ss, const struct wire_batch *b, struct err *e)
{
    struct kernel_sums *k = &ss->writer->kernels;
    static const unsigned columns[] = {COL_kernel_start, COL_kernel_duration, COL_kernel_config,
                                       COL_kernel_stream};
    int code = 0;
    for (size_t done = 0, n; !code && done < b->rows; done += n) {
        const int64_t *at[4];
        n = (size_t)(KERNEL_SLICE - k->rows);
        n = n < b->rows - done ? n : b->rows - done;
        for (unsigned i = 0; i < 4; i++)
            at[i] = b->col[columns[i]] ? b->col[columns[i]] + done : NULL;
        if (kernel_sums_add(k, at[0], at[1], at[2], at[3], n))
            return no_memory(e);
        if (k->rows == KERNEL_SLICE)
            code = put_slice(ss, e);
    }
    return code;
}

int write_sums_commit(struct store_session *ss, struct err *e)
{
    struct rowset *s = &ss->writer->lanes;
    struct rows *r;
    int code = s->row_count ? write_table(ss, TABLE_lane, &r, e) : 0;
    for (size_t i = 0; !code && i < s->row_count; i++)
        code = put_row(r, s->rows + i * s->width, (unsigned)s->width, e);
    rowset_clear(s);
    return code;
}
