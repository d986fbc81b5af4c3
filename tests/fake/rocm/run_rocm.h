/* run_rocm.h - `gpufl trace` over a HIP program and the fake rocprofiler-sdk. */
#ifndef GPUFL_TESTS_FAKE_ROCM_RUN_ROCM_H
#define GPUFL_TESTS_FAKE_ROCM_RUN_ROCM_H

#include "tests/fake/runner.h"

/* Lists forms of the library's structs: ROCm 6.4, 7.0, 6.2, and 6.4 without the service that
 * counts. */
enum { OLD = 6, NEW = 7, OLDEST = 62, PLAIN = 64, WORKING = 73 };

/* Runs a program with the SDK of this form, with FAKE_ROCP and two more variables as given. */
void run_with(struct run *r, int rocm, const char *const variables[3], const char *const *options,
              const char *const *program);

/* Does what run_with does, with one variable. */
void run_rocm(struct run *r, int rocm, const char *script, const char *const *options,
              const char *const *program);

/* Checks what holds for every session of engine Trace: the launches are the program's, and so many
 * kernels, and copies and fills together, are written. */
void check_counts(const struct run *r, const char *verdict, int64_t kernels, int64_t copies);

/* Reads the run's report with one kernel's code: as JSON, which the caller frees, and as text. */
json_t *read_kernel(struct run *r, const char *kernel, char *text, size_t size);

#endif
