/* window_run.h - makes runs with windows of capture under engines beyond Trace, and the parts of
 * their reports about "relu", which windows.c launches in windows, and "gemm", which it launches
 * outside.
 */
#ifndef GPUFL_TESTS_FAKE_WINDOW_RUN_H
#define GPUFL_TESTS_FAKE_WINDOW_RUN_H

#include "tests/fake/runner.h"

enum { WARPS = 4, INSTRUCTIONS = 3, STEPS = 20 };
enum { SAMPLES_LEAST = 45, SAMPLES_MOST = 51 }; /* of a launch, after rounding */

/* Runs fake_windows, which has to end by itself. */
void window_run(struct run *r, const char *const *env, const char *const *options,
                const char *const *program);

/* Returns the sum of a number over those rows of a list whose member contains the text. */
int64_t window_sum(const struct run *r, const char *list, const char *member, const char *text,
                   const char *number);

/* Returns the samples of kernels whose names contain the text. */
int64_t window_samples(const struct run *r, const char *kernel);

/* Returns the counts of instructions of kernels whose names contain the text, all scopes
 * together. */
int64_t window_counts(const struct run *r, const char *kernel);

/* Returns the last value of a setting; "" if there is none. */
const char *window_setting(const struct run *r, const char *name);

/* Returns the number of counted ranges whose member (scope, kernel_symbol) contains the text; NULL:
 * of any. *mean: the mean of the last one. */
int64_t window_ranges(const struct run *r, const char *member, const char *text, double *mean);

/* Checks that the column of the ledger is 0 or unknown. */
void window_check_no_loss(const struct run *r, const char *column);

#endif
