/* ask_kernels.c - answers questions about kernels: by name, by configuration, their histogram,
 * launches. */
#include "store/kernels_found.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups: kernels by name, by configuration ----------------------------------------------- */

struct group {
    int64_t key; /* name or configuration */
    struct kernel_cell sum;
    int64_t configs, streams;
};

struct groups {
    struct group *items; /* owned */
    size_t count, cap;
};

static int64_t group_key(const struct kernels_found *f, int64_t config, bool by_name)
{
    return by_name ? kernels_name_of(f, config) : config;
}

/* Adds a pair to a set; *count grows if the pair is new. 0 or GPUFL_E_NOMEM. */
static int note(struct rowset *set, int64_t a, int64_t b, int64_t *count)
{
    int64_t key[2] = {a, b};
    bool added;
    if (!rowset_put(set, key, &added))
        return GPUFL_E_NOMEM;
    *count += added;
    return 0;
}

static struct group *group_of(struct groups *g, struct rowset *index, int64_t key)
{
    bool added;
    int64_t *row = rowset_put(index, &key, &added);
    if (!row)
        return NULL;
    if (added) {
        if (mem_grow(&g->items, &g->cap, g->count + 1, sizeof *g->items, SIZE_MAX / 512))
            return NULL;
        row[1] = (int64_t)g->count;
        memset(&g->items[g->count], 0, sizeof *g->items);
        g->items[g->count++].key = key;
    }
    return &g->items[row[1]];
}

static int make_groups(const struct kernels_found *f, bool by_name, struct groups *g)
{
    struct rowset index, configs, streams;
    int rc = 0;
    rowset_init(&index, 1, 2);
    rowset_init(&configs, 2, 2);
    rowset_init(&streams, 2, 2);
    for (size_t i = 0; !rc && i < kernel_sums_cells(&f->sums); i++) {
        const struct kernel_cell *c = kernel_sums_cell(&f->sums, i);
        if (f->chosen && !kernels_are_wanted(f, c->config))
            continue;
        struct group *item = group_of(g, &index, group_key(f, c->config, by_name));
        if (!item) {
            rc = GPUFL_E_NOMEM;
            break;
        }
        kernel_cell_merge(&item->sum, c);
        rc = note(&configs, item->key, c->config, &item->configs);
        if (rc == 0)
            rc = note(&streams, item->key, c->stream, &item->streams);
    }
    rowset_fini(&index);
    rowset_fini(&configs);
    rowset_fini(&streams);
    return rc;
}

static double mean_of(const struct kernel_cell *c)
{
    return c->calls ? (double)c->total / (double)c->calls : 0;
}

static double deviation_of(const struct kernel_cell *c)
{
    return c->calls > 1 ? sqrt(kernel_cell_spread(c) / (double)(c->calls - 1)) : 0;
}

enum { BY_TOTAL, BY_CALLS, BY_MEAN, BY_LONGEST };

static int compare_groups(const void *x, const void *y, void *arg)
{
    const struct group *p = x, *q = y;
    double a = 0, b = 0;
    switch (*(int64_t *)arg) {
    case BY_CALLS:
        if (p->sum.calls != q->sum.calls)
            return p->sum.calls > q->sum.calls ? -1 : 1;
        break;
    case BY_MEAN:
        a = mean_of(&p->sum);
        b = mean_of(&q->sum);
        break;
    case BY_LONGEST:
        if (p->sum.longest != q->sum.longest)
            return p->sum.longest > q->sum.longest ? -1 : 1;
        break;
    default:
        break;
    }
    if (a != b)
        return a > b ? -1 : 1;
    if (p->sum.total != q->sum.total)
        return p->sum.total > q->sum.total ? -1 : 1;
    return p->key < q->key ? -1 : p->key > q->key;
}

/* Picks the bins of one group. */
static void bins_of_group(const struct kernels_found *f, bool by_name, int64_t key, struct bins *b)
{
    memset(b, 0, sizeof *b);
    for (size_t i = 0; i < kernel_sums_bins(&f->sums); i++) {
        const struct kernel_bin *row = kernel_sums_bin(&f->sums, i);
        if (row->bin < 0 || row->bin >= BINS_COUNT || group_key(f, row->config, by_name) != key)
            continue;
        b->calls[row->bin] += row->calls;
        b->total[row->bin] += row->total;
    }
}

/* Lists the configurations of groups, for kernels_find_bins. */
static int configs_of(const struct kernels_found *f, bool by_name, const struct group *items,
                      size_t n, int64_t **out, size_t *count)
{
    *out = mem_array(kernel_sums_cells(&f->sums) + 1, sizeof **out);
    *count = 0;
    if (!*out)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < kernel_sums_cells(&f->sums); i++) {
        int64_t config = kernel_sums_cell(&f->sums, i)->config;
        for (size_t k = 0; k < n; k++)
            if (items[k].key == group_key(f, config, by_name)) {
                (*out)[(*count)++] = config;
                break;
            }
    }
    return 0;
}

typedef void (*fill_row)(int64_t *row, const struct group *g, const struct bins *b);

/* Sorts the groups, takes the requested page, finds its bins, and makes rows. */
static int put_groups(struct kernels_found *f, bool by_name, struct groups *g, fill_row fill)
{
    struct ask *a = f->a;
    int64_t order = ask_int(a, "order", BY_TOTAL), offset = ask_int(a, "offset", 0);
    int64_t limit = ask_int(a, "limit", 0), *configs = NULL;
    size_t n = 0, first = g->count, count = 0;
    struct bins *bins = mem_alloc(sizeof *bins);
    if (!bins)
        return GPUFL_E_NOMEM;
    if (g->count)
        qsort_r(g->items, g->count, sizeof *g->items, compare_groups, &order);
    if ((uint64_t)offset < g->count) {
        first = (size_t)offset;
        count = g->count - first < (size_t)limit ? g->count - first : (size_t)limit;
    }
    int rc = configs_of(f, by_name, g->items + (count ? first : 0), count, &configs, &n);
    if (rc == 0)
        rc = kernels_find_bins(f, configs, n);
    for (size_t i = 0; !rc && i < count; i++) {
        int64_t *row = answer_row(&a->answer);
        if (!row) {
            rc = a->answer.error;
            break;
        }
        bins_of_group(f, by_name, g->items[first + i].key, bins);
        fill(row, &g->items[first + i], bins);
    }
    mem_free(configs);
    mem_free(bins);
    return rc;
}

static int answer_groups(struct ask *a, bool by_name, fill_row fill)
{
    struct kernels_found f;
    struct groups g = {0};
    int rc = kernels_find(&f, a);
    if (rc == 0)
        rc = make_groups(&f, by_name, &g);
    if (rc == 0)
        rc = put_groups(&f, by_name, &g, fill);
    if (rc == GPUFL_E_NOMEM)
        err_set(a->e, rc, "%s", err_text(rc));
    mem_free(g.items);
    kernels_found_fini(&f);
    return rc;
}

/* ---- the questions --------------------------------------------------------------------------- */

static void fill_kernel(int64_t *row, const struct group *g, const struct bins *b)
{
    const struct kernel_cell *c = &g->sum;
    const int64_t cells[] = {g->key ? g->key : CELL_NULL,
                             g->key,
                             c->calls,
                             c->total,
                             answer_real(mean_of(c)),
                             answer_real(deviation_of(c)),
                             c->shortest,
                             answer_real(kernels_quantile(b, c, 0.5)),
                             answer_real(kernels_quantile(b, c, 0.9)),
                             answer_real(kernels_quantile(b, c, 0.99)),
                             c->longest,
                             g->configs,
                             g->streams};
    memcpy(row, cells, sizeof cells);
}

int ask_kernels(struct ask *a)
{
    return answer_groups(a, true, fill_kernel);
}

static void fill_config(int64_t *row, const struct group *g, const struct bins *b)
{
    const struct kernel_cell *c = &g->sum;
    const int64_t cells[] = {g->key, c->calls, c->total, answer_real(mean_of(c)),
                             answer_real(kernels_quantile(b, c, 0.99))};
    memcpy(row, cells, sizeof cells);
}

int ask_kernel_configs(struct ask *a)
{
    return answer_groups(a, false, fill_config);
}

/* Returns the histogram bin of a value: an octave has eight bins of equal width; below 8 each value
 * has a bin. Each bin of base/bins.h is inside one of these. */
static int64_t eighth_of(int64_t v)
{
    if (v < 8)
        return v;
    int octave = 63 - __builtin_clzll((uint64_t)v);
    return octave * 8 + ((v >> (octave - 3)) & 7) - 16;
}

static int64_t eighth_least(int64_t bin)
{
    if (bin < 8)
        return bin;
    int64_t octave = (bin + 16) / 8;
    return (8 + bin % 8) << (octave - 3);
}

static int put_histogram(struct ask *a, const struct bins *b)
{
    for (unsigned i = 0; i < BINS_COUNT;) {
        int64_t bin = eighth_of(bins_least(i)), calls = 0, total = 0;
        for (; i < BINS_COUNT && eighth_of(bins_least(i)) == bin; i++) {
            calls += b->calls[i];
            total += b->total[i];
        }
        if (!calls)
            continue;
        int64_t *row = answer_row(&a->answer);
        if (!row)
            return a->answer.error;
        row[0] = eighth_least(bin);
        row[1] = i < BINS_COUNT ? eighth_least(bin + 1) - 1 : INT64_MAX;
        row[2] = calls;
        row[3] = total;
    }
    return 0;
}

int ask_kernel_histogram(struct ask *a)
{
    struct kernels_found f;
    struct groups g = {0};
    int64_t name = ask_int(a, "name", 0), *configs = NULL;
    size_t n = 0;
    struct bins *bins = mem_alloc(sizeof *bins);
    int rc = kernels_find(&f, a);
    if (!bins)
        rc = GPUFL_E_NOMEM;
    if (rc == 0)
        rc = make_groups(&f, true, &g);
    if (rc == 0)
        rc = configs_of(&f, true, g.items, g.count, &configs, &n);
    if (rc == 0)
        rc = kernels_find_bins(&f, configs, n);
    if (!rc) {
        bins_of_group(&f, true, name, bins);
        rc = put_histogram(a, bins);
    }
    if (rc == GPUFL_E_NOMEM)
        err_set(a->e, rc, "%s", err_text(rc));
    mem_free(configs);
    mem_free(g.items);
    mem_free(bins);
    kernels_found_fini(&f);
    return rc;
}

int ask_launches(struct ask *a)
{
    ask_name_null(a, "by_start");
    ask_name_null(a, "by_length");
    ask_name(a, ask_int(a, "order", 0) ? "by_length" : "by_start", SQL_INT(1));
    ask_text(a, "SELECT start, duration, -config, config, stream, correlation, scope, graph, "
                "stack, thread FROM {kernel} WHERE event(start, duration)"
                "[config? AND config = $config][stream? AND stream = $stream]"
                "[correlation? AND correlation = $correlation]"
                "[from? AND start >= $from][to? AND start < $to]"
                "[name? AND config IN (SELECT id FROM {config} WHERE name = $name)]"
                "[by_start? ORDER BY start, stream, correlation]"
                "[by_length? ORDER BY duration DESC, start, stream] LIMIT #limit OFFSET #offset");
    int rc = ask_rows(a);
    return rc ? rc : ask_config_names(a, 2);
}
