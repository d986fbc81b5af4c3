/* test_profile.c - tests sessions of the simulated engines beyond Trace, from end to end: all
 * samples are in the report, planted faults are found in their kernels and nowhere else, and a
 * conversion to the public client's format and back keeps everything. */
#include "tests/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char dir[64];

static int open_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "gpufl-sim-test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
    char command[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("%s: status %d", command, status);
}

static int close_dir(void **state)
{
    (void)state;
    shell("rm -rf %s", dir);
    return 0;
}

static json_t *load(const char *name)
{
    char path[128];
    json_error_t e;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    json_t *root = json_load_file(path, 0, &e);
    if (!root)
        fail_msg("%s: %s", path, e.text);
    return root;
}

#define GPUFL "\"$GPUFL_BINARY_DIR\"/bin/gpufl"

/* Makes a session. said: what gpufl sim prints, report: its report. The caller frees both. */
static void simulate(const char *name, const char *args, json_t **said, json_t **report)
{
    char file[64];
    shell(GPUFL " sim --kernels 20000 --scopes %s -o %s/%s >%s/said.json", args, dir, name, dir);
    shell(GPUFL " report --json %s/%s >%s/report.json", dir, name, dir);
    snprintf(file, sizeof file, "said.json");
    *said = load(file);
    *report = load("report.json");
}

static const struct fault {
    const char *key, *rule, *kernel, *place;
} faults[] = {
    {"stall", "stall", "flash_backward_dq", "train.cu:24"},
    {"divergence", "divergence", "fused_dropout", "train.cu:26"},
    {"uncoalesced", "uncoalesced", "scatter_add", "train.cu:31"},
    {"conflicts", "bank_conflicts", "transpose", "train.cu:30"},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

/* Counts the findings of the rules of faults. only: all of them must be this fault's. */
static size_t count_findings(const json_t *report, const struct fault *only)
{
    const json_t *list = json_object_get(report, "insights");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        const char *id = json_string_value(json_object_get(x, "id"));
        for (int f = 0; f < FAULTS; f++) {
            if (strcmp(id, faults[f].rule) != 0)
                continue;
            n++;
            if (!only)
                continue;
            assert_string_equal(id, only->rule);
            assert_non_null(strstr(json_string_value(json_object_get(x, "kernel")), only->kernel));
            assert_string_equal(json_string_value(json_object_get(x, "place")), only->place);
        }
    }
    return n;
}

/* Returns the status of a capability; "": the session does not mention it. */
static const char *status_of(const json_t *report, const char *feature)
{
    const json_t *list = json_object_get(report, "capabilities");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        if (!strcmp(json_string_value(json_object_get(x, "feature")), feature))
            return json_string_value(json_object_get(x, "status"));
    }
    return "";
}

static json_int_t samples_of(const json_t *report)
{
    return json_integer_value(json_object_get(json_object_get(report, "samples"), "samples"));
}

TEST(test_healthy)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics", "Deep"};
    for (size_t i = 0; i < 3; i++) {
        json_t *said, *report;
        char args[64];
        snprintf(args, sizeof args, "--engine %s", engines[i]);
        simulate(engines[i], args, &said, &report);
        json_int_t samples = json_integer_value(json_object_get(said, "samples"));
        assert_int_equal(samples > 0, i != 1);
        assert_int_equal(samples_of(report), samples);
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(report, "instructions"), "rows")),
            json_integer_value(json_object_get(said, "metric_rows")));
        assert_int_equal(count_findings(report, NULL), 0);
        const json_t *ledger = json_object_get(report, "ledger");
        assert_string_equal(json_string_value(json_object_get(ledger, "verdict")), "complete");
        assert_int_equal(json_integer_value(json_object_get(ledger, "profile_recorded")),
                         json_integer_value(json_object_get(ledger, "profile_written")));
        assert_int_equal(json_is_null(json_object_get(ledger, "samples_recorded")), i == 1);
        assert_string_equal(status_of(report, "pc_sampling"), i != 1 ? "collected" : "");
        assert_string_equal(status_of(report, "sass_metrics"), i != 0 ? "collected" : "");
        json_decref(said);
        json_decref(report);
    }
}

/* Each fault is found alone, in its kernel and at its line, also after a conversion to the public
 * client's format. */
TEST(test_each_fault)
{
    for (int f = 0; f < FAULTS; f++) {
        json_t *said, *report, *back;
        char args[64];
        snprintf(args, sizeof args, "--engine Deep --plant %s", faults[f].key);
        simulate(faults[f].key, args, &said, &report);
        assert_int_equal(count_findings(report, &faults[f]), 1);
        shell(GPUFL " export --format gpuflight %s/%s -o %s/%s-peer", dir, faults[f].key, dir,
              faults[f].key);
        shell(GPUFL " report --json %s/%s-peer >%s/back.json", dir, faults[f].key, dir);
        back = load("back.json");
        assert_int_equal(count_findings(back, &faults[f]), 1);
        assert_int_equal(samples_of(back), samples_of(report));
        json_decref(said);
        json_decref(report);
        json_decref(back);
    }
}

/* Engine Trace has no samples, and finds no fault. */
TEST(test_trace)
{
    json_t *said, *report;
    simulate("trace", "--plant stall", &said, &report);
    assert_int_equal(samples_of(report), 0);
    assert_int_equal(count_findings(report, NULL), 0);
    assert_true(
        json_is_null(json_object_get(json_object_get(report, "ledger"), "profile_recorded")));
    json_decref(said);
    json_decref(report);
}

/* With one thread on the virtual clock a seed gives the same session. */
TEST(test_same_again)
{
    for (int i = 0; i < 2; i++)
        shell(GPUFL " sim --kernels 20000 --engine Deep --seed 7 -o %s/same%d >/dev/null", dir, i);
    shell("for f in 0 1; do tail -n +2 %s/same$f/*/device.log >%s/device$f; done; "
          "cmp %s/device0 %s/device1",
          dir, dir, dir, dir);
}

/* ---- hardware counters ---------------------------------------------------------------------- */

static int64_t number(const json_t *x, const char *key)
{
    return json_integer_value(json_object_get(x, key));
}

static const char *text(const json_t *x, const char *key)
{
    const char *value = json_string_value(json_object_get(x, key));
    return value ? value : "";
}

/* Counts the values of a source's counters in a scope; fails if one is not between 0 and 100. */
static int64_t counted(const json_t *report, const char *source, const char *scope)
{
    const json_t *list = json_object_get(report, "counters");
    int64_t values = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        assert_string_equal(text(x, "source"), source);
        double least = json_number_value(json_object_get(x, "least"));
        double most = json_number_value(json_object_get(x, "most"));
        assert_true(least >= 0 && least <= most && most <= 100);
        if (strcmp(text(x, "scope"), scope) == 0 &&
            strstr(text(x, "metric"), "sm__cycles_active") == text(x, "metric"))
            values += number(x, "values");
    }
    return values;
}

/* Returns the number that the session reports for a scope without counters; 0: it is not named. */
static int64_t uncounted(const json_t *report, const char *scope, const char *why)
{
    const json_t *list = json_object_get(report, "settings");
    size_t len = strlen(scope);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        const char *value = text(x, "value");
        if (strcmp(text(x, "name"), "uncounted_scope") == 0 && strncmp(value, scope, len) == 0 &&
            value[len] == ':' && strstr(value, why))
            return strtoll(value + len + 1, NULL, 10);
    }
    return 0;
}

/* Every scope of the run is counted, or named with its number and the reason. */
TEST(test_ranges)
{
    static const char *const inner[] = {"step", "attention", "mlp", "evaluate", "data"};
    json_t *said, *report;
    simulate("ranges", "-e RangeProfiler", &said, &report);
    const json_t *scopes = json_object_get(report, "scopes");
    int64_t calls[5] = {0}, outermost = 0;
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const json_t *x = json_array_get(scopes, i);
        if (json_array_size(json_object_get(x, "path")) == 1)
            outermost += number(x, "calls");
        for (int n = 0; n < 5; n++)
            if (strcmp(text(x, "name"), inner[n]) == 0)
                calls[n] += number(x, "calls");
    }
    assert_true(outermost > 0);
    assert_int_equal(counted(report, "range", "epoch"), outermost);
    for (int n = 0; n < 5; n++) {
        assert_true(calls[n] > 0);
        assert_int_equal(uncounted(report, inner[n], "inside another scope"), calls[n]);
    }
    assert_int_equal(uncounted(report, "epoch", ""), 0);
    assert_string_equal(status_of(report, "range_counters"), "collected");
    json_decref(said);
    json_decref(report);
}

/* If two threads have scopes at the same time, one is counted and the other is reported. */
TEST(test_ranges_of_threads)
{
    int64_t meanwhile = 0;
    for (int run = 0; run < 10 && !meanwhile; run++) { /* a busy machine may run them one by one */
        json_t *said, *report;
        simulate("threads", "-e RangeProfiler --threads 4", &said, &report);
        const json_t *scopes = json_object_get(report, "scopes");
        int64_t outermost = 0;
        for (size_t i = 0; i < json_array_size(scopes); i++)
            if (json_array_size(json_object_get(json_array_get(scopes, i), "path")) == 1)
                outermost += number(json_array_get(scopes, i), "calls");
        meanwhile = uncounted(report, "epoch", "begun while one of another thread was counted");
        assert_int_equal(counted(report, "range", "epoch") + meanwhile, outermost);
        json_decref(said);
        json_decref(report);
    }
    assert_true(meanwhile > 0);
}

/* There is a sample for every ms from the first kernel to the last, whatever ran. */
TEST(test_counters_over_time)
{
    json_t *said, *report;
    simulate("series", "-e PmSampling", &said, &report);
    int64_t all = 0;
    const json_t *list = json_object_get(report, "counters");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strncmp(text(json_array_get(list, i), "metric"), "sm__cycles_active", 17) == 0)
            all += number(json_array_get(list, i), "values");
    int64_t ms = number(json_object_get(report, "session"), "duration_ns") / 1000000;
    if (all < ms * 9 / 10 || all > ms + 2)
        fail_msg("%lld samples of %lld ms", (long long)all, (long long)ms);
    assert_true(counted(report, "sampled", "epoch|step") > 0);
    assert_int_equal(number(json_object_get(report, "kernels"), "count"), 20000);
    assert_string_equal(status_of(report, "pm_sampling"), "collected");
    json_decref(said);
    json_decref(report);
}

/* Metrics that the simulated GPU does not have are reported. */
TEST(test_counters_by_name)
{
    json_t *said, *report;
    setenv("GPUFL_COUNTER_METRICS", "no__such.avg", 1);
    simulate("named", "-e PmSampling", &said, &report);
    unsetenv("GPUFL_COUNTER_METRICS");
    assert_int_equal(json_array_size(json_object_get(report, "counters")), 0);
    assert_string_equal(status_of(report, "pm_sampling"), "enabled_no_data");
    const json_t *first = json_array_get(json_object_get(report, "messages"), 0);
    assert_string_equal(text(first, "code"), "pm_sampling.metrics");
    assert_non_null(strstr(text(first, "text"), "no__such.avg"));
    json_decref(said);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_each_fault),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ranges_of_threads),
        cmocka_unit_test(test_counters_over_time),
        cmocka_unit_test(test_counters_by_name),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
