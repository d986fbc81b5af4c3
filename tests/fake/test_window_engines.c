/* test_window_engines.c - tests windows of the engines beyond Trace, which stay attached for a
 * while: data inside windows is kept, to the last sample and count; data outside is not; data of a
 * scope's window belongs to the scope; and if an engine is not available, the window is refused
 * with the reason, and the program goes on. */
#include "tests/fake/pm_run.h"
#include "tests/fake/window_run.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_windows(const struct run *r, int64_t opened)
{
    assert_int_equal(int_at(r->report, "windows.opened"), opened);
    assert_true(int_at(r->report, "windows.recorded_ns") > 0);
    assert_string_equal(capability_of(r, "windows", "status"), "collected");
    check_contains(r, capability_of(r, "windows", "reason"), "stayed attached");
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    window_check_no_loss(r, "samples_lost");
    window_check_no_loss(r, "metrics_lost");
}

/* ---- PcSampling ---------------------------------------------------------------------------- */

/* The session has every sample of kernels in windows, and none of kernels after them; contexts that
 * begin and end, and threads, belong to the window, too. */
TEST(samples_of_windows)
{
    static const struct {
        const char *program[6];
        bool alone;
    } cases[] = {
        {{"100", "kept"}, true},
        {{"10", "kept", "slow=30"}, true},
        {{"100", "kept", "threads=3"}, false},
        {{"50", "kept", "threads=3", "contexts"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        window_run(&r, NULL, LIST("-e", "PcSampling", "--windows"), cases[i].program);
        check_windows(&r, atoi(cases[i].program[0]));
        int64_t launches = int_at(r.said, "0.in_windows");
        int64_t samples = window_samples(&r, "fake_relu");
        assert_in_range(samples, launches * SAMPLES_LEAST, launches * SAMPLES_MOST);
        if (cases[i].alone) {
            assert_int_equal(window_samples(&r, "fake_gemm"), 0);
            assert_int_equal(int_at(r.report, "ledger.launches"), launches);
        }
        assert_true(int_at(r.report, "ledger.launches") >= launches);
        assert_in_range(int_at(r.report, "samples.sampled_ns"), 1,
                        int_at(r.report, "windows.recorded_ns") * 3 / 2); /* and the switching */
        assert_true(unknown_at(r.report, "kernels.count"));
        assert_string_equal(window_setting(&r, "ran_as"), "PcSampling");
        check_contains(&r, message_of(&r, "windows.samples_alone"), "no kernel records");
        run_free(&r);
    }
}

/* All samples belong to the scope that opened the window. */
TEST(samples_are_the_scopes)
{
    for (int slow = 0; slow < 2; slow++) {
        struct run r;
        window_run(&r, NULL, LIST("-e", "PcSampling", "--in-scope", "step"),
                   slow ? LIST("scopes", "slow=5") : LIST("scopes"));
        check_windows(&r, STEPS);
        int64_t all = int_at(r.report, "samples.samples");
        assert_true(all > 0);
        assert_int_equal(window_samples(&r, "fake_relu"), all);
        assert_int_equal(window_sum(&r, "samples.scopes", "scope", "step", "samples"), all);
        run_free(&r);
    }
}

TEST(samples_that_cannot_be_had)
{
    static const struct {
        const char *script, *sentence;
    } cases[] = {
        {"FAKE_CUPTI=pc-privileges", "NVreg_RestrictProfilingToAdminUsers=0"},
        {"FAKE_CUPTI=pc-old", "compute capability 7.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        window_run(&r, LIST(cases[i].script), LIST("-e", "PcSampling", "--in-scope", "epoch"),
                   LIST("scopes"));
        check_contains(&r, message_of(&r, "windows.failed"), cases[i].sentence);
        assert_int_equal(int_at(r.report, "windows.opened"), 0);
        assert_string_equal(capability_of(&r, "windows", "status"), "partial");
        run_free(&r);
    }
}

/* A window that does not open does not affect the next ones. Two calls in a row fail: one of them
 * is made while a window opens, or both are, if the first one fails there. */
TEST(a_window_that_fails)
{
    struct run r;
    window_run(
        &r, LIST("FAKE_CUPTI=fail=cuptiPCSamplingGetData:5:999,fail=cuptiPCSamplingGetData:6:999"),
        LIST("-e", "PcSampling", "--in-scope", "step", "--option", "flush_interval_ms=10000"),
        LIST("scopes"));
    check_contains(&r, message_of(&r, "windows.failed"), "what was sampled before");
    assert_in_range(int_at(r.report, "windows.opened"), STEPS - 2, STEPS - 1);
    assert_true(window_samples(&r, "fake_relu") > 0);
    assert_int_equal(window_samples(&r, "fake_gemm"), 0);
    run_free(&r);
}

/* ---- SassMetrics, Deep ---------------------------------------------------------------------- */

TEST(counts_are_the_scopes)
{
    struct run r;
    window_run(&r, NULL, LIST("-e", "SassMetrics", "--in-scope", "step"), LIST("scopes"));
    check_windows(&r, STEPS);
    int64_t all = int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS;
    assert_int_equal(window_counts(&r, ""), all);
    assert_int_equal(
        window_sum(&r, "instructions.kernels", "scope", "step", "smsp__sass_inst_executed"), all);
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* The first windows are sampled, later ones counted. */
TEST(deep_in_windows)
{
    struct run r;
    window_run(&r, NULL, LIST("-e", "Deep", "--in-scope", "step", "--option", "deep_sample_ms=60"),
               LIST("scopes", "slow=10"));
    check_windows(&r, STEPS);
    assert_string_equal(window_setting(&r, "ran_as"), "Deep");
    assert_true(window_samples(&r, "fake_relu") > 0);
    assert_true(window_counts(&r, "fake_relu") > 0);
    assert_true(window_counts(&r, "fake_relu") <
                int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    assert_int_equal(window_samples(&r, "fake_gemm"), 0);
    assert_int_equal(window_counts(&r, "fake_gemm"), 0);
    run_free(&r);
}

/* ---- PmSampling ---------------------------------------------------------------------------- */

static struct pm_given run_counters(struct run *r, const char *script, const char *const *options,
                                    const char *binary, const char *const *program)
{
    struct pm_given g = pm_run(
        r, script, (struct run_setup){.binary = binary, .options = options, .program = program});
    check_program(r, 0);
    return g;
}

/* Outside of the window the device is not sampled, which is no loss. */
TEST(counters_by_the_clock)
{
    for (int none = 0; none < 2; none++) {
        struct run r;
        struct pm_given g =
            run_counters(&r, "FAKE_CUPTI=",
                         LIST("-e", "PmSampling", "--after", "300ms", "--for", "300ms", "--option",
                              none ? "pc_kernel_collect=none" : "pc_kernel_collect=all"),
                         NULL, LIST("10", "ms=1500"));
        int64_t ns = int_at(r.report, "windows.recorded_ns"), values = pm_values(&r, PM_BUSY, NULL);
        assert_int_equal(g.back, 1);
        assert_in_range(values, 1, 2 * ns / 1000000); /* one a ms; much more ran before and after */
        assert_true(g.made >= values);
        assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
        assert_int_equal(int_at(r.report, "ledger.samples_overflows"), 0);
        if (none)
            assert_true(unknown_at(r.report, "kernels.count"));
        else
            assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.launches") - 1);
        run_free(&r);
    }
}

/* Each of many windows is sampled for its scope, except the samples before the scope begins: a
 * scope opens its window first. */
TEST(counters_of_scopes)
{
    struct run r;
    struct pm_given g = run_counters(
        &r, "FAKE_CUPTI=",
        LIST("-e", "PmSampling", "--in-scope", "step", "--option", "flush_interval_ms=10"),
        "fake/fake_windows", LIST("scopes", "slow=40"));
    check_windows(&r, STEPS);
    int64_t all = pm_values(&r, PM_BUSY, NULL);
    assert_int_equal(g.back, 1);
    assert_true(all > 0);
    assert_in_range(pm_values(&r, PM_BUSY, "step"), all * 9 / 10, all);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.in_windows"));
    run_free(&r);
}

TEST(counters_that_do_not_begin_again)
{
    struct run r;
    struct pm_given g = run_counters(
        &r, "FAKE_CUPTI=fail=cuptiPmSamplingStart:2:999",
        LIST("-e", "PmSampling", "--in-scope", "step", "--option", "flush_interval_ms=10"),
        "fake/fake_windows", LIST("scopes", "slow=40"));
    check_contains(&r, message_of(&r, "windows.failed"), "to begin sampling hardware counters");
    assert_int_equal(int_at(r.report, "windows.opened"), STEPS - 1);
    assert_int_equal(g.back, 1);
    assert_true(pm_values(&r, PM_BUSY, NULL) > 0);
    run_free(&r);
    run_counters(&r, "FAKE_CUPTI=pm-held", LIST("-e", "PmSampling", "--in-scope", "step"),
                 "fake/fake_windows", LIST("scopes", "slow=40"));
    check_instead(&r, &(struct engine_case){"PmSampling", "pm_sampling", .sentence = "holds"}, 0);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* ---- RangeProfiler ------------------------------------------------------------------------- */

/* The scope that opens a window is counted in it, also inside another scope. */
TEST(ranges_of_windows)
{
    struct run r;
    double mean = 0;
    window_run(&r,
               LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed"),
               LIST("-e", "RangeProfiler", "--in-scope", "step"), LIST("scopes"));
    check_windows(&r, STEPS);
    assert_int_equal(window_ranges(&r, "scope", NULL, &mean), STEPS);
    assert_int_equal(window_ranges(&r, "scope", "step", &mean), STEPS);
    assert_true(mean > 2.9 && mean < 3.1);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    assert_string_equal(window_setting(&r, "ran_as"), "RangeProfiler");
    run_free(&r);
}

TEST(kernels_of_windows)
{
    struct run r;
    double mean = 0;
    window_run(&r,
               LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
                    "GPUFL_RANGE_MODE=kernels"),
               LIST("-e", "RangeProfiler", "--windows"), LIST("20", "kept", "threads=2"));
    check_windows(&r, 20);
    assert_int_equal(window_ranges(&r, "kernel_symbol", "fake_relu", &mean), 3);
    assert_in_range(int_at(r.report, "kernels.count"), int_at(r.said, "0.in_windows"), INT64_MAX);
    run_free(&r);
    window_run(&r, LIST("FAKE_CUPTI=range-held"), LIST("-e", "RangeProfiler", "--in-scope", "step"),
               LIST("scopes"));
    check_instead(&r,
                  &(struct engine_case){"RangeProfiler", "range_counters", "range_profiler",
                                        .sentence = "holds"},
                  0);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* ---- all of them --------------------------------------------------------------------------- */

static const char *const engines[] = {"PcSampling", "SassMetrics", "PmSampling", "RangeProfiler",
                                      "Deep"};
enum { ENGINES = sizeof engines / sizeof *engines };

/* A window opens after so many launches, and closes a moment after its last one. */
TEST(windows_by_launches)
{
    for (size_t i = 0; i < ENGINES; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.options = LIST("-e", engines[i], "--after-launches", "200",
                                                        "--launches", "50"),
                                        .program = LIST("200", "threads=2", "ms=800")});
        check_program(&r, 0);
        print_message("%s\n", engines[i]);
        assert_int_equal(int_at(r.report, "windows.opened"), 1);
        assert_int_equal(json_boolean_value(at(r.report, "windows.still_open")), false);
        assert_in_range(int_at(r.report, "ledger.launches"), 40,
                        int_at(r.said, "0.launches") - 200);
        run_free(&r);
    }
}

TEST(windows_and_forks)
{
    for (size_t i = 0; i < ENGINES; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){
                        .env = LIST("ASAN_OPTIONS=detect_leaks=0"), /* the child forgets */
                        .options = LIST("-e", engines[i], "--after", "50ms", "--for", "100ms"),
                        .program = LIST("500", "ms=400", "fork=after", "exit=5")});
        check_program(&r, 5);
        print_message("%s\n", engines[i]);
        assert_int_equal(int_at(r.report, "windows.opened"), 1);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_windows),
        cmocka_unit_test(samples_are_the_scopes),
        cmocka_unit_test(samples_that_cannot_be_had),
        cmocka_unit_test(a_window_that_fails),
        cmocka_unit_test(counts_are_the_scopes),
        cmocka_unit_test(deep_in_windows),
        cmocka_unit_test(counters_by_the_clock),
        cmocka_unit_test(counters_of_scopes),
        cmocka_unit_test(counters_that_do_not_begin_again),
        cmocka_unit_test(ranges_of_windows),
        cmocka_unit_test(kernels_of_windows),
        cmocka_unit_test(windows_by_launches),
        cmocka_unit_test(windows_and_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
