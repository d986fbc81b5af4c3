/* pc_run.h - makes runs with engine PcSampling, and the totals that pc.c writes at their end. */
#ifndef GPUFL_TESTS_FAKE_PC_RUN_H
#define GPUFL_TESTS_FAKE_PC_RUN_H

#include "tests/fake/runner.h"

#include <stdint.h>

/* Holds the library's own totals, of all contexts. */
struct pc_given {
    long long samples, total, dropped, other;
};

/* Runs a program with that script of the library; s.env is ignored. All 0: no totals were
 * written. */
struct pc_given pc_run(struct run *r, const char *script, struct run_setup s);

/* Runs a program with engine PcSampling. extra: an option of `gpufl trace`, or NULL. */
struct pc_given pc_sample(struct run *r, const char *script, const char *extra,
                          const char *const *program);

/* Checks that the engine's last setting of that name contains the value. */
void pc_check_setting(const struct run *r, const char *name, const char *value);

/* Returns how many settings have that name. */
int64_t pc_settings_named(const struct run *r, const char *name);

/* Checks that all samples that were given are in the session, once. */
void pc_check_samples(const struct run *r, const struct pc_given *g);

/* The first function writes the path of the lock of the fake device that this process's programs
 * see (runner.c); the second one is a group's teardown, which removes the lock. */
void pc_claim_path(char *out, size_t size);
int pc_remove_claim(void **state);

/* Says what keeps PcSampling from a device: rights, an old device, another tool. */
enum { PC_REFUSALS = 3 };
extern const struct engine_case pc_refusals[PC_REFUSALS];

#endif
