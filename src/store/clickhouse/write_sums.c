/* write_sums.c - sums that go with a transaction: kernels by slice, lanes.
 *
 * A slice is a run of kernel rows, of which the last is not full: it is summed up again when a
 * writer starts. */
#include "store/clickhouse/write.h"

#include <inttypes.h>
#include <string.h>

_Static_assert((int)KERNEL_SLICE == (int)RUN_ROWS, "a slice is a run");

static int no_memory(struct err *e)
{
    err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    return GPUFL_E_NOMEM;
}

static int take_rest(void *arg, const struct page *p)
{
    return ask_add_kernels(arg, p);
}

int click_write_sums_load(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct buf text;
    kernel_sums_clear(&w->kernels);
    rowset_clear(&w->lanes);
    if (!w->state.rows[RECORD_kernel])
        return 0;
    buf_init(&text, 256 << 10);
    buf_str(&text, "SELECT start, duration, config, stream FROM ");
    place_put(&text, ss->store, ss->workspace->name, place_name(RECORD_kernel));
    buf_str(&text, " WHERE ");
    state_where(&text, ss, &w->state);
    buf_printf(&text, " AND run >= %" PRId64 " FORMAT Native", w->state.rows[TABLE_kernel_slice]);
    int code =
        link_ask(&ss->store->links, ss->host, text.data, text.len, 0, take_rest, &w->kernels, e);
    buf_fini(&text);
    return code;
}

static int put_row(struct store_session *ss, unsigned table, const int64_t *cells, struct err *e)
{
    struct rows *r;
    int code = click_write_place(ss, table, 1, &r, e);
    if (code)
        return code;
    return click_rows_put(r, cells) ? no_memory(e) : 0;
}

static int put_cells(struct store_session *ss, int64_t slice, struct err *e)
{
    const struct kernel_sums *k = &ss->writer->kernels;
    int code = 0;
    for (size_t i = 0; !code && i < kernel_sums_cells(k); i++) {
        const struct kernel_cell *c = kernel_sums_cell(k, i);
        double spread = kernel_cell_spread(c);
        int64_t bits; /* the column's own type has them as they are */
        memcpy(&bits, &spread, sizeof bits);
        const int64_t cells[] = {slice,    c->config, c->stream,   c->calls,
                                 c->total, bits,      c->shortest, c->longest};
        code = put_row(ss, TABLE_kernel_sum, cells, e);
    }
    return code;
}

static int put_slice(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct kernel_sums *k = &w->kernels;
    int64_t slice = w->next.rows[TABLE_kernel_slice];
    const int64_t cells[] = {slice, slice << RUN_SHIFT, k->rows, k->least_start, k->greatest_start};
    int code = put_row(ss, TABLE_kernel_slice, cells, e);
    code = code ? code : put_cells(ss, slice, e);
    for (size_t i = 0; !code && i < kernel_sums_bins(k); i++) {
        const struct kernel_bin *b = kernel_sums_bin(k, i);
        const int64_t bin[] = {slice, b->config, b->stream, b->bin, b->calls, b->total};
        code = put_row(ss, TABLE_kernel_bin, bin, e);
    }
    kernel_sums_clear(k);
    return code;
}

int click_write_sums_kernels(struct store_session *ss, const struct wire_batch *b, struct err *e)
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

int click_write_sums_commit(struct store_session *ss, struct err *e)
{
    struct rowset *s = &ss->writer->lanes;
    int code = 0;
    for (size_t i = 0; !code && i < s->row_count; i++)
        code = put_row(ss, TABLE_lane, s->rows + i * s->width, e);
    rowset_clear(s);
    return code;
}
