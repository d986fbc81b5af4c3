/* test_window_engines.c - windows of the engines beyond Trace, which stay attached for a while:
 * inside, what each brings is kept, to the last sample and count; outside, nothing is; what a
 * scope's window kept is the scope's; and where an engine cannot be had, the window is refused with
 * the reason, and the program goes on. "relu" is launched in windows, "gemm" outside
 * (windows.c). */
#include "tests/fake/pm_run.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARPS = 4, INSTRUCTIONS = 3, STEPS = 20 };
enum { SAMPLES_LEAST = 45, SAMPLES_MOST = 51 }; /* of a launch: what is left of them by rounding */

static void run_windows(struct run *r, const char *const *env, const char *const *options,
                        const char *const *program)
{
    run_all(r,
            &(struct run_setup){
                .binary = "fake/fake_windows", .env = env, .options = options, .program = program});
    check_program(r, 0);
}

/* Sum of a number over rows of a list: those whose member holds the text. */
static int64_t sum(const struct run *r, const char *list, const char *member, const char *text,
                   const char *number)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, list), i, row)
    {
        const char *of = json_string_value(json_object_get(row, member));
        json_t *value = json_object_get(row, number);
        if (json_is_integer(value) && (text ? of && strstr(of, text) : !of))
            n += json_integer_value(value);
    }
    return n;
}

static int64_t samples_of(const struct run *r, const char *kernel)
{
    return sum(r, "samples.kernels", "kernel", kernel, "samples");
}

/* Counts of all scopes together. */
static int64_t counts_of(const struct run *r, const char *kernel)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "instructions.kernels"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "kernel"));
        json_t *value = json_object_get(row, "smsp__sass_inst_executed");
        if (json_is_null(json_object_get(row, "scope")) && json_is_integer(value) && name &&
            strstr(name, kernel))
            n += json_integer_value(value);
    }
    return n;
}

static const char *setting_of(const struct run *r, const char *name)
{
    size_t i;
    json_t *row;
    const char *found = "";
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name))
            found = text_at(row, "value");
    }
    return found;
}

static void check_no_loss(const struct run *r, const char *column)
{
    json_t *n = json_object_get(at(r->report, "ledger"), column);
    assert_true(json_is_null(n) || json_integer_value(n) == 0);
}

static void check_windows(const struct run *r, int64_t opened)
{
    assert_int_equal(int_at(r->report, "windows.opened"), opened);
    assert_true(int_at(r->report, "windows.recorded_ns") > 0);
    assert_string_equal(capability_of(r, "windows", "status"), "collected");
    check_contains(r, capability_of(r, "windows", "reason"), "stayed attached");
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    check_no_loss(r, "samples_lost");
    check_no_loss(r, "metrics_lost");
}

/* ---- PcSampling ---------------------------------------------------------------------------- */

/* Every sample of what ran in a window, and none of what ran behind it; contexts that come and go,
 * and threads, are the window's, too. */
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
        run_windows(&r, NULL, LIST("-e", "PcSampling", "--windows"), cases[i].program);
        check_windows(&r, atoi(cases[i].program[0]));
        int64_t launches = int_at(r.said, "0.in_windows");
        int64_t samples = samples_of(&r, "fake_relu");
        assert_in_range(samples, launches * SAMPLES_LEAST, launches * SAMPLES_MOST);
        if (cases[i].alone) {
            assert_int_equal(samples_of(&r, "fake_gemm"), 0);
            assert_int_equal(int_at(r.report, "ledger.launches"), launches);
        }
        assert_true(int_at(r.report, "ledger.launches") >= launches);
        assert_in_range(int_at(r.report, "samples.sampled_ns"), 1,
                        int_at(r.report, "windows.recorded_ns") * 3 / 2); /* and the switching */
        assert_true(unknown_at(r.report, "kernels.count"));
        assert_string_equal(setting_of(&r, "ran_as"), "PcSampling");
        check_contains(&r, message_of(&r, "windows.samples_alone"), "no kernel records");
        run_free(&r);
    }
}

/* All of it is the scope's that opened the window. */
TEST(samples_are_the_scopes)
{
    for (int slow = 0; slow < 2; slow++) {
        struct run r;
        run_windows(&r, NULL, LIST("-e", "PcSampling", "--in-scope", "step"),
                    slow ? LIST("scopes", "slow=5") : LIST("scopes"));
        check_windows(&r, STEPS);
        int64_t all = int_at(r.report, "samples.samples");
        assert_true(all > 0);
        assert_int_equal(samples_of(&r, "fake_relu"), all);
        assert_int_equal(sum(&r, "samples.scopes", "scope", "step", "samples"), all);
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
        run_windows(&r, LIST(cases[i].script), LIST("-e", "PcSampling", "--in-scope", "epoch"),
                    LIST("scopes"));
        check_contains(&r, message_of(&r, "windows.failed"), cases[i].sentence);
        assert_int_equal(int_at(r.report, "windows.opened"), 0);
        assert_string_equal(capability_of(&r, "windows", "status"), "partial");
        run_free(&r);
    }
}

/* One that does not open leaves the next ones alone. Of two calls in a row one is made where a
 * window opens; both are, where the first one fails there. */
TEST(a_window_that_fails)
{
    struct run r;
    run_windows(
        &r, LIST("FAKE_CUPTI=fail=cuptiPCSamplingGetData:5:999,fail=cuptiPCSamplingGetData:6:999"),
        LIST("-e", "PcSampling", "--in-scope", "step", "--option", "flush_interval_ms=10000"),
        LIST("scopes"));
    check_contains(&r, message_of(&r, "windows.failed"), "what was sampled before");
    assert_in_range(int_at(r.report, "windows.opened"), STEPS - 2, STEPS - 1);
    assert_true(samples_of(&r, "fake_relu") > 0);
    assert_int_equal(samples_of(&r, "fake_gemm"), 0);
    run_free(&r);
}

/* ---- SassMetrics, Deep ---------------------------------------------------------------------- */

TEST(counts_are_the_scopes)
{
    struct run r;
    run_windows(&r, NULL, LIST("-e", "SassMetrics", "--in-scope", "step"), LIST("scopes"));
    check_windows(&r, STEPS);
    int64_t all = int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS;
    assert_int_equal(counts_of(&r, ""), all);
    assert_int_equal(sum(&r, "instructions.kernels", "scope", "step", "smsp__sass_inst_executed"),
                     all);
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* Sampled in the first windows, counted in those behind them. */
TEST(deep_in_windows)
{
    struct run r;
    run_windows(&r, NULL, LIST("-e", "Deep", "--in-scope", "step", "--option", "deep_sample_ms=60"),
                LIST("scopes", "slow=10"));
    check_windows(&r, STEPS);
    assert_string_equal(setting_of(&r, "ran_as"), "Deep");
    assert_true(samples_of(&r, "fake_relu") > 0);
    assert_true(counts_of(&r, "fake_relu") > 0);
    assert_true(counts_of(&r, "fake_relu") < int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    assert_int_equal(samples_of(&r, "fake_gemm"), 0);
    assert_int_equal(counts_of(&r, "fake_gemm"), 0);
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
        assert_in_range(values, 1,
                        2 * ns / 1000000); /* one a ms; what ran before and behind is much more */
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

/* Many windows: each is sampled, and that is its scope's, but for what is sampled before that
 * begins: it opens the window first. */
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
    check_contains(&r, message_of(&r, "pm_sampling.unavailable"), "holds");
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* ---- RangeProfiler ------------------------------------------------------------------------- */

/* Ranges of a metric, and the sum of their values. */
static int64_t ranges_of(const struct run *r, const char *member, const char *text, double *mean)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        const char *of = json_string_value(json_object_get(row, member));
        if (strcmp(text_at(row, "metric"), "gr__cycles_active.avg.pct_of_peak_sustained_elapsed") ||
            !of || (text && !strstr(of, text)))
            continue;
        n += int_at(row, "values");
        *mean = json_number_value(json_object_get(row, "mean"));
    }
    return n;
}

/* The scope that opens a window is what is counted in it, also inside another one. */
TEST(ranges_of_windows)
{
    struct run r;
    double mean = 0;
    run_windows(&r,
                LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed"),
                LIST("-e", "RangeProfiler", "--in-scope", "step"), LIST("scopes"));
    check_windows(&r, STEPS);
    assert_int_equal(ranges_of(&r, "scope", NULL, &mean), STEPS);
    assert_int_equal(ranges_of(&r, "scope", "step", &mean), STEPS);
    assert_true(mean > 2.9 && mean < 3.1);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    assert_string_equal(setting_of(&r, "ran_as"), "RangeProfiler");
    run_free(&r);
}

TEST(kernels_of_windows)
{
    struct run r;
    double mean = 0;
    run_windows(&r,
                LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
                     "GPUFL_RANGE_MODE=kernels"),
                LIST("-e", "RangeProfiler", "--windows"), LIST("20", "kept", "threads=2"));
    check_windows(&r, 20);
    assert_int_equal(ranges_of(&r, "kernel_symbol", "fake_relu", &mean), 3);
    assert_in_range(int_at(r.report, "kernels.count"), int_at(r.said, "0.in_windows"), INT64_MAX);
    run_free(&r);
    run_windows(&r, LIST("FAKE_CUPTI=range-held"),
                LIST("-e", "RangeProfiler", "--in-scope", "step"), LIST("scopes"));
    check_contains(&r, message_of(&r, "range_profiler.unavailable"), "holds");
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* ---- given back between windows -------------------------------------------------------------- */

static const char DETACHED[] = "the profiling library was detached 10 times";

/* A window a cycle, behind which the engine's objects are given back and the library finalized,
 * which the fake one refuses beside any of them. */
static void run_resting(struct run *r, const char *engine, const char *const *env,
                        const char *const *program)
{
    run_windows(r, env,
                LIST("-e", engine, "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                     "--option", "window_rest_ms=10", "--option", "window_let_go=true"),
                program);
    assert_int_equal(int_at(r->report, "windows.opened"), 10);
    assert_string_equal(capability_of(r, "windows", "status"), "collected");
    check_contains(r, capability_of(r, "windows", "reason"), DETACHED);
    assert_int_equal(int_at(r->said, "0.finalized"), 10);
    assert_int_equal(int_at(r->said, "0.outside_exit"), 0);
    assert_int_equal(int_at(r->said, "0.touched"), 0);
    check_no_loss(r, "samples_lost");
    check_no_loss(r, "metrics_lost");
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
        if (i < 3) /* a context that another thread's stood in the way of is sampled later */
            assert_in_range(samples_of(&r, "fake_relu"), launches * SAMPLES_LEAST,
                            launches * SAMPLES_MOST);
        if (i < 2)
            assert_int_equal(samples_of(&r, "fake_gemm"), 0);
        assert_true(sum(&r, "samples.scopes", "scope", "cycle", "samples") > 0);
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
            assert_int_equal(counts_of(&r, "fake_gemm"), 0);
        } else if (i == 2) {
            assert_true(counts_of(&r, "fake_gemm") > 0);
        }
        assert_int_equal(counts_of(&r, "fake_relu"),
                         int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
        run_free(&r);
    }
}

/* In a context that nobody worked in since the library came back it begins where somebody waits:
 * what ran there before is missing, which is said, also where that never comes. Of one device one
 * context is sampled, and the other one is not late. */
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
        run_windows(&r, NULL,
                    LIST("-e", cases[i].engine, "--windows", "--option", "flush_interval_ms=10",
                         "--option", "window_rest_ms=10", "--option", "window_let_go=true"),
                    cases[i].program);
        assert_int_equal(int_at(r.report, "windows.opened"), 2);
        if (cases[i].late) {
            check_contains(&r, message_of(&r, "windows.begun_late"),
                           "of 1 windows the beginning is missing in some context");
            assert_int_equal(counts_of(&r, "fake_relu"), 2 * WARPS * INSTRUCTIONS);
            assert_int_equal(counts_of(&r, "fake_gemm"), 0);
        } else {
            assert_null(message_of(&r, "windows.begun_late"));
            assert_in_range(samples_of(&r, "fake_relu"), 2 * SAMPLES_LEAST, 2 * SAMPLES_MOST);
        }
        run_free(&r);
    }
}

/* Behind a rest it begins in as many as are remembered, and says that there were more. */
TEST(more_contexts_than_remembered)
{
    struct run r;
    run_windows(&r, NULL,
                LIST("-e", "SassMetrics", "--windows", "--option", "flush_interval_ms=10",
                     "--option", "window_rest_ms=10", "--option", "window_let_go=true"),
                LIST("crowd"));
    check_contains(&r, message_of(&r, "windows.contexts"), "more than 64 contexts");
    assert_true(counts_of(&r, "fake_relu") < int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    run_free(&r);
}

/* The driver goes on to name it as the thread's. */
TEST(a_context_that_another_thread_destroyed)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics"};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        run_windows(&r, NULL,
                    LIST("-e", engines[i], "--windows", "--option", "flush_interval_ms=10",
                         "--option", "window_rest_ms=10", "--option", "window_let_go=true"),
                    LIST("gone"));
        assert_int_equal(int_at(r.report, "windows.opened"), 2);
        if (i)
            assert_int_equal(counts_of(&r, "fake_relu"), 2 * WARPS * INSTRUCTIONS);
        else
            assert_in_range(samples_of(&r, "fake_relu"), 1, INT64_MAX);
        run_free(&r);
    }
}

/* Sampled from the first launch of each window on, which waits until it is. */
TEST(counters_rest)
{
    struct run r;
    run_resting(&r, "PmSampling", NULL, LIST("10", "scope", "threads=2", "slow=30"));
    int64_t all = pm_values(&r, PM_BUSY, NULL);
    assert_in_range(all, 10 * 20, INT64_MAX);
    assert_in_range(pm_values(&r, PM_BUSY, "cycle"), all * 9 / 10,
                    all); /* it opens before its scope */
    assert_int_equal(atoll(setting_of(&r, "samples")), all);
    run_free(&r);
}

TEST(ranges_rest)
{
    struct run r;
    double mean = 0;
    run_resting(&r, "RangeProfiler",
                LIST("GPUFL_COUNTER_METRICS=gr__cycles_active.avg.pct_of_peak_sustained_elapsed"),
                LIST("10", "scope", "threads=2"));
    assert_int_equal(ranges_of(&r, "scope", "cycle", &mean), 10);
    run_free(&r);
}

/* The collector opens it, which works in no context: calls tell it of one. */
TEST(windows_by_the_clock_behind_a_rest)
{
    static const char *const resting[] = {"PcSampling", "SassMetrics", "PmSampling",
                                          "RangeProfiler"};
    for (size_t i = 0; i < sizeof resting / sizeof *resting; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){
                        .options = LIST("-e", resting[i], "--after", "400ms", "--for", "300ms",
                                        "--option", "flush_interval_ms=10", "--option",
                                        "window_rest_ms=20", "--option", "window_let_go=true"),
                        .program = LIST("200", "threads=2", "ms=1200")});
        check_program(&r, 0);
        print_message("%s\n", resting[i]);
        assert_int_equal(int_at(r.report, "windows.opened"), 1);
        check_contains(&r, capability_of(&r, "windows", "reason"), "detached 2 times");
        assert_string_equal(setting_of(&r, "ran_as"), resting[i]);
        assert_in_range(int_at(r.report, "ledger.launches"), 1, int_at(r.said, "0.launches") / 2);
        if (i == 0)
            assert_true(int_at(r.report, "samples.samples") > 0);
        else if (i == 1)
            assert_true(counts_of(&r, "") > 0);
        else if (i == 2)
            assert_in_range(pm_values(&r, PM_BUSY, NULL), 100,
                            2 * int_at(r.report, "windows.recorded_ns") / 1000000);
        else
            assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.launches") / 2);
        run_free(&r);
    }
}

/* The library stays, but with counting, whose windows wait for kernels anyway. */
TEST(the_library_stays)
{
    static const char *const resting[] = {"PcSampling", "SassMetrics", "PmSampling",
                                          "RangeProfiler"};
    for (size_t i = 0; i < 2 * (sizeof resting / sizeof *resting); i++) {
        struct run r;
        const char *engine = resting[i / 2];
        bool goes = i / 2 == 1;
        print_message("%s %s\n", engine, i % 2 ? "beside threads" : "alone");
        run_windows(&r, NULL,
                    LIST("-e", engine, "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                         "--option", "window_rest_ms=10"),
                    goes    ? LIST("3", "scope", i % 2 ? "threads=2" : "slow=10")
                    : i % 2 ? LIST("3", "scope", "kept", "threads=2", "slow=60")
                            : LIST("3", "scope", "kept", "slow=60"));
        assert_int_equal(int_at(r.said, "0.finalized"), goes ? 3 : 0);
        if (!goes)
            check_contains(&r, capability_of(&r, "windows", "reason"), "stayed attached");
        if (i < 2)
            assert_in_range(samples_of(&r, "fake_relu"),
                            int_at(r.said, "0.in_windows") * SAMPLES_LEAST,
                            int_at(r.said, "0.in_windows") * SAMPLES_MOST);
        run_free(&r);
    }
    /* In several contexts counting does not rest, either; once it may have, before the second was
     * made. */
    struct run r;
    run_windows(&r, NULL,
                LIST("-e", "SassMetrics", "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                     "--option", "window_rest_ms=10"),
                LIST("3", "scope", "kept", "threads=2", "made", "slow=60"));
    assert_in_range(int_at(r.said, "0.finalized"), 0, 1);
    assert_int_equal(counts_of(&r, "fake_relu"),
                     int_at(r.said, "0.in_windows") * WARPS * INSTRUCTIONS);
    run_free(&r);
}

/* The engine cannot be ended, and is not asked again: windows go on. */
TEST(sampling_that_does_not_rest)
{
    struct run r;
    run_windows(&r, LIST("FAKE_CUPTI=fail=cuptiPCSamplingDisable:1:999"),
                LIST("-e", "PcSampling", "--in-scope", "cycle", "--option", "flush_interval_ms=10",
                     "--option", "window_rest_ms=10", "--option", "window_let_go=true"),
                LIST("5", "scope", "kept", "slow=50"));
    assert_int_equal(int_at(r.report, "windows.opened"), 5);
    assert_int_equal(int_at(r.said, "0.finalized"), 0);
    check_contains(&r, capability_of(&r, "windows", "reason"), "could not be once");
    run_free(&r);
}

/* ---- all of them --------------------------------------------------------------------------- */

static const char *const engines[] = {"PcSampling", "SassMetrics", "PmSampling", "RangeProfiler",
                                      "Deep"};
enum { ENGINES = sizeof engines / sizeof *engines };

/* Behind so many launches; it ends a moment after the last of them. */
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
        cmocka_unit_test(samples_rest),
        cmocka_unit_test(counts_rest),
        cmocka_unit_test(a_context_begins_late),
        cmocka_unit_test(more_contexts_than_remembered),
        cmocka_unit_test(a_context_that_another_thread_destroyed),
        cmocka_unit_test(counters_rest),
        cmocka_unit_test(ranges_rest),
        cmocka_unit_test(windows_by_the_clock_behind_a_rest),
        cmocka_unit_test(the_library_stays),
        cmocka_unit_test(sampling_that_does_not_rest),
        cmocka_unit_test(windows_by_launches),
        cmocka_unit_test(windows_and_forks),
    };
    return cmocka_run_group_tests_name("fake.window_engines", tests, NULL, NULL);
}
