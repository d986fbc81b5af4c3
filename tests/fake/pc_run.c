/* pc_run.c - see pc_run.h. */
#include "tests/fake/pc_run.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct engine_case pc_refusals[PC_REFUSALS] = {
    {"PcSampling", "pc_sampling", .script = "FAKE_CUPTI=pc-privileges",
     .sentence = "NVreg_RestrictProfilingToAdminUsers=0"},
    {"PcSampling", "pc_sampling", .script = "FAKE_CUPTI=pc-old",
     .sentence = "compute capability 7.0"},
    {"PcSampling", "pc_sampling", .script = "FAKE_CUPTI=pc-held",
     .sentence = "another process or tool holds"},
};

struct pc_given pc_run(struct run *r, const char *script, struct run_setup s)
{
    char path[] = "/tmp/gpufl-fake-pc-XXXXXX", totals[64];
    struct pc_given sum = {0}, one;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(totals, sizeof totals, "FAKE_PC_TOTALS=%s", path);
    s.env = LIST(script, totals);
    run_all(r, &s);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%lld %lld %lld %lld", &one.samples, &one.total, &one.dropped,
                       &one.other) == 4) {
        sum.samples += one.samples;
        sum.total += one.total;
        sum.dropped += one.dropped;
        sum.other += one.other;
    }
    if (f)
        fclose(f);
    unlink(path);
    assert_non_null(r->report);
    return sum;
}

void pc_check_setting(const struct run *r, const char *name, const char *value)
{
    check_contains(r, setting_of_engine(r, "PcSampling", name), value);
}

void pc_check_samples(const struct run *r, const struct pc_given *g)
{
    assert_true(g->samples > 0);
    if (unknown_at(r->report, "ledger.samples_recorded")) /* then this fails, and shows why */
        check_contains(r, capability_of(r, "pc_sampling", "status"), "collected");
    assert_int_equal(int_at(r->report, "ledger.samples_recorded"), g->samples);
    assert_int_equal(int_at(r->report, "ledger.samples_lost"), g->dropped);
    assert_int_equal(int_at(r->report, "ledger.samples_other"), g->other);
}

struct pc_given pc_sample(struct run *r, const char *script, const char *extra,
                          const char *const *program)
{
    return pc_run(r, script,
                  (struct run_setup){.options = extra ? LIST("-e", "PcSampling", "--option", extra)
                                                      : LIST("-e", "PcSampling"),
                                     .program = program});
}

int64_t pc_settings_named(const struct run *r, const char *name)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "settings"), i, row) n += !strcmp(text_at(row, "name"), name);
    return n;
}

/* The lock of the fake device that this process's programs see (runner.c). */
void pc_claim_path(char *out, size_t size)
{
    snprintf(out, size, "/dev/shm/gpufl-GPU-11111111-1111-1111-1111-1111%08x", (unsigned)getpid());
}

int pc_remove_claim(void **state)
{
    (void)state;
    char path[64];
    pc_claim_path(path, sizeof path);
    unlink(path);
    return 0;
}
