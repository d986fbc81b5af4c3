/* pm_run.h - makes runs with engine PmSampling, and the totals that pm.c writes at their end. */
#ifndef GPUFL_TESTS_FAKE_PM_RUN_H
#define GPUFL_TESTS_FAKE_PM_RUN_H

#include "tests/fake/runner.h"

#include <stdint.h>

#define PM_BUSY "gr__cycles_active.avg.pct_of_peak_sustained_elapsed"

/* Holds the library's own totals: samples that it gave and made, drains that found its buffer full,
 * and whether its counters were freed. */
struct pm_given {
    long long samples, made, full;
    int back;
};

/* Runs a program with that script of the library; s.env is ignored. All 0: no totals were
 * written. */
struct pm_given pm_run(struct run *r, const char *script, struct run_setup s);

/* Returns the number of values of a metric in the report, in scopes whose path contains the text;
 * NULL: in all. */
int64_t pm_values(const struct run *r, const char *metric, const char *scope);

#endif
