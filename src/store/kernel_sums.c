/* kernel_sums.c - see kernel_sums.h.
 *
 * Single rows are added to integers, so that sums of squares are exact. When sums are merged, mean
 * and spread are combined with the formula of Chan, Golub and LeVeque, which does not subtract
 * large numbers. */
#include "store/kernel_sums.h"

#include "base/alloc.h"
#include "base/bins.h"
#include "base/err.h"
#include "wire/limits.h"
#include "wire/record.h"

#include <string.h>

typedef unsigned __int128 wide;

/* The limit is in ns, 2.4 hours: mean and spread count longer durations as this much. The sum over
 * a slice then fits 63 bits, and the sum of squares 128. */
#define SQUARED_MAX (INT64_C(1) << 43)

enum {
    CELL_KEY = 2,
    CELL_WIDTH = sizeof(struct kernel_cell) / 8,
    BIN_KEY = 3,
    BIN_WIDTH = sizeof(struct kernel_bin) / 8,
};

void kernel_sums_init(struct kernel_sums *k)
{
    memset(k, 0, sizeof *k);
    rowset_init(&k->cells, CELL_KEY, CELL_WIDTH);
    rowset_init(&k->bins, BIN_KEY, BIN_WIDTH);
    kernel_sums_clear(k);
}

void kernel_sums_fini(struct kernel_sums *k)
{
    rowset_fini(&k->cells);
    rowset_fini(&k->bins);
    mem_free(k->recent);
    k->recent = NULL;
}

void kernel_sums_clear(struct kernel_sums *k)
{
    rowset_clear(&k->cells);
    rowset_clear(&k->bins);
    if (k->recent)
        memset(k->recent, 0, KERNEL_SUMS_CACHE * sizeof *k->recent);
    k->rows = 0;
    k->least_start = INT64_MAX;
    k->greatest_start = INT64_MIN;
}

static double from_bits(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int64_t to_bits(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static int64_t add_up(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- one cell -------------------------------------------------------------------------------- */

/* Combines mean and spread of n values with those of other_n others. */
static void combine(int64_t n, double *mean, double *spread, int64_t other_n, double other_mean,
                    double other_spread)
{
    if (!other_n)
        return;
    double all = (double)n + (double)other_n, delta = other_mean - *mean;
    *spread += other_spread + delta * delta * ((double)n / all) * (double)other_n;
    *mean += delta * ((double)other_n / all);
}

/* Computes mean and spread of the rows that were added one by one. */
static void of_rows(const struct kernel_cell *c, double *mean, double *spread)
{
    long double n = (long double)c->rows, total = (long double)c->rows_total;
    long double squares = (long double)((wide)c->squares_high << 64 | c->squares_low);
    *mean = (double)(total / n);
    *spread = (double)(squares - total * total / n);
    *spread = *spread > 0 ? *spread : 0;
}

/* Merges the rows that were added one by one into the merged sums. */
static void settle(struct kernel_cell *c)
{
    double mean = from_bits(c->mean_bits), spread = from_bits(c->spread_bits), m, s;
    if (!c->rows)
        return;
    of_rows(c, &m, &s);
    combine(c->calls - c->rows, &mean, &spread, c->rows, m, s);
    c->mean_bits = to_bits(mean);
    c->spread_bits = to_bits(spread);
    c->squares_low = c->squares_high = 0;
    c->rows = c->rows_total = 0;
}

double kernel_cell_spread(const struct kernel_cell *c)
{
    struct kernel_cell copy = *c;
    settle(&copy);
    return from_bits(copy.spread_bits);
}

void kernel_cell_merge(struct kernel_cell *a, const struct kernel_cell *b)
{
    struct kernel_cell other = *b;
    if (!other.calls)
        return;
    settle(a);
    settle(&other);
    double mean = from_bits(a->mean_bits), spread = from_bits(a->spread_bits);
    combine(a->calls, &mean, &spread, other.calls, from_bits(other.mean_bits),
            from_bits(other.spread_bits));
    a->mean_bits = to_bits(mean);
    a->spread_bits = to_bits(spread);
    a->shortest = !a->calls || other.shortest < a->shortest ? other.shortest : a->shortest;
    a->longest = !a->calls || other.longest > a->longest ? other.longest : a->longest;
    a->calls = add_up(a->calls, other.calls);
    a->total = add_up(a->total, other.total);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static inline void add_row(struct kernel_cell *c, int64_t duration)
{
    int64_t bounded = duration < SQUARED_MAX ? duration : SQUARED_MAX;
    wide squares = (wide)c->squares_high << 64 | c->squares_low;
    squares += (wide)bounded * (wide)bounded;
    c->squares_low = (uint64_t)squares;
    c->squares_high = (uint64_t)(squares >> 64);
    c->shortest = !c->calls || duration < c->shortest ? duration : c->shortest;
    c->longest = !c->calls || duration > c->longest ? duration : c->longest;
    c->calls++;
    c->rows++;
    c->total = add_up(c->total, duration);
    c->rows_total = add_up(c->rows_total, bounded);
    if (c->rows == KERNEL_SLICE)
        settle(c);
}

/* Looks the key up, and caches its place. */
static int find_place(struct kernel_sums *k, const int64_t key[BIN_KEY], struct kernel_place *p)
{
    bool added;
    const int64_t *cell = rowset_put(&k->cells, key, &added);
    const int64_t *bin = rowset_put(&k->bins, key, &added);
    if (!cell || !bin)
        return GPUFL_E_NOMEM;
    p->cell = rowset_index(&k->cells, cell) + 1;
    p->bin = rowset_index(&k->bins, bin) + 1;
    return 0;
}

static int add_event(struct kernel_sums *k, int64_t config, int64_t stream, int64_t duration)
{
    const int64_t key[BIN_KEY] = {config, stream, bins_of(duration)};
    uint64_t hash = ((uint64_t)config * 0x9e3779b97f4a7c15u ^ (uint64_t)key[2] * 0x2545f491u) +
                    (uint64_t)stream * 0x85ebca6bu;
    struct kernel_place none = {0, 0};
    struct kernel_place *p =
        k->recent ? &k->recent[(hash ^ hash >> 32) % KERNEL_SUMS_CACHE] : &none;
    const struct kernel_bin *found = p->bin ? kernel_sums_bin(k, p->bin - 1) : NULL;
    if (!found || found->config != config || found->stream != stream || found->bin != key[2]) {
        int rc = find_place(k, key, p);
        if (rc)
            return rc;
    }
    struct kernel_bin *b = (struct kernel_bin *)(k->bins.rows + (p->bin - 1) * k->bins.width);
    add_row((struct kernel_cell *)(k->cells.rows + (p->cell - 1) * k->cells.width), duration);
    b->calls++;
    b->total = add_up(b->total, duration);
    return 0;
}

static inline int64_t cell_or_0(const int64_t *column, size_t i)
{
    return column && column[i] != CELL_NULL ? column[i] : 0;
}

int kernel_sums_add(struct kernel_sums *k, const int64_t *start, const int64_t *duration,
                    const int64_t *config, const int64_t *stream, size_t n)
{
    int rc = 0;
    k->rows += (int64_t)n;
    if (!k->recent && k->rows > KERNEL_SUMS_FEW)
        k->recent = mem_array(KERNEL_SUMS_CACHE, sizeof *k->recent); /* NULL: looked up each time */
    for (size_t i = 0; start && duration && !rc && i < n; i++) {
        if (!wire_event_ok(start[i], duration[i]))
            continue;
        k->least_start = start[i] < k->least_start ? start[i] : k->least_start;
        k->greatest_start = start[i] > k->greatest_start ? start[i] : k->greatest_start;
        rc = add_event(k, cell_or_0(config, i), cell_or_0(stream, i), duration[i]);
    }
    return rc;
}

int kernel_sums_merge(struct kernel_sums *k, const struct kernel_cell *row, double spread)
{
    bool added;
    struct kernel_cell other = *row;
    struct kernel_cell *c = (struct kernel_cell *)rowset_put(&k->cells, &row->config, &added);
    if (!c)
        return GPUFL_E_NOMEM;
    other.mean_bits = to_bits(row->calls ? (double)row->total / (double)row->calls : 0);
    other.spread_bits = to_bits(spread);
    other.rows = 0;
    kernel_cell_merge(c, &other);
    return 0;
}

int kernel_sums_merge_bin(struct kernel_sums *k, const struct kernel_bin *row)
{
    bool added;
    struct kernel_bin *b = (struct kernel_bin *)rowset_put(&k->bins, &row->config, &added);
    if (!b)
        return GPUFL_E_NOMEM;
    b->calls = add_up(b->calls, row->calls);
    b->total = add_up(b->total, row->total);
    return 0;
}
