/* window_run.h - runs with windows of capture under engines beyond Trace, and the parts of their
 * reports about "relu", which windows.c launches in windows, and "gemm", which it launches outside.
 * */
#ifndef GPUFL_TESTS_FAKE_WINDOW_RUN_H
#define GPUFL_TESTS_FAKE_WINDOW_RUN_H

#include "tests/fake/runner.h"

enum { WARPS = 4, INSTRUCTIONS = 3, STEPS = 20 };
enum { SAMPLES_LEAST = 45, SAMPLES_MOST = 51 }; /* of a launch, after rounding */

/* Runs fake_windows, which has to end by itself. */
void window_run(struct run *r, const char *const *env, const char *const *options,
                const char *const *program);

/* The sum of a number over rows of a list, of those whose member has the text in it. */
int64_t window_sum(const struct run *r, const char *list, const char *member, const char *text,
                   const char *number);

/* Samples of kernels whose names have that in them. */
int64_t window_samples(const struct run *r, const char *kernel);

/* Counts of instructions of kernels whose names have that in them, all scopes together. */
int64_t window_counts(const struct run *r, const char *kernel);

/* The last value of a setting; "" where there is none. */
const char *window_setting(const struct run *r, const char *name);

/* The number of counted ranges whose member (scope, kernel_symbol) has the text in it, or any where
 * that is NULL. *mean: the mean of the last one. */
int64_t window_ranges(const struct run *r, const char *member, const char *text, double *mean);

/* The column of the ledger is 0 or unknown. */
void window_check_no_loss(const struct run *r, const char *column);

#endif
