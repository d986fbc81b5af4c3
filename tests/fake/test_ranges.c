/* test_ranges.c - engine RangeProfiler over the fake library, whose counters are the kernels that
 * were launched in a range: every outermost scope has the counts of its own, contexts come and go,
 * what would take a second pass is left out, and where counters cannot be had, the session says why
 * and lacks nothing else. */
#include "backend/nvidia/profiler_abi.h"
#include "tests/fake/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ERROR = 999 };

/* What the library says: ranges and kernels in them that it gave, and whether it has its context
 * back. */
struct given {
    long long ranges, kernels;
    int back;
};

static struct given count(struct run *r, const char *script, const char *metrics,
                          const char *const *program)
{
    char path[] = "/tmp/gpufl-fake-range-XXXXXX", totals[64], chosen[256];
    struct given g = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(totals, sizeof totals, "FAKE_RANGE_TOTALS=%s", path);
    snprintf(chosen, sizeof chosen, "GPUFL_COUNTER_METRICS=%s", metrics);
    run_all(r, &(struct run_setup){.env = LIST(script, totals, chosen, "GPUFL_LOG_PATH=logs"),
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

static const char *ran_as(const struct run *r)
{
    const char *last = NULL, *text;
    for (int i = 0; (text = setting(r, "ran_as", i)); i++)
        last = text;
    return last;
}

/* The row of a metric and scope; NULL: there is none. */
static json_t *row_of(const struct run *r, const char *metric, const char *scope)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        json_t *of = json_object_get(row, "scope");
        if (!strcmp(text_at(row, "metric"), metric) && json_is_string(of) &&
            !strcmp(json_string_value(of), scope))
            return row;
    }
    return NULL;
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

static void one_scope(void **state)
{
    (void)state;
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
    run_free(&r);
}

/* More than the library is asked to keep at a time; each has its own counts. */
static void many_scopes(void **state)
{
    (void)state;
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

/* A context is given back before it is destroyed, and the next one is taken. */
static void contexts_come_and_go(void **state)
{
    (void)state;
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

static void sessions_follow_each_other(void **state)
{
    (void)state;
    struct run r;
    struct given g = count(&r, "FAKE_CUPTI=", "sm__a.sum",
                           LIST("40", "threads=0", "steps=10", "sessions=3", "ranged"));
    check_program(&r, 0);
    assert_int_equal(g.ranges, 3 * 10);
    check_row(&r, "sm__a.sum", "step", 3 * 10, 40);
    run_free(&r);
}

/* A scope's work is done once: what takes a second pass is left out, and said. */
static void one_pass(void **state)
{
    (void)state;
    struct run r;
    count(&r, "FAKE_CUPTI=", "sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum,no__such.sum",
          LIST("40", "threads=0", "ranged"));
    check_program(&r, 0);
    assert_string_equal(setting(&r, "skipped_metric", 0), "sm__d.sum");
    assert_string_equal(setting(&r, "skipped_metric", 1), "no__such.sum");
    check_contains(&r, message_of(&r, "range_profiler.passes"), "sm__d.sum, no__such.sum");
    check_row(&r, "sm__c.sum", "work", 1, 3 * 40);
    run_free(&r);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *script, *metrics, *sentence;
    } cases[] = {
        {"FAKE_CUPTI=range-privileges", "overview", "NVreg_RestrictProfilingToAdminUsers=0"},
        {"FAKE_CUPTI=range-old", "overview", "compute capability 7.0"},
        {"FAKE_CUPTI=range-held", "overview", "another process or tool holds"},
        {"FAKE_CUPTI=", "no__such.sum", "no__such.sum: a GH100 has no such metric"},
        {"FAKE_CUPTI=", "nothing", "neither a set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        count(&r, cases[i].script, cases[i].metrics, LIST("300", "steps=3", "ranged"));
        check_program(&r, 0);
        check_contains(&r, message_of(&r, "range_profiler.unavailable"), cases[i].sentence);
        assert_string_equal(ran_as(&r), "Trace");
        check_contains(&r, setting(&r, "why", 0), cases[i].sentence);
        assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
        run_free(&r);
    }
}

/* Every call fails once, twice, always: the program runs to its end, and kernels are traced. */
static void every_function_fails(void **state)
{
    static const char *const functions[] = {
#define NAME(required, result, name, arguments) #name,
        CUPTI_PROFILER_FUNCTIONS(NAME) CUPTI_RANGE_FUNCTIONS(NAME)
#undef NAME
    };
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int nth = 0; nth <= 2; nth++) {
            struct run r;
            char script[128];
            snprintf(script, sizeof script, "FAKE_CUPTI=fail=%s:%d:%d", functions[i], nth, ERROR);
            print_message("%s\n", script);
            count(&r, script, "overview", LIST("20", "threads=1", "steps=100", "ranged"));
            check_program(&r, 0);
            assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
            run_free(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_scope),
        cmocka_unit_test(many_scopes),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(sessions_follow_each_other),
        cmocka_unit_test(one_pass),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_function_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
