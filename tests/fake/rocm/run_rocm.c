/* run_rocm.c - see run_rocm.h. */
#include "tests/fake/rocm/run_rocm.h"

#include "tests/test.h"

#include <stdio.h>

void run_with(struct run *r, int rocm, const char *const variables[3], const char *const *options,
              const char *const *program)
{
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32], folder[16];
    snprintf(folder, sizeof folder, "fake/rocm/%d", rocm);
    snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file(folder));
    run_all(r,
            &(struct run_setup){.env = LIST(library, sdk, variables[0], variables[1], variables[2]),
                                .options = options,
                                .program = program,
                                .binary = "fake/rocm/fake_hip"});
}

void run_rocm(struct run *r, int rocm, const char *script, const char *const *options,
              const char *const *program)
{
    run_with(r, rocm, LIST(script, NULL, NULL), options, program);
}

void check_counts(const struct run *r, const char *verdict, int64_t kernels, int64_t copies)
{
    check_program(r, 0);
    assert_non_null(r->report);
    assert_string_equal(text_at(r->report, "session.backend"), "amd");
    assert_string_equal(text_at(r->report, "ledger.verdict"), verdict);
    assert_int_equal(int_at(r->report, "ledger.launches"), int_at(r->said, "0.launches"));
    assert_int_equal(int_at(r->report, "ledger.kernels_written"), kernels);
    assert_int_equal(int_at(r->report, "kernels.count"), kernels);
    assert_int_equal(int_at(r->report, "ledger.copies_written"), copies);
    assert_int_equal(int_at(r->report, "ledger.joins_lost"), 0);
    assert_string_equal(capability_of(r, "kernels", "status"), "collected");
}

json_t *read_kernel(struct run *r, const char *kernel, char *text, size_t size)
{
    struct child c;
    json_error_t e;
    assert_int_equal(
        gpufl_run(&r->w, &c, NULL, NULL, LIST("report", r->logs, "--kernel", kernel, "--json")), 0);
    json_t *report = json_loads(c.text[CHILD_OUT].data, 0, &e);
    assert_non_null(report);
    child_free(&c);
    assert_int_equal(gpufl_run(&r->w, &c, NULL, NULL, LIST("report", r->logs, "--kernel", kernel)),
                     0);
    snprintf(text, size, "%s", c.text[CHILD_OUT].data);
    child_free(&c);
    return report;
}
