/* append_sums.c - keeps sums that go with a transaction: kernels by slice, lanes.
 *
 * Kernel rows are numbered from 0 in the order in which they came. A slice is KERNEL_SLICE rows;
 * the rows after the last slice are summed up again when a writer starts. */
#include "store/append.h"

#include <string.h>

static int put(struct append *a, unsigned table, const int64_t *cells, struct err *e)
{
    return a->engine->row(a->session, table, cells, NULL, e);
}

static int put_cells(struct append *a, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < kernel_sums_cells(&a->kernels); i++) {
        const struct kernel_cell *c = kernel_sums_cell(&a->kernels, i);
        double spread = kernel_cell_spread(c);
        int64_t bits;
        memcpy(&bits, &spread, sizeof bits);
        const int64_t cells[] = {a->slices, c->config, c->stream,   c->calls,
                                 c->total,  bits,      c->shortest, c->longest};
        rc = put(a, TABLE_kernel_sum, cells, e);
    }
    return rc;
}

static int put_bins(struct append *a, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < kernel_sums_bins(&a->kernels); i++) {
        const struct kernel_bin *b = kernel_sums_bin(&a->kernels, i);
        const int64_t cells[] = {a->slices, b->config, b->stream, b->bin, b->calls, b->total};
        rc = put(a, TABLE_kernel_bin, cells, e);
    }
    return rc;
}

static int put_slice(struct append *a, struct err *e)
{
    const struct kernel_sums *k = &a->kernels;
    const int64_t cells[] = {a->slices, a->summed, k->rows, k->least_start, k->greatest_start};
    int rc = put(a, TABLE_kernel_slice, cells, e);
    if (rc || (rc = put_cells(a, e)))
        goto done;
    rc = put_bins(a, e);
done:
    a->slices++;
    a->summed += k->rows;
    kernel_sums_clear(&a->kernels);
    return rc;
}

int append_kernels(struct append *a, const struct wire_batch *b, struct err *e)
{
    struct kernel_sums *k = &a->kernels;
    static const unsigned columns[] = {COL_kernel_start, COL_kernel_duration, COL_kernel_config,
                                       COL_kernel_stream};
    int rc = 0;
    for (size_t done = 0, n; !rc && done < b->rows; done += n) {
        const int64_t *at[4];
        n = (size_t)(KERNEL_SLICE - k->rows);
        n = n < b->rows - done ? n : b->rows - done;
        for (unsigned i = 0; i < 4; i++)
            at[i] = b->col[columns[i]] ? b->col[columns[i]] + done : NULL;
        if (kernel_sums_add(k, at[0], at[1], at[2], at[3], n))
            return err_nomem(e);
        if (k->rows == KERNEL_SLICE)
            rc = put_slice(a, e);
    }
    return rc;
}

int append_lanes(struct append *a, struct err *e)
{
    const struct rowset *s = &a->lanes;
    int rc = 0;
    for (size_t i = 0; !rc && i < s->row_count; i++)
        rc = put(a, TABLE_lane, s->rows + i * s->width, e);
    rowset_clear(&a->lanes);
    return rc;
}
