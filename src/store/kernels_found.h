/* kernels_found.h - reads what a question about kernels needs: sums of slices, rows that are in no
 * slice, and configurations (store/kernel_sums.h).
 *
 * For a window of time, slices inside it are used as a whole, and the rows of slices at its edges
 * are read one by one, so sums stay exact. Names of configurations, and the names that the question
 * selects, are resolved here, so that statements read only numbers. Called by the owner's thread
 * only. */
#ifndef GPUFL_STORE_KERNELS_FOUND_H
#define GPUFL_STORE_KERNELS_FOUND_H

#include "base/bins.h"
#include "store/ask.h"

/* This is a range of kernel rows. */
struct kernel_range {
    int64_t first, rows;
};

/* Holds the state of a question about kernels. */
struct kernels_found {
    struct ask *a;
    struct kernel_sums sums;
    int64_t from, to; /* window */
    int64_t *whole;   /* owned: slices inside the window */
    size_t whole_count, whole_cap;
    struct kernel_range *parts; /* owned: ranges of rows to be read one by one */
    size_t part_count, part_cap;
    int64_t summed;        /* rows in slices */
    struct rowset configs; /* rows: id, name, wanted */
    bool chosen;           /* only the wanted ones */
    int64_t *wanted;       /* owned: ids of the wanted ones, if `chosen` */
    size_t wanted_count;
};

/* Holds counts of the bins of a group of configurations. */
struct bins {
    int64_t calls[BINS_COUNT], total[BINS_COUNT];
};

/* Reads configurations, and sums by configuration and stream of the kernels in the question's
 * window and stream that its `name` and `pattern` select. Call kernels_found_fini also after an
 * error. */
int kernels_find(struct kernels_found *f, struct ask *a);
void kernels_found_fini(struct kernels_found *f);

int64_t kernels_name_of(const struct kernels_found *f, int64_t config);
bool kernels_are_wanted(const struct kernels_found *f, int64_t config);

/* Adds the bins of slices for these configurations only; bins of single rows are in the sums
 * already. */
int kernels_find_bins(struct kernels_found *f, const int64_t *configs, size_t n);

/* Returns the least value that this share of the calls does not exceed, with the precision of the
 * bins. */
double kernels_quantile(const struct bins *b, const struct kernel_cell *c, double share);

#endif
