/* ask_kernels.c - questions about kernels, from the sums of slices and the rows that
 * are in none (store/kernel_sums.h).
 *
 * A window of time takes the slices that lie in it whole, and reads the rows of those
 * at its edges one by one: sums stay exact. Which name a configuration has, and which
 * names are asked for, is settled here, so that a statement reads numbers only. */
#include "store/ask.h"

#include "base/alloc.h"
#include "base/bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A range of kernel rows. */
struct range {
    int64_t first, rows;
};

/* The state of a question about kernels. */
struct found {
    struct ask *a;
    struct kernel_sums sums;
    int64_t from, to; /* window */
    int64_t *whole;   /* owned: slices that lie in the window */
    size_t whole_count, whole_cap;
    struct range *parts; /* owned: ranges of rows to be read one by one */
    size_t part_count, part_cap;
    int64_t summed;        /* rows in slices */
    struct rowset configs; /* id, its name, wanted */
    bool chosen;           /* only the wanted ones */
};

enum { CONFIG_NAME = 1, CONFIG_WANTED = 2, CONFIG_WIDTH = 3 };

static void found_fini(struct found *f)
{
    kernel_sums_fini(&f->sums);
    rowset_fini(&f->configs);
    mem_free(f->whole);
    mem_free(f->parts);
}

/* ---- which slices and rows ------------------------------------------------------------------- */

static int add_whole(struct found *f, int64_t slice)
{
    int rc =
        mem_grow(&f->whole, &f->whole_cap, f->whole_count + 1, sizeof *f->whole, SIZE_MAX / 64);
    if (!rc)
        f->whole[f->whole_count++] = slice;
    return rc;
}

static int add_part(struct found *f, int64_t first, int64_t rows)
{
    int rc = mem_grow(&f->parts, &f->part_cap, f->part_count + 1, sizeof *f->parts, SIZE_MAX / 64);
    if (!rc)
        f->parts[f->part_count++] = (struct range){first, rows};
    return rc;
}

/* slice, first_row, rows, least_start, greatest_start */
static int take_slices(void *arg, const struct page *p)
{
    struct found *f = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        int64_t first = page_int(p, 1, i), rows = page_int(p, 2, i);
        int64_t least = page_int(p, 3, i), greatest = page_int(p, 4, i);
        f->summed = first + rows;
        if (greatest < least || greatest < f->from || least >= f->to)
            continue;
        if (least >= f->from && greatest < f->to)
            rc = add_whole(f, page_int(p, 0, i));
        else
            rc = add_part(f, first, rows);
    }
    return rc;
}

static int find_slices(struct found *f)
{
    ask_text(f->a, "SELECT slice, first_row, \"rows\", least_start, greatest_start "
                   "FROM {kernel_slice} WHERE 1 = 1 ORDER BY slice");
    int rc = ask_pages(f->a, take_slices, f);
    return rc ? rc : add_part(f, f->summed, INT64_MAX - f->summed);
}

/* ---- configurations -------------------------------------------------------------------------- */

static int take_configs(void *arg, const struct page *p)
{
    struct found *f = arg;
    for (size_t i = 0; i < p->rows; i++) {
        bool added;
        int64_t id = page_int(p, 0, i), name = page_int(p, 1, i);
        int64_t *row = rowset_put(&f->configs, &id, &added);
        if (!row)
            return GPUFL_E_NOMEM;
        row[CONFIG_NAME] = name == CELL_NULL ? 0 : name;
        row[CONFIG_WANTED] = 1;
    }
    return 0;
}

static int64_t name_of(const struct found *f, int64_t config)
{
    const int64_t *row = rowset_find(&f->configs, &config);
    return row ? row[CONFIG_NAME] : 0;
}

static bool is_wanted(const struct found *f, int64_t config)
{
    const int64_t *row = rowset_find(&f->configs, &config);
    return row && row[CONFIG_WANTED];
}

/* Kernels without a configuration, or with one that the log has not, have no name. */
static int find_configs(struct found *f)
{
    bool added;
    int64_t none = 0;
    ask_text(f->a, "SELECT id, name FROM {config} WHERE 1 = 1");
    int rc = ask_pages(f->a, take_configs, f);
    if (!rc && !rowset_put(&f->configs, &none, &added))
        rc = GPUFL_E_NOMEM;
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Keeps only configurations whose names are among these. */
static void want_names(struct found *f, int64_t *names, size_t n)
{
    f->chosen = true;
    if (n)
        qsort(names, n, sizeof *names, compare_ids);
    for (size_t i = 0; i < f->configs.row_count; i++) {
        int64_t *row = f->configs.rows + i * f->configs.width;
        row[CONFIG_WANTED] =
            n && bsearch(&row[CONFIG_NAME], names, n, sizeof *names, compare_ids) != NULL;
    }
}

static int want_pattern(struct found *f)
{
    const struct store_value *pattern = ask_value(f->a, "pattern");
    int64_t *names;
    size_t n;
    if (!pattern || pattern->null || !pattern->text.len)
        return 0;
    int rc = ask_matching(f->a, "SELECT name FROM {config} WHERE 1 = 1", pattern->text, &names, &n);
    if (!rc)
        want_names(f, names, n);
    mem_free(names);
    return rc;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int take_sums(void *arg, const struct page *p)
{
    struct found *f = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        const struct kernel_cell row = {
            .config = page_int(p, 0, i),
            .stream = page_int(p, 1, i),
            .calls = page_int(p, 2, i),
            .total = page_int(p, 3, i),
            .shortest = page_int(p, 5, i),
            .longest = page_int(p, 6, i),
        };
        rc = kernel_sums_merge(&f->sums, &row, page_real(p, 4, i));
    }
    return rc;
}

static int sum_whole(struct found *f)
{
    if (!f->whole_count)
        return 0;
    ask_name(f->a, "whole", SQL_LIST(f->whole, f->whole_count));
    ask_text(f->a, "SELECT config, stream, calls, total, spread, shortest, longest "
                   "FROM {kernel_sum} WHERE within(slice, $whole)"
                   "[stream? AND stream = $stream] ORDER BY slice");
    return ask_pages(f->a, take_sums, f);
}

int ask_add_kernels(struct kernel_sums *k, const struct page *p)
{
    int64_t room[4][PAGE_CELLS];
    int rc = 0;
    for (size_t from = 0, n; !rc && from < p->rows; from += n) {
        const int64_t *at[4];
        n = p->rows - from < PAGE_CELLS ? p->rows - from : PAGE_CELLS;
        for (unsigned i = 0; i < 4; i++)
            at[i] = page_cells(p, i, from, n, room[i]);
        rc = kernel_sums_add(k, at[0], at[1], at[2], at[3], n);
    }
    return rc;
}

static int take_rest(void *arg, const struct page *p)
{
    struct found *f = arg;
    return ask_add_kernels(&f->sums, p);
}

static int sum_parts(struct found *f)
{
    int rc = 0;
    bool windowed = f->from != INT64_MIN || f->to != INT64_MAX;
    for (size_t i = 0; !rc && i < f->part_count; i++) {
        ask_name(f->a, "first_row", SQL_INT(f->parts[i].first));
        ask_name(f->a, "last_row", SQL_INT(f->parts[i].first + (f->parts[i].rows - 1)));
        ask_name(f->a, "begin", SQL_INT(f->from));
        ask_name(f->a, "end", SQL_INT(f->to));
        ask_text(f->a, "SELECT start, duration, config, stream FROM {kernel} "
                       "WHERE rows($first_row, $last_row)");
        ask_more(f->a, windowed ? " AND start >= $begin AND start < $end" : "");
        ask_more(f->a, "[stream? AND stream = $stream]");
        rc = ask_pages(f->a, take_rest, f);
    }
    return rc;
}

/* Kernels of the question's window and stream, by configuration and stream. */
static int find_sums(struct found *f, struct ask *a)
{
    memset(f, 0, sizeof *f);
    f->a = a;
    f->from = ask_int(a, "from", INT64_MIN);
    f->to = ask_int(a, "to", INT64_MAX);
    kernel_sums_init(&f->sums);
    rowset_init(&f->configs, 1, CONFIG_WIDTH);
    int rc = find_configs(f);
    rc = rc ? rc : want_pattern(f);
    rc = rc ? rc : find_slices(f);
    rc = rc ? rc : sum_whole(f);
    return rc ? rc : sum_parts(f);
}

/* ---- percentiles ----------------------------------------------------------------------------- */

static int take_bins(void *arg, const struct page *p)
{
    struct found *f = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        const struct kernel_bin row = {.config = page_int(p, 0, i),
                                       .bin = page_int(p, 1, i),
                                       .calls = page_int(p, 2, i),
                                       .total = page_int(p, 3, i)};
        rc = kernel_sums_merge_bin(&f->sums, &row);
    }
    return rc;
}

/* Bins of the slices, for these configurations only; those of single rows are there already. */
static int find_bins(struct found *f, const int64_t *configs, size_t n)
{
    if (!f->whole_count || !n)
        return 0;
    ask_name(f->a, "whole", SQL_LIST(f->whole, f->whole_count));
    ask_name(f->a, "configs", SQL_LIST(configs, n));
    ask_text(f->a, "SELECT config, bin, total(calls), total(total) FROM {kernel_bin} "
                   "WHERE within(config, $configs) "
                   "AND within(slice, $whole)[stream? AND stream = $stream] "
                   "GROUP BY config, bin");
    return ask_pages(f->a, take_bins, f);
}

/* Counts of the bins of a group of configurations. */
struct bins {
    int64_t calls[BINS_COUNT], total[BINS_COUNT];
};

/* The least value that a share of the calls does not exceed, as near as bins tell. */
static double quantile(const struct bins *b, const struct kernel_cell *c, double share)
{
    double rank = ceil(share * (double)c->calls), seen = 0;
    for (unsigned i = 0; i < BINS_COUNT; i++) {
        seen += (double)b->calls[i];
        if (seen < rank || !b->calls[i])
            continue;
        int64_t v = bins_middle(i);
        return (double)(v < c->shortest ? c->shortest : v > c->longest ? c->longest : v);
    }
    return (double)c->longest;
}

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

static int64_t group_key(const struct found *f, int64_t config, bool by_name)
{
    return by_name ? name_of(f, config) : config;
}

/* Adds the pair to a set; true where it is new there. */
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

static int make_groups(const struct found *f, bool by_name, struct groups *g)
{
    struct rowset index, configs, streams;
    int rc = 0;
    rowset_init(&index, 1, 2);
    rowset_init(&configs, 2, 2);
    rowset_init(&streams, 2, 2);
    for (size_t i = 0; !rc && i < kernel_sums_cells(&f->sums); i++) {
        const struct kernel_cell *c = kernel_sums_cell(&f->sums, i);
        if (f->chosen && !is_wanted(f, c->config))
            continue;
        struct group *item = group_of(g, &index, group_key(f, c->config, by_name));
        if (!item) {
            rc = GPUFL_E_NOMEM;
            break;
        }
        kernel_cell_merge(&item->sum, c);
        rc = note(&configs, item->key, c->config, &item->configs);
        rc = rc ? rc : note(&streams, item->key, c->stream, &item->streams);
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

/* The bins of one group, from those of all. */
static void bins_of_group(const struct found *f, bool by_name, int64_t key, struct bins *b)
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

/* Configurations that groups have, for find_bins. */
static int configs_of(const struct found *f, bool by_name, const struct group *items, size_t n,
                      int64_t **out, size_t *count)
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

/* Sorts, takes the page asked for, finds its bins, and makes rows of it. */
static int put_groups(struct found *f, bool by_name, struct groups *g, fill_row fill)
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
    rc = rc ? rc : find_bins(f, configs, n);
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

static int answer_groups(struct ask *a, bool by_name, bool one_name, fill_row fill)
{
    struct found f;
    struct groups g = {0};
    int rc = find_sums(&f, a);
    if (!rc && one_name) {
        int64_t name = ask_int(a, "name", 0);
        want_names(&f, &name, 1);
    }
    rc = rc ? rc : make_groups(&f, by_name, &g);
    rc = rc ? rc : put_groups(&f, by_name, &g, fill);
    if (rc == GPUFL_E_NOMEM)
        err_set(a->e, rc, "%s", err_text(rc));
    mem_free(g.items);
    found_fini(&f);
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
                             answer_real(quantile(b, c, 0.5)),
                             answer_real(quantile(b, c, 0.9)),
                             answer_real(quantile(b, c, 0.99)),
                             c->longest,
                             g->configs,
                             g->streams};
    memcpy(row, cells, sizeof cells);
}

int ask_kernels(struct ask *a)
{
    return answer_groups(a, true, false, fill_kernel);
}

static void fill_config(int64_t *row, const struct group *g, const struct bins *b)
{
    const struct kernel_cell *c = &g->sum;
    const int64_t cells[] = {g->key, c->calls, c->total, answer_real(mean_of(c)),
                             answer_real(quantile(b, c, 0.99))};
    memcpy(row, cells, sizeof cells);
}

int ask_kernel_configs(struct ask *a)
{
    return answer_groups(a, false, true, fill_config);
}

/* The bin of a histogram that a value lies in: eight of equal width share an octave; below 8 each
 * value has its own. Bins of base/bins.h lie in one whole. */
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
    struct found f;
    struct groups g = {0};
    int64_t name = ask_int(a, "name", 0), *configs = NULL;
    size_t n = 0;
    struct bins *bins = mem_alloc(sizeof *bins);
    int rc = find_sums(&f, a);
    if (!bins)
        rc = GPUFL_E_NOMEM;
    if (!rc)
        want_names(&f, &name, 1);
    rc = rc ? rc : make_groups(&f, true, &g);
    rc = rc ? rc : configs_of(&f, true, g.items, g.count, &configs, &n);
    rc = rc ? rc : find_bins(&f, configs, n);
    if (!rc) {
        bins_of_group(&f, true, name, bins);
        rc = put_histogram(a, bins);
    }
    if (rc == GPUFL_E_NOMEM)
        err_set(a->e, rc, "%s", err_text(rc));
    mem_free(configs);
    mem_free(g.items);
    mem_free(bins);
    found_fini(&f);
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
