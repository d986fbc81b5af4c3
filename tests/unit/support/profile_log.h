/* profile_log.h - writes, for tests, device code, samples and instruction metrics in the log of a
 * program (program.h). */
#ifndef GPUFL_TESTS_PROFILE_LOG_H
#define GPUFL_TESTS_PROFILE_LOG_H

#include "tests/unit/support/program.h"

/* Adds a kernel that ran for ms, as a function of device code with 8 instructions of 16 bytes on
 * lines 10, 11, … of /src/<name>.cu. Returns the function's id. */
int64_t profile_kernel_of(struct program *p, const char *name, int64_t ms);

/* Adds samples of the instruction with that number, with a stall reason. issued: like
 * stall_reason.issued. */
void profile_sample(struct program *p, int64_t function, int64_t instruction, const char *reason,
                    int64_t issued, int64_t samples);

/* Does what profile_sample does, in a scope. */
void profile_sample_in(struct program *p, int64_t function, int64_t instruction, const char *reason,
                       int64_t samples, int64_t scope);

/* Adds a metric's value of an instruction; scope 0: none. */
void profile_metric(struct program *p, int64_t function, int64_t instruction, const char *metric,
                    int64_t value, int64_t scope);

/* Adds a scope that lasts for the whole program; returns its instance. */
int64_t profile_scope(struct program *p, const char *name);

#endif
