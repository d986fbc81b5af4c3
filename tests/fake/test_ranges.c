/* test_ranges.c - tests engine RangeProfiler over the fake library, whose counters are the kernels
 * that were launched in a range: every outermost scope, or every kernel, has its own counts; the
 * library's own kernels are in none; contexts begin and end; metrics that would need a second pass
 * are left out; and if counters are not available, the session says why and has everything else. */
#include "backend/nvidia/abi/profiler.h"
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library's own totals: ranges that it gave, kernels in them, and whether its context was
 * freed. */
struct given {
    long long ranges, kernels;
    int back;
};

static struct given count_as(struct run *r, const char *mode, const char *launches,
                             const char *script, const char *metrics, const char *const *program)
{
    char path[] = "/tmp/gpufl-fake-range-XXXXXX", totals[64], chosen[256];
    struct given g = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(totals, sizeof totals, "FAKE_RANGE_TOTALS=%s", path);
    snprintf(chosen, sizeof chosen, "GPUFL_COUNTER_METRICS=%s", metrics);
    run_all(r, &(struct run_setup){
                   .env = LIST(script, mode, launches, totals, chosen, "GPUFL_LOG_PATH=logs"),
                   .linked = true,
                   .alone = true,
                   .program = program});
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lld %lld %d", &g.ranges, &g.kernels, &g.back) != 3)
        g = (struct given){0};
    if (f)
        fclose(f);
    unlink(path);
    assert_non_null(r->report);
    return g;
}

static struct given count(struct run *r, const char *script, const char *metrics,
                          const char *const *program)
{
    return count_as(r, "GPUFL_RANGE_MODE=scopes", "GPUFL_RANGE_KERNEL_LAUNCHES=3", script, metrics,
                    program);
}

static struct given count_kernels(struct run *r, const char *launches, const char *metrics,
                                  const char *const *program)
{
    return count_as(r, "GPUFL_RANGE_MODE=kernels", launches, "FAKE_CUPTI=", metrics, program);
}

static const char *setting(const struct run *r, const char *name, int nth)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name) &&
            !strcmp(text_at(row, "engine"), "RangeProfiler") && nth-- == 0)
            return text_at(row, "value");
    }
    return NULL;
}

/* stderr has the sentence, as a note. */
static void check_said(const struct run *r, const char *text)
{
    const char *said = strstr(r->c.text[CHILD_ERR].data, text);
    check_contains(r, r->c.text[CHILD_ERR].data, text);
    while (said > r->c.text[CHILD_ERR].data && said[-1] != '\n')
        said--;
    assert_int_equal(strncmp(said, "gpufl: RangeProfiler: ", 22), 0);
}

static const char *ran_as(const struct run *r)
{
    const char *last = NULL, *text;
    for (int i = 0; (text = setting(r, "ran_as", i)); i++)
        last = text;
    return last;
}

/* The row of a metric for a scope or kernel, a member of the row; NULL: there is none. */
static json_t *row_for(const struct run *r, const char *metric, const char *member,
                       const char *scope)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        json_t *of = json_object_get(row, member);
        if (!strcmp(text_at(row, "metric"), metric) && json_is_string(of) &&
            !strcmp(json_string_value(of), scope))
            return row;
    }
    return NULL;
}

static json_t *row_of(const struct run *r, const char *metric, const char *scope)
{
    return row_for(r, metric, "scope", scope);
}

static void check_row(const struct run *r, const char *metric, const char *scope, int64_t ranges,
                      double mean)
{
    json_t *row = row_of(r, metric, scope);
    assert_non_null(row);
    assert_string_equal(text_at(row, "source"), "range");
    assert_int_equal(int_at(row, "values"), ranges);
    assert_int_equal((int64_t)json_number_value(at(row, "least")), (int64_t)mean);
    assert_int_equal((int64_t)json_number_value(at(row, "mean")), (int64_t)mean);
    assert_int_equal((int64_t)json_number_value(at(row, "most")), (int64_t)mean);
}

/* ---- scopes -------------------------------------------------------------------------------- */

TEST(one_scope)
{
    struct run r;
    struct given g =
        count(&r, "FAKE_CUPTI=", "sm__a.sum,gr__b.sum", LIST("500", "threads=0", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 1);
    assert_int_equal(g.kernels, 500);
    assert_true(g.back);
    check_row(&r, "sm__a.sum", "work", 1, 500);
    check_row(&r, "gr__b.sum", "work", 1, 1000);
    assert_string_equal(ran_as(&r), "RangeProfiler");
    assert_string_equal(capability_of(&r, "range_counters", "status"), "collected");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_string_equal(setting(&r, "counts", 0), "outermost scopes");
    assert_string_equal(setting(&r, "passes", 0), "1");
    assert_string_equal(setting(&r, "profiler_kernels", 0), "1");
    check_said(&r, "gpufl: RangeProfiler: outermost scopes are counted in 1 pass, ");
    check_contains(&r, message_of(&r, "range_profiler.scopes"), "metrics 2, left out 0");
    run_free(&r);
}

/* In a program without scopes nothing is counted, and the session says how to count. */
TEST(without_scopes)
{
    struct run r;
    run_all(&r, &(struct run_setup){
                    .options = LIST("-e", "RangeProfiler", "--option", "counter_metrics=sm__a.sum"),
                    .program = LIST("40", "threads=0")});
    check_program(&r, 0);
    assert_string_equal(capability_of(&r, "range_counters", "status"), "enabled_no_data");
    check_contains(&r, capability_of(&r, "range_counters", "reason"), "the program had none");
    check_contains(&r, capability_of(&r, "range_counters", "reason"), "--ranges kernels");
    run_free(&r);
}

/* Scopes that end shortly before the program are read by the thread that counted them. */
TEST(ends_after_a_short_scope)
{
    struct run r;
    run_all(&r, &(struct run_setup){
                    .options = LIST("-e", "RangeProfiler", "--option", "counter_metrics=sm__a.sum"),
                    .program = LIST("30", "threads=0", "steps=5", "ranged", "exit=5"),
                    .linked = true});
    check_program(&r, 5);
    check_said(&r, "gpufl: RangeProfiler: outermost scopes are counted in 1 pass, ");
    check_row(&r, "sm__a.sum", "step", 5, 30);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    run_free(&r);
}

/* A program's kernel that has the name of one of the profiler's own is the program's. */
TEST(namesakes)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", "sm__a.sum",
          LIST("40", "threads=2", "steps=25", "namesake", "ranged"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_int_equal(int_at(r.report, "ledger.kernels_recorded"), int_at(r.said, "0.launches"));
    assert_string_equal(setting(&r, "profiler_kernels", 0), "25");
    run_free(&r);
}

/* More scopes than the library keeps at a time: each has its own counts. */
TEST(many_scopes)
{
    struct run r;
    struct given g =
        count(&r, "FAKE_CUPTI=", "memory", LIST("30", "threads=0", "steps=300", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 300);
    assert_int_equal(g.kernels, 300 * 30);
    assert_true(g.back);
    check_row(&r, "dram__throughput.avg.pct_of_peak_sustained_elapsed", "step", 300, 30);
    assert_string_equal(setting(&r, "preset", 0), "memory");
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    run_free(&r);
}

/* A context is released before it is destroyed, and the next one is counted. */
TEST(contexts_come_and_go)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum",
                           LIST("40", "threads=0", "contexts=3", "steps=5", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 3 + 5);
    assert_true(g.back);
    check_row(&r, "sm__a.sum", "context", 3, 40);
    check_row(&r, "sm__a.sum", "step", 5, 40);
    run_free(&r);
}

TEST(sessions_follow_each_other)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum",
                           LIST("40", "threads=0", "steps=10", "sessions=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 3 * 10);
    check_row(&r, "sm__a.sum", "step", 3 * 10, 40);
    run_free(&r);
}

/* If a scope is open when its session ends, those before it have their counts, the open one is
 * named, and nothing is lost; scopes of the next session are counted. */
TEST(sessions_that_leave_a_scope)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", "sm__a.sum",
          LIST("40", "threads=0", "steps=10", "sessions=3", "left", "ranged"));
    check_program(&r, 0);
    check_row(&r, "sm__a.sum", "step", 3 * 10, 40);
    assert_null(row_of(&r, "sm__a.sum", "left"));
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    assert_string_equal(setting(&r, "uncounted_scope", 0), "left: 1, open when the session ended");
    assert_string_equal(setting(&r, "uncounted_open", 0), "1");
    assert_null(setting(&r, "uncounted_other_thread", 0));
    check_contains(&r, message_of(&r, "range_profiler.uncounted_scopes"),
                   "left: 1, open when the session ended");
    run_free(&r);
}

/* Counts that the library does not give are lost, and each scope is named. */
TEST(counts_that_cannot_be_read)
{
    struct run r;
    count(&r, "FAKE_CUPTI=fail=cuptiRangeProfilerDecodeData:1:999", "sm__a.sum",
          LIST("40", "threads=0", "steps=10", "left", "ranged"));
    check_program(&r, 0);
    json_t *read = row_of(&r, "sm__a.sum", "step");
    int64_t values = read ? int_at(read, "values") : 0,
            lost = int_at(r.report, "ledger.samples_lost");
    int64_t named = 0;
    for (int i = 0; setting(&r, "uncounted_scope", i); i++) {
        int count = 0;
        assert_int_equal(sscanf(setting(&r, "uncounted_scope", i), "%*[^:]: %d", &count), 1);
        named += count;
    }
    assert_true(lost > 0);
    assert_int_equal(values + named, 10 + 1);
    run_free(&r);
}

/* A scope's work is done once: metrics that take a second pass are left out, which is reported. */
TEST(one_pass)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum,no__such.sum",
          LIST("40", "threads=0", "ranged"));
    check_program(&r, 0);
    assert_string_equal(setting(&r, "skipped_metric", 0), "sm__d.sum");
    assert_string_equal(setting(&r, "skipped_metric", 1), "no__such.sum");
    check_contains(&r, message_of(&r, "range_profiler.passes"), "sm__d.sum, no__such.sum");
    check_contains(&r, message_of(&r, "range_profiler.scopes"), "metrics 3, left out 2");
    check_row(&r, "sm__c.sum", "work", 1, 3 * 40);
    run_free(&r);
}

/* A scope with iterations may be counted in several passes, one an iteration; others may not. */
TEST(repeated_scopes)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum",
                           LIST("40", "threads=0", "steps=2", "benches=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 2 + 3);
    assert_int_equal(g.kernels, (2 + 3) * 40);
    assert_true(g.back);
    check_row(&r, "sm__a.sum", "step", 2, 40);
    assert_null(row_of(&r, "sm__d.sum", "step"));
    check_row(&r, "sm__a.sum", "bench", 3, 40);
    check_row(&r, "sm__d.sum", "bench", 3, 4 * 40);
    assert_string_equal(setting(&r, "passes", 0), "1");
    assert_string_equal(setting(&r, "passes_of_repeated", 0), "2");
    assert_string_equal(setting(&r, "metrics_of_repeated", 0),
                        "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum");
    check_contains(&r, message_of(&r, "range_profiler.repeated"), "2 passes");
    check_said(&r, "scopes whose iterations the program names (GFL_BENCH) are counted in 2 passes");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    run_free(&r);
}

/* Iterations whose metrics take one pass, or of which only the first is run. */
TEST(repeated_scopes_of_one_pass)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum",
                           LIST("40", "threads=0", "steps=1", "benches=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 1 + 3);
    check_row(&r, "sm__a.sum", "bench", 3, 5 * 40);
    assert_null(setting(&r, "passes_of_repeated", 0));
    run_free(&r);
}

TEST(repeated_scopes_that_are_left)
{
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum",
                           LIST("40", "threads=0", "steps=2", "benches=3", "early", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 2);
    assert_null(row_of(&r, "sm__a.sum", "bench"));
    assert_string_equal(setting(&r, "uncounted_repetitions", 0), "3");
    assert_string_equal(setting(&r, "uncounted_scope", 0),
                        "bench: 3, ended before their last pass");
    check_contains(&r, message_of(&r, "range_profiler.uncounted_scopes"), "bench: 3, ended");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* More names of kernels than can be counted one by one: the others are reported as not counted. */
TEST(more_names_than_are_distinguished)
{
    enum { NAMES = 5000, DISTINGUISHED = 4096 / 4 * 3 };
    struct run r;
    struct given g = count_kernels(&r, "GPUFL_RANGE_KERNEL_LAUNCHES=1", "sm__a.sum",
                                   LIST("5000", "threads=0", "distinct", "ranged"));
    char left[16];
    check_program(&r, 0);
    snprintf(left, sizeof left, "%d", NAMES - DISTINGUISHED);
    assert_int_equal(g.ranges, DISTINGUISHED);
    assert_string_equal(setting(&r, "uncounted_names", 0), left);
    run_free(&r);
}

/* ---- kernels one by one -------------------------------------------------------------------- */

/* The fake's value of the n-th metric is n times the grid's x: 1, 3, 1, 3 … of one kernel, and 2,
 * 4, 2, 4 … of the other; the first metric is the time. */
static void check_kernel(const struct run *r, const char *metric, const char *kernel, int64_t count,
                         int64_t least, int64_t most)
{
    json_t *row = row_for(r, metric, "kernel_symbol", kernel);
    assert_non_null(row);
    assert_string_equal(text_at(row, "source"), "kernel");
    assert_int_equal(int_at(row, "values"), count);
    assert_int_equal((int64_t)json_number_value(at(row, "least")), least);
    assert_int_equal((int64_t)json_number_value(at(row, "most")), most);
}

static const char relu[] = "_Z9fake_reluPfi", gemm[] = "_Z9fake_gemmIfEvPKT_S2_PS0_i";

TEST(kernels_one_by_one)
{
    struct run r;
    struct given g =
        count_kernels(&r, "GPUFL_RANGE_KERNEL_LAUNCHES=3",
                      "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum", LIST("40", "threads=0", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 2 * 3);
    assert_true(g.back);
    assert_string_equal(setting(&r, "counts", 0), "kernels");
    assert_string_equal(setting(&r, "launches_of_each", 0), "3");
    assert_string_equal(setting(&r, "passes", 0), "2");
    assert_null(setting(&r, "skipped_metric", 0));
    check_contains(&r, message_of(&r, "range_profiler.replay"), "3 launches of each kernel");
    check_said(&r, "the first 3 launches of each kernel are repeated, 2 passes each");
    check_kernel(&r, "sm__a.sum", relu, 3, 2, 6);
    check_kernel(&r, "sm__d.sum", gemm, 3, 10, 20);
    check_kernel(&r, "gpu__time_duration.sum", gemm, 3, 2, 4);
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_int_equal(int_at(r.report, "ledger.lost_time"), 0);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    assert_string_equal(capability_of(&r, "range_counters", "status"), "collected");
    run_free(&r);
}

/* No launch of another thread happens during a kernel's repetitions: it would be repeated with the
 * kernel, and a graph would be lost. The fake library ends a program that launches then. */
TEST(kernels_concurrent_with_threads_and_graphs)
{
    struct run r;
    struct given g = count_kernels(&r, "GPUFL_RANGE_KERNEL_LAUNCHES=200", "sm__a.sum",
                                   LIST("1000", "threads=4", "graphs=20", "fail=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 2 * 200);
    check_contains(&r, message_of(&r, "range_profiler.replay"), "repeated, 1 pass each,");
    assert_int_equal(int_at(r.report, "kernels.count"),
                     int_at(r.said, "0.launches") + int_at(r.said, "0.graph_kernels"));
    run_free(&r);
}

/* Kernels of one context at a time are counted; the session says which are not. */
TEST(kernels_of_another_context)
{
    struct run r;
    struct given g = count_kernels(&r, "GPUFL_RANGE_KERNEL_LAUNCHES=100000", "sm__a.sum",
                                   LIST("10", "threads=1", "contexts=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 10 + 10);
    assert_string_equal(setting(&r, "uncounted_other_context", 0), "30");
    check_contains(&r, message_of(&r, "range_profiler.uncounted"), "of another context");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

TEST(kernels_of_sessions)
{
    struct run r;
    struct given g = count_kernels(&r, "GPUFL_RANGE_KERNEL_LAUNCHES=1", "overview",
                                   LIST("10", "threads=2", "sessions=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 3 * 2);
    /* With two threads the one that launches a kernel first may be inside the scope or not; a
     * kernel has a row for each scope. */
    size_t i;
    json_t *row;
    int64_t values = 0;
    json_array_foreach(at(r.report, "counters"), i, row)
    {
        if (!strcmp(text_at(row, "metric"), "gpu__time_duration.sum") &&
            !strcmp(text_at(row, "kernel_symbol"), relu))
            values += int_at(row, "values");
    }
    assert_int_equal(values, 3);
    run_free(&r);
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* The time that counting takes to begin is not the program's idle time. */
TEST(its_begin_is_its_own)
{
    struct run r;
    count(&r, "FAKE_CUPTI=range-slow=150", "sm__a.sum",
          LIST("40", "threads=0", "steps=5", "ranged"));
    assert_true(idle_of_engine(&r) >= 150000000);
    run_free(&r);
}

TEST(refusals)
{
    static const struct {
        const char *metrics, *script, *sentence;
    } cases[] = {
        {"overview", "FAKE_CUPTI=range-privileges", "NVreg_RestrictProfilingToAdminUsers=0"},
        {"overview", "FAKE_CUPTI=range-old", "compute capability 7.0"},
        {"overview", "FAKE_CUPTI=range-held", "another process or tool holds"},
        {"no__such.sum", "FAKE_CUPTI=", "no__such.sum: a GH100 has no such metric"},
        {"nothing", "FAKE_CUPTI=", "neither a set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        struct engine_case c = {"RangeProfiler", "range_counters", "range_profiler",
                                .sentence = cases[i].sentence};
        count(&r, cases[i].script, cases[i].metrics, LIST("300", "steps=3", "ranged"));
        check_refused(&r, &c, 0);
        run_free(&r);
    }
}

static void run_with_fault(const char *script)
{
    struct run r;
    count(&r, script, "overview,sm__d.sum",
          LIST("20", "threads=1", "steps=100", "benches=2", "ranged"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* Every call fails once, twice, always: the program runs to its end, and kernels are traced. */
TEST(every_function_fails)
{
    static const char *const functions[] = {CUPTI_PROFILER_FUNCTIONS(FUNCTION_NAME)
                                                CUPTI_RANGE_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 2, run_with_fault);
}

static void run_kernels_with_fault(const char *script)
{
    struct run r;
    count_as(&r, "GPUFL_RANGE_MODE=kernels", "GPUFL_RANGE_KERNEL_LAUNCHES=5", script, "overview",
             LIST("20", "threads=2", "graphs=1", "ranged"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "kernels.count") + int_at(r.report, "ledger.lost_time"),
                     int_at(r.said, "0.launches") + int_at(r.said, "0.graph_kernels"));
    run_free(&r);
}

/* Every call fails with kernels as ranges: a repeated kernel that could not be read has no
 * times. */
TEST(every_function_fails_for_kernels)
{
    static const char *const functions[] = {CUPTI_RANGE_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 2, run_kernels_with_fault);
}

/* With an argument: only the tests whose names match this pattern. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_scope),
        cmocka_unit_test(without_scopes),
        cmocka_unit_test(ends_after_a_short_scope),
        cmocka_unit_test(namesakes),
        cmocka_unit_test(many_scopes),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(sessions_follow_each_other),
        cmocka_unit_test(sessions_that_leave_a_scope),
        cmocka_unit_test(counts_that_cannot_be_read),
        cmocka_unit_test(one_pass),
        cmocka_unit_test(repeated_scopes),
        cmocka_unit_test(repeated_scopes_of_one_pass),
        cmocka_unit_test(repeated_scopes_that_are_left),
        cmocka_unit_test(more_names_than_are_distinguished),
        cmocka_unit_test(kernels_one_by_one),
        cmocka_unit_test(kernels_concurrent_with_threads_and_graphs),
        cmocka_unit_test(kernels_of_another_context),
        cmocka_unit_test(kernels_of_sessions),
        cmocka_unit_test(its_begin_is_its_own),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_function_fails),
        cmocka_unit_test(every_function_fails_for_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
