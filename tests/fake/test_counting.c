/* test_counting.c - tests engine SassMetrics over the fake library: every count of the library is
 * in the session, once; counts that it reports as lost are in the ledger; contexts, modules and
 * sessions begin and end meanwhile; and if instructions cannot be counted, the session says why,
 * and kernels are recorded instead. */
#include "backend/nvidia/abi/sass.h"
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CODE = 5, INSTRUCTIONS = 3 };

/* The warps whose counts the library delivered, and those whose counts it lost, of all contexts. */
struct given {
    long long warps, lost;
};

/* A run with an engine, under `gpufl trace`; NULL: with SassMetrics, the program that calls
 * libgpufl. sample: "GPUFL_DEEP_SAMPLE_MS=…". */
static struct given count_deep(struct run *r, const char *script, const char *engine,
                               const char *sample, const char *const *program)
{
    char path[] = "/tmp/gpufl-fake-sass-XXXXXX", totals[64];
    struct given g = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(totals, sizeof totals, "FAKE_SASS_TOTALS=%s", path);
    bool linked = !engine;
    run_all(r, &(struct run_setup){.env = LIST(script, totals, sample, "GPUFL_LOG_PATH=logs",
                                               "ASAN_OPTIONS=detect_leaks=0"),
                                   .options = linked ? NULL : LIST("-e", engine),
                                   .linked = linked,
                                   .alone = linked,
                                   .program = program});
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lld %lld", &g.warps, &g.lost) != 2)
        g = (struct given){0};
    if (f)
        fclose(f);
    unlink(path);
    assert_non_null(r->report);
    return g;
}

static struct given count_env(struct run *r, const char *script, const char *engine,
                              const char *const *program)
{
    return count_deep(r, script, engine, "GPUFL_DEEP_SAMPLE_MS=2000", program);
}

static struct given count(struct run *r, const char *script, const char *const *program)
{
    return count_env(r, script, "SassMetrics", program);
}

/* The sum of a metric over the report's kernels whose names hold a text, without rows of scopes. */
static int64_t sum_of_kernel(const struct run *r, const char *kernel, const char *metric)
{
    size_t i;
    json_t *row;
    int64_t sum = 0;
    json_array_foreach(at(r->report, "instructions.kernels"), i, row)
    {
        json_t *value = json_object_get(row, metric);
        const char *name = json_string_value(json_object_get(row, "kernel"));
        if (json_is_integer(value) && json_is_null(json_object_get(row, "scope")) &&
            strstr(name ? name : "", kernel))
            sum += json_integer_value(value);
    }
    return sum;
}

static int64_t sum_of(const struct run *r, const char *metric)
{
    return sum_of_kernel(r, "", metric);
}

/* Every warp's counts are in the session, to the last one. */
static void check_counts(const struct run *r, const struct given *g)
{
    assert_true(g->warps > 0);
    assert_int_equal(sum_of(r, "smsp__sass_inst_executed"), g->warps * INSTRUCTIONS);
    assert_int_equal(sum_of(r, "smsp__sass_thread_inst_executed"), g->warps * 80);
    assert_int_equal(sum_of(r, "smsp__sass_sectors_mem_global"), g->warps * 16);
    assert_int_equal(sum_of(r, "smsp__sass_sectors_mem_global_ideal"), g->warps * 4);
    assert_int_equal(sum_of(r, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"), g->warps * 8);
    assert_int_equal(sum_of(r, "smsp__sass_branch_targets_threads_uniform"), g->warps);
    assert_int_equal(int_at(r->report, "ledger.profile_recorded"),
                     int_at(r->report, "ledger.profile_written"));
    assert_int_equal(int_at(r->report, "ledger.metrics_lost"), 0);
    assert_string_equal(capability_of(r, "sass_metrics", "status"), "collected");
    assert_string_equal(setting_of_engine(r, "SassMetrics", "ran_as"), "SassMetrics");
}

/* Warps of the program's launches: 128 threads each, 1 to 4 blocks in turn. */
static int64_t warps_of(int64_t launches)
{
    return launches / 4 * 40;
}

/* ---- counts -------------------------------------------------------------------------------- */

TEST(every_count_once)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", LIST("2000", "threads=2", "ms=1500", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_counts(&r, &g);
    assert_int_equal(g.warps, warps_of(int_at(r.said, "0.launches")));
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.launches"));
    assert_string_equal(text_at(r.report, "session.engine"), "SassMetrics");
    run_free(&r);
}

/* While kernels are instrumented nothing is recorded, which is no loss. */
TEST(without_kernel_records)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", LIST("1000"));
    check_program(&r, 0);
    assert_true(unknown_at(r.report, "kernels.count"));
    assert_true(json_is_null(at(r.report, "ledger.kernels_recorded")));
    assert_true(json_is_null(at(r.report, "ledger.copies_recorded")));
    assert_string_equal(capability_of(&r, "kernels", "status"), "not_requested");
    assert_string_equal(capability_of(&r, "copies", "status"), "not_requested");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
}

/* The report has the planted numbers: half of the threads at work, 4 of 16 sectors needed, 8-way
 * conflicts. */
TEST(findings)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", LIST("4000"));
    char *text = json_dumps(at(r.report, "insights"), JSON_INDENT(1));
    check_contains(&r, text, "uncoalesced");
    check_contains(&r, text, "25.0 % of the traffic needed");
    check_contains(&r, text, "bank_conflicts");
    check_contains(&r, text, "8.0-way");
    free(text);
    run_free(&r);
}

/* A device that lacks some of the metrics counts the others, and says so. */
TEST(metrics_that_a_device_lacks)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=sass-few", LIST("1000"));
    check_program(&r, 0);
    assert_int_equal(sum_of(&r, "smsp__sass_inst_executed"), g.warps * INSTRUCTIONS);
    assert_int_equal(sum_of(&r, "smsp__sass_sectors_mem_global_ideal"), 0);
    check_contains(&r, setting_of_engine(&r, "SassMetrics", "skipped_metric"), "_ideal");
    run_free(&r);
}

/* ---- contexts, modules, sessions ----------------------------------------------------------- */

TEST(contexts_and_modules)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", LIST("400", "threads=1", "contexts=5", "modules=6"));
    check_program(&r, 0);
    check_counts(&r, &g);
    assert_int_equal(g.warps, warps_of(int_at(r.said, "0.launches") - 6) + 6 * 4);
    run_free(&r);
}

/* A context that is reset counts again. */
TEST(primary_context_that_is_reset)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", LIST("400", "threads=1", "resets=3", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_counts(&r, &g);
    assert_int_equal(g.warps, warps_of(int_at(r.said, "0.launches")));
    run_free(&r);
}

/* If code was unloaded, counting does not end with the session: the library would write back code
 * that is gone. What was counted is there; a note says what is not known. */
TEST(code_that_was_unloaded)
{
    struct run r;
    struct given g =
        count(&r, "FAKE_CUPTI=", LIST("400", "threads=1", "resets=2", "modules=2", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_counts(&r, &g);
    assert_int_equal(g.warps, warps_of(int_at(r.said, "0.launches") - 4) + 4 * 4);
    assert_non_null(message_of(&r, "sass_metrics.stays"));
    run_free(&r);
}

/* Sessions that begin before or after the driver, one after the other: a device is configured
 * once. */
TEST(sessions_follow_each_other)
{
    static const char *const programs[][6] = {
        {"500", "instrumented", "sessions=3", NULL},
        {"500", "instrumented", "init-late", NULL},
        {"500", "instrumented", "sessions=3", "threads=2", NULL},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct run r;
        struct given g = count_env(&r, "FAKE_CUPTI=", NULL, programs[i]);
        check_program(&r, 0);
        check_counts(&r, &g);
        run_free(&r);
    }
}

/* A scope gets the counts whose whole time it covers. */
TEST(scopes_that_cover_a_window)
{
    struct run r;
    count_env(&r, "FAKE_CUPTI=", NULL, LIST("500", "instrumented", "ms=2600"));
    check_program(&r, 0);
    size_t i, found = 0;
    json_t *row;
    json_array_foreach(at(r.report, "instructions.kernels"), i, row)
    {
        json_t *scope = json_object_get(row, "scope");
        if (!json_is_string(scope))
            continue;
        assert_string_equal(json_string_value(scope), "work");
        found++;
    }
    assert_true(found > 0);
    run_free(&r);
}

/* ---- windows ------------------------------------------------------------------------------- */

static void check_window(const char *const *options, const char *const *program, int64_t gemms)
{
    enum { WARPS = 4 }; /* of each launch */
    static const char inst[] = "smsp__sass_inst_executed";
    struct run r;
    run_all(&r, &(struct run_setup){
                    .binary = "fake/fake_windows", .options = options, .program = program});
    check_program(&r, 0);
    int64_t relus = int_at(r.said, "0.in_windows");
    assert_true(relus > 0);
    assert_int_equal(sum_of_kernel(&r, "fake_relu", inst), relus * WARPS * INSTRUCTIONS);
    if (gemms != INT64_MAX)
        assert_int_equal(sum_of_kernel(&r, "fake_gemm", inst), gemms * WARPS * INSTRUCTIONS);
    assert_int_equal(int_at(r.report, "ledger.metrics_lost"), 0);
    assert_string_equal(capability_of(&r, "windows", "status"), "collected");
    assert_string_equal(setting_of_engine(&r, "SassMetrics", "ran_as"), "SassMetrics");
    run_free(&r);
}

/* Only launches in scopes of that name, or in any scope, are counted. */
TEST(inside_scopes_only)
{
    check_window(LIST("-e", "SassMetrics", "--in-scope", "step"), LIST("scopes"), 0);
    check_window(LIST("-e", "SassMetrics", "--in-scope", "*"), LIST("scopes"), 20);
}

/* Counting is not switched while another thread launches: the library would abort. */
TEST(windows_concurrent_with_threads)
{
    check_window(LIST("-e", "SassMetrics", "--windows"), LIST("200", "kept"), 0);
    check_window(LIST("-e", "SassMetrics", "--windows"), LIST("200", "threads=3", "kept"),
                 INT64_MAX);
    check_window(LIST("-e", "SassMetrics", "--windows"),
                 LIST("50", "threads=3", "contexts", "kept"), INT64_MAX);
}

/* If nothing can be counted, kernels are recorded in windows. */
TEST(windows_of_kernels_instead)
{
    struct run r;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_windows",
                                    .env = LIST("FAKE_CUPTI=sass-old"),
                                    .options = LIST("-e", "SassMetrics", "--in-scope", "step"),
                                    .program = LIST("scopes")});
    check_instead(
        &r,
        &(struct engine_case){"SassMetrics", "sass_metrics", .sentence = "compute capability 7.0"},
        0);
    assert_in_range(int_at(r.report, "kernels.count"), 1, int_at(r.said, "0.in_windows"));
    run_free(&r);
}

/* Counting that is switched on in the callback of a context's creation may come too early (error
 * 3). */
TEST(with_the_first_launch)
{
    struct run r;
    struct given g =
        count(&r, "FAKE_CUPTI=fail=cuptiSassMetricsSetConfig:1:3", LIST("500", "contexts=2"));
    check_program(&r, 0);
    check_counts(&r, &g);
    assert_int_equal(g.warps, warps_of(int_at(r.said, "0.launches")));
    run_free(&r);
}

/* While counts are taken, kernels are instrumented. */
TEST(more_than_was_reported)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=sass-grow", LIST("2000", "threads=2", "ms=1500"));
    check_program(&r, 0);
    check_counts(&r, &g);
    run_free(&r);
}

/* CUPTI leaves out kernels of some graphs. */
TEST(graphs_are_reported)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", LIST("500", "graphs=7"));
    check_program(&r, 0);
    check_contains(&r, message_of(&r, "sass_metrics.graphs"), "of 7 graph launches");
    run_free(&r);
}

/* A forked child is silent, and its parent goes on. */
TEST(survives_fork)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", LIST("500", "fork=after"));
    check_program(&r, 0);
    check_counts(&r, &g);
    run_free(&r);
}

/* ---- losses, refusals ---------------------------------------------------------------------- */

TEST(losses_are_counted)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=sass-keep=10", LIST("1000"));
    check_program(&r, 0);
    assert_true(g.lost > 0);
    assert_int_equal(sum_of(&r, "smsp__sass_inst_executed"), g.warps * INSTRUCTIONS);
    assert_int_equal(int_at(r.report, "ledger.metrics_lost"), g.lost);
    assert_string_equal(capability_of(&r, "sass_metrics", "status"), "partial");
    check_contains(&r, message_of(&r, "sass_metrics.lost"), "are missing");
    run_free(&r);
}

/* Threads that launch on while counts are taken and while the process ends. */
TEST(concurrent_with_a_storm)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", LIST("200", "storm=3", "ms=1300", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_true(sum_of(&r, "smsp__sass_inst_executed") > 0);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    run_free(&r);
}

/* If somebody else has recorded kernels before, nothing is counted, and the session says so. */
TEST(counts_nothing)
{
    struct run r;
    count(&r, "FAKE_CUPTI=sass-zero", LIST("1000"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "instructions.rows"), 0);
    assert_string_equal(capability_of(&r, "sass_metrics", "status"), "enabled_no_data");
    check_contains(&r, message_of(&r, "sass_metrics.nothing"), "no instruction of 2000 launches");
    run_free(&r);
}

/* Kernels are recorded instead, all of them. */
TEST(refusals)
{
    static const struct engine_case cases[] = {
        {"SassMetrics", "sass_metrics", .script = "FAKE_CUPTI=fail=cuptiProfilerInitialize:0:35",
         .sentence = "NVreg_RestrictProfilingToAdminUsers=0"},
        {"SassMetrics", "sass_metrics", .script = "FAKE_CUPTI=sass-old",
         .sentence = "compute capability 7.0"},
        {"SassMetrics", "sass_metrics", .script = "FAKE_CUPTI=fail=cuptiSassMetricsEnable:0:26",
         .sentence = "another process or tool holds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        count(&r, cases[i].script, LIST("500", "exit=5"));
        check_refused(&r, &cases[i], EXIT_CODE);
        run_free(&r);
    }
}

/* A library of before CUDA 12.8: known before the first context. */
TEST(an_older_library)
{
    struct run r;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "GPUFL_CUPTI_PATH=%s", built_file("fake/libcupti.so.12"));
    count(&r, path, LIST("500"));
    check_refused(
        &r, &(struct engine_case){"SassMetrics", "sass_metrics", .sentence = "CUDA 12.8 or later"},
        0);
    run_free(&r);
}

static void run_with_fault(const char *script)
{
    struct run r;
    count(&r, script, LIST("300", "contexts=1", "modules=2", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.launches"));
    if (!sum_of(&r, "smsp__sass_inst_executed") &&
        strcmp(setting_of_engine(&r, "SassMetrics", "ran_as"), "Trace") == 0)
        assert_non_null(message_of(&r, "sass_metrics.unavailable"));
    run_free(&r);
}

/* Every call fails once, twice, always: the program runs to its end, and if nothing was counted
 * its kernels are recorded. */
TEST(every_function_fails)
{
    static const char *const functions[] = {CUPTI_SASS_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 2, run_with_fault);
}

/* ---- Deep ------------------------------------------------------------------------------------ */

static struct given deep(struct run *r, int sample_ms, const char *const *program)
{
    char sample[48];
    snprintf(sample, sizeof sample, "GPUFL_DEEP_SAMPLE_MS=%d", sample_ms);
    return count_deep(r, "FAKE_CUPTI=", "Deep", sample, program);
}

static void check_phases(const struct run *r, const struct given *g)
{
    assert_true(g->warps > 0);
    assert_int_equal(sum_of(r, "smsp__sass_inst_executed"), g->warps * INSTRUCTIONS);
    assert_true(int_at(r->report, "ledger.samples_recorded") > 0);
    assert_string_equal(setting_of_engine(r, "Deep", "ran_as"), "Deep");
    assert_string_equal(capability_of(r, "pc_sampling", "status"), "collected");
    check_contains(r, message_of(r, "deep.phases"), "counted since then");
}

/* Samples come first, counts from then on, both in one session, which has no kernels. */
TEST(deep_samples_and_then_counts)
{
    struct run r;
    struct given g = deep(&r, 300, LIST("2000", "threads=2", "ms=1200", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_phases(&r, &g);
    assert_true(g.warps < warps_of(int_at(r.said, "0.launches")));
    assert_true(atoi(setting_of_engine(&r, "Deep", "sampled_ms")) >= 300);
    assert_true(unknown_at(r.report, "kernels.count"));
    assert_int_equal(int_at(r.report, "ledger.metrics_lost"), 0);
    assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* Samples and counts are of contexts and modules that are made and destroyed meanwhile. The
 * contexts take about 400 ms: counting begins before the first module is unloaded, which ends it,
 * even if the machine is busy. */
TEST(deep_with_contexts_and_modules)
{
    struct run r;
    struct given g = deep(&r, 20, LIST("1500", "threads=1", "contexts=5", "modules=6", "ms=300"));
    check_program(&r, 0);
    check_phases(&r, &g);
    run_free(&r);
}

/* Counting ends before code is unloaded, since a graph that is made later would fault (the fake
 * library does that). What was counted until then is kept. SassMetrics counts to the end. */
TEST(deep_in_a_program_that_tunes)
{
    struct run r;
    struct given g = deep(&r, 20, LIST("400", "threads=1", "tunes=3", "ms=300", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_phases(&r, &g);
    assert_int_equal(g.lost, 0);
    check_contains(&r, message_of(&r, "sass_metrics.ended"), "until the program unloaded code");
    assert_null(message_of(&r, "sass_metrics.stays"));
    run_free(&r);
    g = count(&r, "FAKE_CUPTI=", LIST("400", "threads=1", "tunes=3", "exit=5"));
    check_program(&r, EXIT_CODE);
    check_counts(&r, &g);
    assert_null(message_of(&r, "sass_metrics.ended"));
    run_free(&r);
}

/* Sampling is not switched off while a thread launches: the library would abort. Whether a moment
 * without a launch is found is chance; the session says so. */
TEST(deep_concurrent_with_a_storm)
{
    struct run r;
    struct given g = deep(&r, 1, LIST("200", "storm=3", "ms=1300", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_true(int_at(r.report, "ledger.samples_recorded") > 0 || g.warps > 0);
    assert_true(!message_of(&r, "deep.phases") != !message_of(&r, "deep.sampled_only"));
    run_free(&r);
}

/* A program that ends before the counts is only sampled, and the session says how to get counts. */
TEST(deep_that_ends_before)
{
    struct run r;
    struct given g = deep(&r, 60000, LIST("1000"));
    check_program(&r, 0);
    assert_int_equal(g.warps, 0);
    assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
    assert_string_equal(setting_of_engine(&r, "Deep", "ran_as"), "PcSampling");
    check_contains(&r, setting_of_engine(&r, "Deep", "why"), "deep_sample_ms");
    check_contains(&r, message_of(&r, "deep.sampled_only"), "-e SassMetrics");
    run_free(&r);
}

/* Nothing can be sampled: every kernel is recorded, from the first launch on. */
TEST(deep_without_samples)
{
    static const struct engine_case cases[] = {
        {"Deep", "pc_sampling", .script = "FAKE_CUPTI=pc-privileges",
         .sentence = "NVreg_RestrictProfilingToAdminUsers=0"},
        {"Deep", "pc_sampling", .script = "FAKE_CUPTI=pc-old",
         .sentence = "compute capability 7.0"},
        {"Deep", "pc_sampling", .script = "FAKE_CUPTI=pc-held",
         .sentence = "another process or tool holds"},
        {"Deep", "pc_sampling", .script = "FAKE_CUPTI=pc-held,sass-old",
         .sentence = "another process or tool holds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        count_deep(&r, cases[i].script, "Deep", "GPUFL_DEEP_SAMPLE_MS=50",
                   LIST("2000", "contexts=2", "threads=2", "ms=300", "exit=5"));
        check_refused(&r, &cases[i], EXIT_CODE);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        check_contains(&r, message_of(&r, "deep.recorded"), "-e SassMetrics");
        assert_null(message_of(&r, "deep.sampled_only"));
        assert_null(message_of(&r, "sass_metrics.nothing"));
        run_free(&r);
    }
}

/* With an argument: only the tests whose names match this pattern. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_once),
        cmocka_unit_test(without_kernel_records),
        cmocka_unit_test(findings),
        cmocka_unit_test(metrics_that_a_device_lacks),
        cmocka_unit_test(contexts_and_modules),
        cmocka_unit_test(primary_context_that_is_reset),
        cmocka_unit_test(code_that_was_unloaded),
        cmocka_unit_test(sessions_follow_each_other),
        cmocka_unit_test(scopes_that_cover_a_window),
        cmocka_unit_test(inside_scopes_only),
        cmocka_unit_test(windows_concurrent_with_threads),
        cmocka_unit_test(windows_of_kernels_instead),
        cmocka_unit_test(with_the_first_launch),
        cmocka_unit_test(more_than_was_reported),
        cmocka_unit_test(graphs_are_reported),
        cmocka_unit_test(survives_fork),
        cmocka_unit_test(losses_are_counted),
        cmocka_unit_test(concurrent_with_a_storm),
        cmocka_unit_test(counts_nothing),
        cmocka_unit_test(refusals),
        cmocka_unit_test(an_older_library),
        cmocka_unit_test(every_function_fails),
        cmocka_unit_test(deep_samples_and_then_counts),
        cmocka_unit_test(deep_with_contexts_and_modules),
        cmocka_unit_test(deep_in_a_program_that_tunes),
        cmocka_unit_test(deep_concurrent_with_a_storm),
        cmocka_unit_test(deep_that_ends_before),
        cmocka_unit_test(deep_without_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
