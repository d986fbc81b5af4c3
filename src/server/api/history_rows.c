/* history_rows.c - see history_rows.h. */
#include "server/api/history_rows.h"

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
    AT_name,
    AT_shape,
    AT_calls,
    AT_total,
    AT_mean,
    AT_deviation,
    AT_p50,
    AT_p99,
    AT_share,
    AT_COUNT
};

void history_rows_init(struct history_rows *h, const char *host)
{
    memset(h, 0, sizeof *h);
    region_init(&h->memory, HISTORY_ROWS_MEMORY);
    h->host = host;
}

void history_rows_fini(struct history_rows *h)
{
    region_fini(&h->memory);
    mem_free(h->sessions);
    mem_free(h->points);
}

static bool same(struct store_text t, const char *text)
{
    return strlen(text) == t.len && memcmp(text, t.at, t.len) == 0;
}

static struct store_text text_at(const struct store_chunk *c, int column, size_t row)
{
    const struct store_vec *v = &c->columns[column];
    return store_known(v, row) ? v->texts[row] : (struct store_text){"", 0};
}

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

static const char *copy(struct history_rows *h, struct store_text t)
{
    return region_copy(&h->memory, t.at, t.len);
}

static int add_shape(struct history_rows *h, const struct store_chunk *c, size_t row)
{
    struct store_text shape = text_at(c, AT_shape, row);
    size_t at = 0;
    while (at < h->shape_count && !same(shape, h->shapes[at].shape))
        at++;
    if (at == HISTORY_SHAPES_MAX || !shape.len)
        return 0;
    if (at == h->shape_count) {
        h->shapes[at] = (struct history_shape){.shape = copy(h, shape)};
        if (!h->shapes[at].shape)
            return GPUFL_E_NOMEM;
        h->shape_count++;
    }
    h->shapes[at].sessions++;
    h->shapes[at].calls += int_at(c, AT_calls, row);
    h->shapes[at].total += int_at(c, AT_total, row);
    return 0;
}

/* Returns the session of a row: mostly the last one's. NULL: out of memory. */
static struct history_session *session_at(struct history_rows *h, const struct store_chunk *c,
                                          size_t row)
{
    struct store_text id = text_at(c, AT_session, row), gpu = text_at(c, AT_device, row);
    struct history_session *s = h->count ? &h->sessions[h->count - 1] : NULL;
    if (s && same(id, s->session)) {
        if (!same(gpu, s->gpu))
            s->gpu = "";
        return s;
    }
    if (mem_grow(&h->sessions, &h->cap, h->count + 1, sizeof *s, HISTORY_ROWS_MAX + 1))
        return NULL;
    s = &h->sessions[h->count++];
    *s = (struct history_session){.session = copy(h, id),
                                  .app = copy(h, text_at(c, AT_app, row)),
                                  .host = copy(h, text_at(c, AT_host, row)),
                                  .gpu = copy(h, gpu),
                                  .started = int_at(c, AT_started, row)};
    return s->session && s->app && s->host && s->gpu ? s : NULL;
}

static int take(void *arg, const struct store_chunk *c)
{
    struct history_rows *h = arg;
    int rc = 0;
    if (c->column_count < AT_COUNT)
        return GPUFL_E_CORRUPT;
    for (size_t i = 0; !rc && i < c->rows; i++) {
        if (++h->rows > HISTORY_ROWS_MAX)
            return GPUFL_E_FULL;
        if (int_at(c, AT_calls, i) <= 0 || int_at(c, AT_total, i) <= 0 ||
            (h->host && !same(text_at(c, AT_host, i), h->host)))
            continue; /* a logarithm needs a duration */
        struct history_session *s = session_at(h, c, i);
        if (!s)
            return GPUFL_E_NOMEM;
        s->calls += int_at(c, AT_calls, i);
        s->total += int_at(c, AT_total, i);
        double share = real_at(c, AT_share, i);
        s->share = s->rows && !isnan(s->share) && !isnan(share) ? s->share + share : share;
        s->p50 = s->rows ? NAN : real_at(c, AT_p50, i);
        s->p99 = s->rows ? NAN : real_at(c, AT_p99, i);
        s->rows++;
        rc = add_shape(h, c, i);
    }
    return rc;
}

struct store_visitor history_rows_visitor(struct history_rows *h)
{
    return (struct store_visitor){.arg = h, .chunk = take};
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
    h->points = mem_array(h->count + 1, sizeof *h->points);
    if (!h->points)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_session *s = &h->sessions[i];
        h->points[i] = (struct history_point){.session = s->session,
                                              .host = s->host,
                                              .gpu = s->gpu,
                                              .mean = (double)s->total / (double)s->calls};
    }
    qsort(h->shapes, h->shape_count, sizeof *h->shapes, by_total);
    return 0;
}
