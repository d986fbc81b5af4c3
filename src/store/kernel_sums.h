/* kernel_sums.h - keeps sums of kernels by configuration and stream, with the distribution of their
 * durations.
 *
 * The writer sums up every KERNEL_SLICE rows and stores the result in the tables kernel_slice,
 * kernel_sum and kernel_bin. A question adds up slices, and the few rows that are in no slice. So a
 * question about a hundred million kernels reads thousands of rows, and its sums are exact;
 * percentiles come from bins (base/bins.h), with an error of at most 0.4 %. Rows that are not
 * events (wire/limits.h) are left out. Called by the owner's thread only. */
#ifndef GPUFL_STORE_KERNEL_SUMS_H
#define GPUFL_STORE_KERNEL_SUMS_H

#include "wire/rowset.h"

enum {
    KERNEL_SLICE = 1 << 19,      /* rows of a slice */
    KERNEL_SUMS_CACHE = 1 << 12, /* cache of recent bins, by a hash of their keys */
    KERNEL_SUMS_FEW = 1 << 12    /* as few rows need no cache: many sessions have no more */
};

/* Holds sums of kernels of one configuration and stream. A row of a rowset: int64_t throughout. */
struct kernel_cell {
    int64_t config, stream; /* the key; 0: unknown */
    int64_t calls;
    int64_t total;             /* ns; saturates */
    int64_t shortest, longest; /* ns */
    int64_t mean_bits;         /* double: mean of the merged rows */
    int64_t spread_bits;       /* double: sum of squared differences from that mean */
    uint64_t squares_low;      /* 128 bits: sum of squares of the rows added one by one */
    uint64_t squares_high;
    int64_t rows, rows_total; /* rows added one by one that are not merged yet */
};

struct kernel_bin {
    int64_t config, stream, bin; /* the key */
    int64_t calls, total;
};

struct kernel_sums {
    struct rowset cells, bins;
    struct kernel_place { /* index of a key's sums + 1; 0: nothing here */
        uint32_t cell, bin;
    } * recent;                          /* owned: KERNEL_SUMS_CACHE; NULL: no cache */
    int64_t rows;                        /* rows taken, events or not */
    int64_t least_start, greatest_start; /* of the events; greatest < least: none */
};

void kernel_sums_init(struct kernel_sums *k);
void kernel_sums_fini(struct kernel_sums *k);

/* Removes all sums; keeps the memory. */
void kernel_sums_clear(struct kernel_sums *k);

/* Adds rows. config and stream may be NULL (unknown), and so may start and duration (then no row is
 * an event). 0 or GPUFL_E_NOMEM. */
int kernel_sums_add(struct kernel_sums *k, const int64_t *start, const int64_t *duration,
                    const int64_t *config, const int64_t *stream, size_t n);

/* The functions add a row of table kernel_sum, or of kernel_bin. 0 or GPUFL_E_NOMEM. */
int kernel_sums_merge(struct kernel_sums *k, const struct kernel_cell *row, double spread);
int kernel_sums_merge_bin(struct kernel_sums *k, const struct kernel_bin *row);

/* Returns the sum of squared differences from the mean. */
double kernel_cell_spread(const struct kernel_cell *c);

/* Adds b's sums to a; the keys do not change. */
void kernel_cell_merge(struct kernel_cell *a, const struct kernel_cell *b);

static inline size_t kernel_sums_cells(const struct kernel_sums *k)
{
    return k->cells.row_count;
}

static inline const struct kernel_cell *kernel_sums_cell(const struct kernel_sums *k, size_t i)
{
    return (const struct kernel_cell *)(k->cells.rows + i * k->cells.width);
}

static inline size_t kernel_sums_bins(const struct kernel_sums *k)
{
    return k->bins.row_count;
}

static inline const struct kernel_bin *kernel_sums_bin(const struct kernel_sums *k, size_t i)
{
    return (const struct kernel_bin *)(k->bins.rows + i * k->bins.width);
}

#endif
