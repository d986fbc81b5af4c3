/* kernels_found.c - see kernels_found.h. */
#include "store/kernels_found.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_NAME = 1, CONFIG_WANTED = 2, CONFIG_WIDTH = 3 };

void kernels_found_fini(struct kernels_found *f)
{
    kernel_sums_fini(&f->sums);
    rowset_fini(&f->configs);
    mem_free(f->whole);
    mem_free(f->parts);
    mem_free(f->wanted);
}

/* ---- which slices and rows ------------------------------------------------------------------- */

static int add_whole(struct kernels_found *f, int64_t slice)
{
    int rc =
        mem_grow(&f->whole, &f->whole_cap, f->whole_count + 1, sizeof *f->whole, SIZE_MAX / 64);
    if (!rc)
        f->whole[f->whole_count++] = slice;
    return rc;
}

static int add_part(struct kernels_found *f, int64_t first, int64_t rows)
{
    int rc = mem_grow(&f->parts, &f->part_cap, f->part_count + 1, sizeof *f->parts, SIZE_MAX / 64);
    if (!rc)
        f->parts[f->part_count++] = (struct kernel_range){first, rows};
    return rc;
}

/* Takes slices: slice, first_row, rows, least_start, greatest_start. */
static int take_slices(void *arg, const struct page *p)
{
    struct kernels_found *f = arg;
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

static int find_slices(struct kernels_found *f)
{
    ask_text(f->a, "SELECT slice, first_row, \"rows\", least_start, greatest_start "
                   "FROM {kernel_slice} WHERE 1 = 1 ORDER BY slice");
    int rc = ask_pages(f->a, take_slices, f);
    return rc ? rc : add_part(f, f->summed, INT64_MAX - f->summed);
}

/* ---- configurations -------------------------------------------------------------------------- */

static int take_configs(void *arg, const struct page *p)
{
    struct kernels_found *f = arg;
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

int64_t kernels_name_of(const struct kernels_found *f, int64_t config)
{
    const int64_t *row = rowset_find(&f->configs, &config);
    return row ? row[CONFIG_NAME] : 0;
}

bool kernels_are_wanted(const struct kernels_found *f, int64_t config)
{
    const int64_t *row = rowset_find(&f->configs, &config);
    return row && row[CONFIG_WANTED];
}

/* Reads the configurations. A kernel whose configuration is not in the log has no name. */
static int find_configs(struct kernels_found *f)
{
    bool added;
    int64_t none = 0;
    ask_text(f->a, "SELECT id, name FROM {config} WHERE 1 = 1");
    int rc = ask_pages(f->a, take_configs, f);
    int64_t *row = rc ? NULL : rowset_put(&f->configs, &none, &added);
    if (!rc && !row)
        rc = GPUFL_E_NOMEM;
    if (row && added)
        row[CONFIG_WANTED] = 1;
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Marks the configurations whose names are among these as wanted. */
static void want_names(struct kernels_found *f, int64_t *names, size_t n)
{
    f->chosen = true;
    if (n)
        qsort(names, n, sizeof *names, compare_ids);
    for (size_t i = 0; i < f->configs.row_count; i++) {
        int64_t *row = f->configs.rows + i * f->configs.width;
        if (!n || !bsearch(&row[CONFIG_NAME], names, n, sizeof *names, compare_ids))
            row[CONFIG_WANTED] = 0;
    }
}

static int want_pattern(struct kernels_found *f)
{
    const struct store_value *pattern = ask_value(f->a, "pattern");
    int64_t *names;
    size_t n;
    if (!pattern || pattern->null || !pattern->text.len)
        return 0;
    int rc = ask_matching_kernels(f->a, pattern->text, &names, &n);
    if (!rc)
        want_names(f, names, n);
    mem_free(names);
    return rc;
}

static int want_name(struct kernels_found *f)
{
    const struct store_value *name = ask_value(f->a, "name");
    if (!name || name->null)
        return 0;
    want_names(f, &(int64_t){name->i}, 1);
    return 0;
}

/* Lists the wanted configurations for statements, so that few rows are read for one kernel of
 * many. */
static int list_wanted(struct kernels_found *f)
{
    if (!f->chosen)
        return 0;
    f->wanted = mem_array(f->configs.row_count + 1, sizeof *f->wanted);
    if (!f->wanted)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < f->configs.row_count; i++) {
        const int64_t *row = f->configs.rows + i * f->configs.width;
        if (row[CONFIG_WANTED])
            f->wanted[f->wanted_count++] = row[0];
    }
    return 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int take_sums(void *arg, const struct page *p)
{
    struct kernels_found *f = arg;
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

static int sum_whole(struct kernels_found *f)
{
    if (!f->whole_count)
        return 0;
    ask_name(f->a, "whole", SQL_LIST(f->whole, f->whole_count));
    ask_text(f->a, "SELECT config, stream, calls, total, spread, shortest, longest "
                   "FROM {kernel_sum} WHERE within(slice, $whole)"
                   "[wanted? AND within(config, $wanted)]"
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
    struct kernels_found *f = arg;
    return ask_add_kernels(&f->sums, p);
}

static int sum_parts(struct kernels_found *f)
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
        ask_more(f->a, "[wanted? AND within(coalesce(config, 0), $wanted)]"
                       "[stream? AND stream = $stream]");
        rc = ask_pages(f->a, take_rest, f);
    }
    return rc;
}

int kernels_find(struct kernels_found *f, struct ask *a)
{
    memset(f, 0, sizeof *f);
    f->a = a;
    f->from = ask_int(a, "from", INT64_MIN);
    f->to = ask_int(a, "to", INT64_MAX);
    kernel_sums_init(&f->sums);
    rowset_init(&f->configs, 1, CONFIG_WIDTH);
    int rc = find_configs(f);
    if (rc || (rc = want_pattern(f)) || (rc = want_name(f)) || (rc = list_wanted(f)))
        return rc;
    if (f->chosen && !f->wanted_count)
        return 0;
    ask_name_null(a, "wanted");
    if (f->chosen)
        ask_name(a, "wanted", SQL_LIST(f->wanted, f->wanted_count));
    if ((rc = find_slices(f)) || (rc = sum_whole(f)))
        return rc;
    return sum_parts(f);
}

/* ---- percentiles ----------------------------------------------------------------------------- */

static int take_bins(void *arg, const struct page *p)
{
    struct kernels_found *f = arg;
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

int kernels_find_bins(struct kernels_found *f, const int64_t *configs, size_t n)
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

double kernels_quantile(const struct bins *b, const struct kernel_cell *c, double share)
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
