/* history_rows.c - see history_rows.h. */
#include "server/api/history_rows.h"

#include "analyze/common/order.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lists the columns of the question. */
enum {
    AT_session,
    AT_started,
    AT_app,
    AT_host,
    AT_device,
    AT_shape,
    AT_calls,
    AT_total,
    AT_p50,
    AT_p99,
    AT_share,
    AT_COUNT
};

enum { BLOCK_ROWS = 1024 };

void history_rows_init(struct history_rows *h)
{
    memset(h, 0, sizeof *h);
    region_init(&h->memory, HISTORY_ROWS_MEMORY);
}

void history_rows_fini(struct history_rows *h)
{
    region_fini(&h->memory);
    mem_free(h->sessions);
    mem_free(h->points);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int64_t int_at(const struct store_chunk *c, int column, size_t row)
{
    const struct store_vec *v = &c->columns[column];
    return store_known(v, row) ? v->ints[row] : 0;
}

static double real_at(const struct store_chunk *c, int column, size_t row)
{
    const struct store_vec *v = &c->columns[column];
    return store_known(v, row) ? v->reals[row] : NAN;
}

/* Copies a text; a text that is equal to the row's before is the same one. NULL: no memory. */
static const char *text_at(struct history_rows *h, const struct store_chunk *c, int column,
                           size_t row, const char *before)
{
    const struct store_vec *v = &c->columns[column];
    struct store_text t = store_known(v, row) ? v->texts[row] : (struct store_text){"", 0};
    if (before && strlen(before) == t.len && memcmp(before, t.at, t.len) == 0)
        return before;
    return region_copy(&h->memory, t.at, t.len);
}

/* Returns memory for one more row. Rows do not move: no row is copied when there are more. */
static struct history_session *row_new(struct history_rows *h)
{
    if (mem_grow(&h->sessions, &h->cap, h->count + 1, sizeof(*h->sessions), /* NOLINT */
                 HISTORY_ROWS_MAX + 1))
        return NULL;
    if (h->count % BLOCK_ROWS == 0)
        h->block = region_take(&h->memory, BLOCK_ROWS * sizeof *h->block);
    return h->block ? &h->block[h->count % BLOCK_ROWS] : NULL;
}

static int take_row(struct history_rows *h, const struct store_chunk *c, size_t i)
{
    static const struct history_session none;
    if (h->count == HISTORY_ROWS_MAX)
        return GPUFL_E_FULL;
    const struct history_session *before = h->count ? h->sessions[h->count - 1] : &none;
    struct history_session *r = row_new(h);
    if (!r)
        return GPUFL_E_NOMEM;
    *r = (struct history_session){.session = text_at(h, c, AT_session, i, before->session),
                                  .app = text_at(h, c, AT_app, i, before->app),
                                  .host = text_at(h, c, AT_host, i, before->host),
                                  .gpu = text_at(h, c, AT_device, i, before->gpu),
                                  .shape = text_at(h, c, AT_shape, i, before->shape),
                                  .started = int_at(c, AT_started, i),
                                  .calls = int_at(c, AT_calls, i),
                                  .total = int_at(c, AT_total, i),
                                  .p50 = real_at(c, AT_p50, i),
                                  .p99 = real_at(c, AT_p99, i),
                                  .share = real_at(c, AT_share, i)};
    h->sessions[h->count++] = r;
    return r->session && r->app && r->host && r->gpu && r->shape ? 0 : GPUFL_E_NOMEM;
}

static int take(void *arg, const struct store_chunk *c)
{
    int rc = c->column_count < AT_COUNT ? GPUFL_E_CORRUPT : 0;
    for (size_t i = 0; !rc && i < c->rows; i++)
        rc = take_row(arg, c, i);
    return rc;
}

struct store_visitor history_rows_visitor(struct history_rows *h)
{
    return (struct store_visitor){.arg = h, .chunk = take};
}

/* ---- in order of time ------------------------------------------------------------------------ */

/* Compares rows that started at one time: by session, then the greatest total first. */
static int by_session(const void *a, const void *b)
{
    const struct history_session *const *x = a, *const *y = b;
    int order = strcmp((*x)->session, (*y)->session);
    if (order || (*x)->total != (*y)->total)
        return order ? order : (*x)->total > (*y)->total ? -1 : 1;
    order = strcmp((*x)->shape, (*y)->shape);
    return order ? order : strcmp((*x)->gpu, (*y)->gpu);
}

/* Sorts rows that started at one time. */
static void sort_ties(struct history_session **rows, size_t n)
{
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && rows[to]->started == rows[from]->started; to++)
            ;
        if (to - from > 1)
            qsort(rows + from, to - from, sizeof(*rows), by_session); /* NOLINT */
    }
}

/* Sorts the rows by start, session, total, shape and GPU. */
static int sort_rows(struct history_rows *h)
{
    size_t n = h->count;
    int64_t *starts = mem_array(n + 1, sizeof *starts);
    uint32_t *order = mem_array(n + 1, sizeof *order);
    struct history_session **sorted = mem_array(n + 1, sizeof(*sorted)); /* NOLINT */
    int rc = starts && order && sorted ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        starts[i] = h->sessions[i]->started;
    rc = rc ? rc : order_ints(starts, n, order);
    for (size_t i = 0; !rc && i < n; i++)
        sorted[i] = h->sessions[order[i]];
    mem_free(order);
    mem_free(starts);
    mem_free(h->sessions);
    h->sessions = sorted;
    if (rc == 0)
        sort_ties(sorted, n);
    return rc;
}

/* ---- by session ------------------------------------------------------------------------------ */

static void add_shape(struct history_rows *h, const struct history_session *r)
{
    size_t at = 0;
    while (at < h->shape_count && strcmp(r->shape, h->shapes[at].shape) != 0)
        at++;
    if (at == HISTORY_SHAPES_MAX || !*r->shape)
        return;
    if (at == h->shape_count) {
        h->shapes[at] = (struct history_shape){.shape = r->shape};
        h->shape_count++;
    }
    h->shapes[at].sessions++;
    h->shapes[at].calls += r->calls;
    h->shapes[at].total += r->total;
}

/* Adds a row to the sums of its session, which is that of the row before. */
static void add_row(struct history_session *s, const struct history_session *r)
{
    if (strcmp(s->gpu, r->gpu) != 0)
        s->gpu = "";
    s->calls += r->calls;
    s->total += r->total;
    s->share = !isnan(s->share) && !isnan(r->share) ? s->share + r->share : r->share;
    s->p50 = NAN;
    s->p99 = NAN;
}

/* Makes sessions of the sorted rows. */
static void sum_rows(struct history_rows *h)
{
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++) {
        struct history_session *r = h->sessions[i], *s = count ? h->sessions[count - 1] : NULL;
        if (r->calls <= 0 || r->total <= 0)
            continue; /* a logarithm needs a duration */
        add_shape(h, r);
        if (s && s->started == r->started && strcmp(s->session, r->session) == 0)
            add_row(s, r);
        else
            h->sessions[count++] = r;
    }
    h->count = count;
}

static int by_total(const void *a, const void *b)
{
    const struct history_shape *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->shape, y->shape);
}

int history_rows_finish(struct history_rows *h)
{
    int rc = sort_rows(h);
    if (rc)
        return rc;
    sum_rows(h);
    h->points = mem_array(h->count + 1, sizeof *h->points);
    if (!h->points)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_session *s = h->sessions[i];
        h->points[i] = (struct history_point){.session = s->session,
                                              .host = s->host,
                                              .gpu = s->gpu,
                                              .mean = (double)s->total / (double)s->calls};
    }
    qsort(h->shapes, h->shape_count, sizeof *h->shapes, by_total);
    return 0;
}
