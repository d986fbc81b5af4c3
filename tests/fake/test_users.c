/* test_users.c - tests programs that use CUPTI themselves get the results that they get without
 * gpufl; a library that only needs or loads CUPTI does not count as a user of CUPTI. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 700 };
#define N "700"

/* Checks what the program says of its own uses of CUPTI: `count` of them, each complete. */
static void check_uses(const struct run *r, size_t count)
{
    assert_int_equal(json_array_size(r->said), 1);
    json_t *uses = at(json_array_get(r->said, 0), "uses");
    assert_int_equal(json_array_size(uses), 1 + count); /* the first entry is not a use */
    for (size_t i = 1; i <= count; i++) {
        json_t *use = json_array_get(uses, i);
        assert_int_equal(int_at(use, "begin"), 0);
        assert_int_equal(int_at(use, "kernels"), LAUNCHES);
        assert_int_equal(int_at(use, "in_time"), LAUNCHES);
        assert_int_equal(int_at(use, "foreign"), 0);
    }
}

static void run_user(struct run *r, const char *program, const char *when,
                     const char *const *options)
{
    run_all(r,
            &(struct run_setup){.binary = program, .options = options, .program = LIST(when, N)});
    check_program(r, 0);
}

static int64_t written(const struct run *r)
{
    return int_at(r->report, "ledger.kernels_written");
}

/* Returns true if kernels were not recorded, so that their number is unknown, not 0. */
static bool is_unrecorded(const struct run *r)
{
    return json_is_null(at(r->report, "ledger.kernels_written"));
}

/* ---- uses it from the start ------------------------------------------------------------------ */

TEST(a_program_that_is_built_with_it)
{
    static const char *const engines[] = {"Monitor", "Sync", "Trace", "SassMetrics", "PcSampling"};
    static const char *const when[] = {"before", "later"};
    struct run r;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        for (size_t j = 0; j < 2; j++) {
            run_user(&r, "fake/fake_user", when[j], LIST("--engine", engines[i]));
            check_uses(&r, 1);
            assert_true(is_unrecorded(&r));
            if (i > 0) {
                check_contains(&r, message_of(&r, "trace_unavailable"), "needs libcupti.so.13");
                check_contains(&r, message_of(&r, "trace_unavailable"), "--keep-cupti");
            }
            run_free(&r);
        }
}

/* The program subscribes itself and passes NVTX texts that only a tool reads, as CUPTI's sample
 * cupti_nvtx does. Ranges do not need CUPTI, so they are recorded. */
TEST(a_program_with_nvtx_and_cupti)
{
    static const char *const ways[][3] = {
        {"--engine", "Monitor"},       {"--engine", "Sync"},        {"--engine", "Trace"},
        {"--engine", "PcSampling"},    {"--engine", "SassMetrics"}, {"--engine", "PmSampling"},
        {"--engine", "RangeProfiler"}, {"--engine", "Deep"},        {"--yield-cupti"}};
    static const char *const cases[] = {"misused", "hostile", "nested"};
    struct run r;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            run_all(&r, &(struct run_setup){.binary = "fake/fake_nvtx_user",
                                            .options = ways[i],
                                            .program = LIST(cases[j])});
            check_program(&r, 0); /* it has all of its own records */
            assert_true(is_unrecorded(&r));
            assert_true(json_array_size(at(r.report, "scopes")) > 0);
            run_free(&r);
        }
}

/* A library of the program's holds CUPTI before gpufl attaches. */
TEST(a_library_that_was_first)
{
    struct run r;
    run_user(&r, "fake/fake_library_user", "before", NULL);
    check_uses(&r, 1);
    check_contains(&r, message_of(&r, "trace_unavailable"), "another profiler");
    run_free(&r);
}

/* ---- uses it later -------------------------------------------------------------------------- */

static void check_handed_over(const struct run *r)
{
    check_contains(r, message_of(r, "cupti.handed_over"), "cuptiSubscribe");
    check_contains(r, message_of(r, "cupti.handed_over"), "up to here");
    assert_int_equal(written(r), LAUNCHES);
    assert_int_equal(int_at(r->report, "ledger.launches"), LAUNCHES);
    assert_string_equal(capability_of(r, "kernels", "status"), "partial");
    check_contains(r, capability_of(r, "kernels", "reason"), "a profiler of its own");
}

TEST(a_library_that_begins_later)
{
    static const char *const programs[] = {"fake/fake_library_user", "fake/fake_look_user"};
    struct run r;
    for (size_t i = 0; i < 2; i++) {
        run_user(&r, programs[i], "later", NULL);
        check_uses(&r, 1);
        check_handed_over(&r);
        run_free(&r);
        run_user(&r, programs[i], "twice", NULL);
        check_uses(&r, 2);
        check_handed_over(&r);
        run_free(&r);
    }
}

/* Records that CUPTI holds back are taken out before the program registers its buffers. */
TEST(records_that_are_late)
{
    struct run r;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_library_user",
                                    .env = LIST("FAKE_CUPTI=late=300"),
                                    .program = LIST("later", N)});
    check_program(&r, 0);
    json_t *use = json_array_get(at(json_array_get(r.said, 0), "uses"), 1);
    assert_int_equal(int_at(use, "foreign"), 0);
    assert_int_equal(written(&r), LAUNCHES);
    run_free(&r);
}

TEST(other_engines_give_it_up)
{
    static const char *const engines[] = {"Sync", "SassMetrics", "PmSampling", "RangeProfiler"};
    static const char *const features[] = {NULL, "sass_metrics", "pm_sampling", "range_counters"};
    struct run r;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        run_user(&r, "fake/fake_library_user", "later", LIST("--engine", engines[i]));
        check_uses(&r, 1);
        check_contains(&r, message_of(&r, "cupti.handed_over"), "cuptiSubscribe");
        if (features[i]) {
            assert_string_equal(capability_of(&r, features[i], "status"), "partial");
            check_contains(&r, capability_of(&r, features[i], "reason"), "a profiler of its own");
        }
        run_free(&r);
    }
}

TEST(between_windows)
{
    struct run r;
    run_user(&r, "fake/fake_library_user", "later", LIST("--option", "windows=true"));
    check_uses(&r, 1);
    assert_int_equal(written(&r), 0);
    run_free(&r);
}

/* Samplers give CUPTI up, and what they sampled until then is kept. With windows, samples and
 * kernel records alternate. */
TEST(samplers_give_it_up)
{
    static const char *const ways[][5] = {
        {"--engine", "PcSampling"},
        {"--engine", "Deep"},
        {"--engine", "PcSampling", "--option", "pc_kernel_collect=windows"},
        {"--engine", "PcSampling", "--option", "pc_kernel_collect=none"}};
    struct run r;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_user(&r, "fake/fake_library_user", "twice", ways[i]);
        check_uses(&r, 2);
        check_contains(&r, message_of(&r, "cupti.handed_over"), "cuptiSubscribe");
        assert_null(message_of(&r, "cupti.kept"));
        assert_string_equal(capability_of(&r, "pc_sampling", "status"), "partial");
        check_contains(&r, capability_of(&r, "pc_sampling", "reason"), "a profiler of its own");
        assert_true(int_at(r.report, "samples.samples") > 0);
        run_free(&r);
    }
}

/* Sampling cannot be ended while a thread is inside the driver. A thread that leaves the driver in
 * time is waited for; else CUPTI refuses the program, and the session says why. */
TEST(samplers_while_a_thread_waits)
{
    static const char *const engines[] = {"PcSampling", "Deep"};
    struct run r;
    for (size_t i = 0; i < 2; i++) {
        run_user(&r, "fake/fake_library_user", "during=300", LIST("--engine", engines[i]));
        check_uses(&r, 1);
        run_free(&r);
        run_user(&r, "fake/fake_library_user", "during=3500", LIST("--engine", engines[i]));
        json_t *use = json_array_get(at(json_array_get(r.said, 0), "uses"), 1);
        assert_int_equal(int_at(use, "begin"), 39);
        check_contains(&r, message_of(&r, "cupti.kept"), "a thread was inside the driver");
        assert_null(message_of(&r, "cupti.handed_over"));
        run_free(&r);
    }
}

/* CUPTI refuses to end sampling. */
TEST(sampling_that_does_not_end)
{
    struct run r;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_library_user",
                                    .env = LIST("FAKE_CUPTI=fail=cuptiPCSamplingDisable:1:999"),
                                    .options = LIST("--engine", "PcSampling"),
                                    .program = LIST("later", N)});
    check_program(&r, 0);
    json_t *use = json_array_get(at(json_array_get(r.said, 0), "uses"), 1);
    assert_int_equal(int_at(use, "begin"), 39);
    check_contains(&r, message_of(&r, "cupti.kept"), "CUPTI did not end sampling");
    run_free(&r);
}

/* ---- only loads it ------------------------------------------------------------------------- */

TEST(a_library_that_never_calls)
{
    static const char *const programs[] = {"fake/fake_library_user", "fake/fake_look_user"};
    struct run r;
    for (size_t i = 0; i < 2; i++) {
        run_user(&r, programs[i], "never", NULL);
        check_uses(&r, 0);
        assert_int_equal(written(&r), LAUNCHES);
        assert_null(message_of(&r, "cupti.handed_over"));
        assert_string_equal(capability_of(&r, "kernels", "status"), "collected");
        run_free(&r);
    }
}

/* ---- what the user decides ------------------------------------------------------------------ */

TEST(gpufl_keeps_it)
{
    static const char *const programs[] = {"fake/fake_user", "fake/fake_library_user"};
    struct run r;
    for (size_t i = 0; i < 2; i++) {
        run_user(&r, programs[i], "later", LIST("--keep-cupti"));
        json_t *use = json_array_get(at(json_array_get(r.said, 0), "uses"), 1);
        assert_int_equal(int_at(use, "begin"), 39); /* CUPTI's refusal of a second subscriber */
        assert_int_equal(written(&r), 2 * LAUNCHES);
        assert_null(message_of(&r, "cupti.handed_over"));
        run_free(&r);
    }
}

TEST(gpufl_leaves_it)
{
    struct run r;
    run_user(&r, "fake/fake_library_user", "later", LIST("--yield-cupti"));
    check_uses(&r, 1);
    assert_true(is_unrecorded(&r));
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_is_built_with_it),
        cmocka_unit_test(a_program_with_nvtx_and_cupti),
        cmocka_unit_test(a_library_that_was_first),
        cmocka_unit_test(a_library_that_begins_later),
        cmocka_unit_test(records_that_are_late),
        cmocka_unit_test(other_engines_give_it_up),
        cmocka_unit_test(between_windows),
        cmocka_unit_test(samplers_give_it_up),
        cmocka_unit_test(samplers_while_a_thread_waits),
        cmocka_unit_test(sampling_that_does_not_end),
        cmocka_unit_test(a_library_that_never_calls),
        cmocka_unit_test(gpufl_keeps_it),
        cmocka_unit_test(gpufl_leaves_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
