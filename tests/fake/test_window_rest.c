/* test_window_rest.c - tests windows after which an engine beyond Trace frees its resources and the
 * profiling library is detached (window_detach): the data of each window is kept, to the last
 * sample and count; if a window begins late in some context, or the library stays attached, the
 * session says so. */
#include "tests/fake/pm_run.h"
#include "tests/fake/window_run.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static const char DETACHED[] = "the profiling library was detached 10 times";

/* Runs a window a cycle; after each the engine's objects are freed and the library is finalized,
 * which the fake library refuses while any object exists. */
static void run_resting(struct run *r, const char *engine, const char *const *env,
                        const char *const *program)
{
    window_run(r, env,
               LIST("-e", engine, "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                    "--option", "window_rest_ms=10", "--option", "window_detach=true"),
               program);
    assert_int_equal(int_at(r->report, "windows.opened"), 10);
    assert_string_equal(capability_of(r, "windows", "status"), "collected");
    check_contains(r, capability_of(r, "windows", "reason"), DETACHED);
    assert_int_equal(int_at(r->said, "0.finalized"), 10);
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    assert_int_equal(int_at(r->said, "0.touched"), 0);
    window_check_no_loss(r, "samples_lost");
    window_check_no_loss(r, "metrics_lost");
}

TEST(samples_rest)
{
    static const char *const programs[][7] = {
        {"10", "scope"},
        {"10", "scope", "slow=20"},
        {"10", "scope", "threads=3"},
        {"10", "scope", "threads=3", "made"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct run r;
        run_resting(&r, "PcSampling", NULL, programs[i]);
        int64_t launches = int_at(r.said, "0.in_windows");
        if (i < 3) /* if another thread's context is sampled, this one's follows later */
            assert_in_range(window_samples(&r, "fake_relu"), launches * SAMPLES_LEAST,
                            launches * SAMPLES_MOST);
        if (i < 2)
            assert_int_equal(window_samples(&r, "fake_gemm"), 0);
        assert_true(window_sum(&r, "samples.scopes", "scope", "cycle", "samples") > 0);
        run_free(&r);
    }
}

TEST(counts_rest)
{
    static const char *const programs[][6] = {
        {"10", "scope"},
        {"10", "scope", "threads=3"},
        {"10", "scope", "threads=3", "made", "slow=20"}, /* each in contexts of its own */
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct run r;
        run_resting(&r, "SassMetrics", NULL, programs[i]);
        if (i == 0) {
            assert_null(message_of(&r, "windows.begun_late"));
            assert_int_equal(window_counts(&r, "fake_gemm"), 0);
        } else if (i == 2) {
            assert_true(window_counts(&r, "fake_gemm") > 0);
        }
        assert_int_equal(window_counts(&r, "fake_relu"),
                         int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
        run_free(&r);
    }
}

/* In a context without work since the library was attached again, counting begins where a thread
 * waits for the device: earlier kernels there are missing, which is reported, even if nobody ever
 * waits. One context of a device is sampled, so the other one is not late. */
TEST(a_context_begins_late)
{
    static const struct {
        const char *engine, *program[3];
        bool late;
    } cases[] = {
        {"SassMetrics", {"elsewhere"}, true},
        {"SassMetrics", {"elsewhere", "kept"}, true},
        {"PcSampling", {"elsewhere"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        window_run(&r, NULL,
                   LIST("-e", cases[i].engine, "--windows", "--option", "flush_interval_ms=10",
                        "--option", "window_rest_ms=10", "--option", "window_detach=true"),
                   cases[i].program);
        assert_int_equal(int_at(r.report, "windows.opened"), 2);
        if (cases[i].late) {
            check_contains(&r, message_of(&r, "windows.begun_late"),
                           "in 1 windows at least one context lacks the beginning");
            assert_int_equal(window_counts(&r, "fake_relu"), 2 * WARPS * INSTRUCTIONS);
            assert_int_equal(window_counts(&r, "fake_gemm"), 0);
        } else {
            assert_null(message_of(&r, "windows.begun_late"));
            assert_in_range(window_samples(&r, "fake_relu"), 2 * SAMPLES_LEAST, 2 * SAMPLES_MOST);
        }
        run_free(&r);
    }
}

/* After a detach counting begins in as many contexts as are remembered, and the session says that
 * there were more. */
TEST(more_contexts_than_remembered)
{
    struct run r;
    window_run(&r, NULL,
               LIST("-e", "SassMetrics", "--windows", "--option", "flush_interval_ms=10",
                    "--option", "window_rest_ms=10", "--option", "window_detach=true"),
               LIST("crowd"));
    check_contains(&r, message_of(&r, "windows.contexts"), "more than 64 contexts");
    assert_true(window_counts(&r, "fake_relu") <
                int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    run_free(&r);
}

/* A context that another thread has destroyed is still current on a thread. */
TEST(a_context_that_another_thread_destroyed)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics"};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        window_run(&r, NULL,
                   LIST("-e", engines[i], "--windows", "--option", "flush_interval_ms=10",
                        "--option", "window_rest_ms=10", "--option", "window_detach=true"),
                   LIST("gone"));
        assert_int_equal(int_at(r.report, "windows.opened"), 2);
        if (i)
            assert_int_equal(window_counts(&r, "fake_relu"), 2 * WARPS * INSTRUCTIONS);
        else
            assert_in_range(window_samples(&r, "fake_relu"), 1, INT64_MAX);
        run_free(&r);
    }
}

/* Each window is sampled from its first launch on, which waits until sampling has begun. */
TEST(counters_rest)
{
    struct run r;
    run_resting(&r, "PmSampling", NULL, LIST("10", "scope", "threads=2", "slow=30"));
    int64_t all = pm_values(&r, PM_BUSY, NULL);
    assert_in_range(all, 10 * 20, INT64_MAX);
    assert_in_range(pm_values(&r, PM_BUSY, "cycle"), all * 9 / 10,
                    all); /* it opens before its scope */
    assert_int_equal(atoll(window_setting(&r, "samples")), all);
    run_free(&r);
}

TEST(ranges_rest)
{
    struct run r;
    double mean = 0;
    run_resting(&r, "RangeProfiler",
                LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed"),
                LIST("10", "scope", "threads=2"));
    assert_int_equal(window_ranges(&r, "scope", "cycle", &mean), 10);
    run_free(&r);
}

/* The collector opens these windows. It works in no context: it learns of one from calls. The
 * program ends after two detaches: if the machine is so slow that the first window comes before
 * the first of them, a later window brings the second. */
TEST(windows_by_the_clock_after_a_detach)
{
    static const char *const resting[] = {"PcSampling", "SassMetrics", "PmSampling",
                                          "RangeProfiler"};
    for (size_t i = 0; i < sizeof resting / sizeof *resting; i++) {
        struct run r;
        run_all(&r,
                &(struct run_setup){
                    .options = LIST("-e", resting[i], "--after", "400ms", "--for", "300ms",
                                    "--every", "5s", "--option", "flush_interval_ms=10", "--option",
                                    "window_rest_ms=20", "--option", "window_detach=true"),
                    .program = LIST("200", "threads=2", "ms=1200", "detached=2")});
        check_program(&r, 0);
        print_message("%s\n", resting[i]);
        int opened = 0, detached = 0;
        const char *said = capability_of(&r, "windows", "reason");
        if (sscanf(said, "%d opened; the profiling library was detached %d", &opened, &detached) !=
            2)
            fail_msg("windows: %s", said);
        assert_int_equal(opened, int_at(r.report, "windows.opened"));
        assert_in_range(opened, 1, 50);
        assert_in_range(detached, 2, opened + 1);
        assert_string_equal(window_setting(&r, "ran_as"), resting[i]);
        assert_in_range(int_at(r.report, "ledger.launches"), 1, int_at(r.said, "0.launches") / 2);
        if (i == 0)
            assert_true(int_at(r.report, "samples.samples") > 0);
        else if (i == 1)
            assert_true(window_counts(&r, "") > 0);
        else if (i == 2)
            assert_in_range(pm_values(&r, PM_BUSY, NULL), 100,
                            2 * int_at(r.report, "windows.recorded_ns") / 1000000);
        else
            assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.launches") / 2);
        run_free(&r);
    }
}

/* The library stays attached, except with counting, whose windows wait for kernels anyway. */
TEST(the_library_stays)
{
    static const char *const resting[] = {"PcSampling", "SassMetrics", "PmSampling",
                                          "RangeProfiler"};
    for (size_t i = 0; i < 2 * (sizeof resting / sizeof *resting); i++) {
        struct run r;
        const char *engine = resting[i / 2];
        bool goes = i / 2 == 1;
        print_message("%s %s\n", engine, i % 2 ? "with other threads" : "alone");
        window_run(&r, NULL,
                   LIST("-e", engine, "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                        "--option", "window_rest_ms=10"),
                   goes    ? LIST("3", "scope", i % 2 ? "threads=2" : "slow=10")
                   : i % 2 ? LIST("3", "scope", "kept", "threads=2", "slow=60")
                           : LIST("3", "scope", "kept", "slow=60"));
        assert_int_equal(int_at(r.said, "0.finalized"), goes ? 3 : 0);
        if (!goes)
            check_contains(&r, capability_of(&r, "windows", "reason"), "stayed attached");
        if (i < 2)
            assert_in_range(window_samples(&r, "fake_relu"),
                            int_at(r.said, "0.in_windows") * SAMPLES_LEAST,
                            int_at(r.said, "0.in_windows") * SAMPLES_MOST);
        run_free(&r);
    }
    /* With several contexts the library stays with counting, too; it may have been detached once,
     * before the second context was made. */
    struct run r;
    window_run(&r, NULL,
               LIST("-e", "SassMetrics", "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                    "--option", "window_rest_ms=10"),
               LIST("3", "scope", "kept", "threads=2", "made", "slow=60"));
    assert_in_range(int_at(r.said, "0.finalized"), 0, 1);
    assert_int_equal(window_counts(&r, "fake_relu"),
                     int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    run_free(&r);
}

/* An engine that could not be ended is not asked again: windows go on. */
TEST(sampling_that_does_not_rest)
{
    struct run r;
    window_run(&r, LIST("FAKE_CUPTI=fail=cuptiPCSamplingDisable:1:999"),
               LIST("-e", "PcSampling", "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                    "--option", "window_rest_ms=10", "--option", "window_detach=true"),
               LIST("5", "scope", "kept", "slow=50"));
    assert_int_equal(int_at(r.report, "windows.opened"), 5);
    assert_int_equal(int_at(r.said, "0.finalized"), 0);
    check_contains(&r, capability_of(&r, "windows", "reason"), "once it could not be detached");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_rest),
        cmocka_unit_test(counts_rest),
        cmocka_unit_test(a_context_begins_late),
        cmocka_unit_test(more_contexts_than_remembered),
        cmocka_unit_test(a_context_that_another_thread_destroyed),
        cmocka_unit_test(counters_rest),
        cmocka_unit_test(ranges_rest),
        cmocka_unit_test(windows_by_the_clock_after_a_detach),
        cmocka_unit_test(the_library_stays),
        cmocka_unit_test(sampling_that_does_not_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
