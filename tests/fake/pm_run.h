/* pm_run.h - runs with engine PmSampling, and what pm.c says at their end. */
#ifndef GPUFL_TESTS_FAKE_PM_RUN_H
#define GPUFL_TESTS_FAKE_PM_RUN_H

#include "tests/fake/runner.h"

#include <stdint.h>

#define PM_BUSY "gr__cycles_active.avg.pct_of_peak_sustained_elapsed"

/* What the library says: samples it gave, and made; drains that found its buffer full, and whether
 * it has its counters back. */
struct pm_given {
    long long samples, made, full;
    int back;
};

/* Runs it with that script of the library; s->env is not looked at. All 0: nothing was said. */
struct pm_given pm_run(struct run *r, const char *script, struct run_setup s);

/* Values of a metric in the report: of scopes whose path has that in it, or all (NULL). */
int64_t pm_values(const struct run *r, const char *metric, const char *scope);

#endif
