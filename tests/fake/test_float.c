/* test_float.c - tests programs with floating-point traps on: gpufl raises no SIGFPE, on its own
 * threads or on the program's, and the program's floating-point environment stays unchanged. This
 * holds for every engine, the report in process and the exit handlers, with and without `gpufl
 * trace`. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

static const char *const engines[] = {"Monitor",     "Sync",          "Trace", "PcSampling",
                                      "SassMetrics", "RangeProfiler", "Deep",  "PmSampling"};

enum { ENGINES = sizeof engines / sizeof *engines };

static void check_samples(const struct run *r)
{
    assert_non_null(r->report);
    assert_true(int_at(r->report, "host.samples") > 1);
    assert_true(int_at(r->report, "host.process_cpu.samples") > 0);
    assert_true(int_at(r->report, "devices.0.metrics.samples") > 0);
}

static void run_float(struct run *r, const char *const *env, const char *const *program, bool alone)
{
    run_all(r, &(struct run_setup){
                   .env = env, .program = program, .binary = "fake/fake_float", .alone = alone});
    check_program(r, 0);
    check_samples(r);
}

TEST(every_engine)
{
    static const char *const env[] = {"GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=10", NULL};
    for (size_t i = 0; i < ENGINES; i++) {
        struct run r;
        run_float(&r, env, LIST(engines[i]), true);
        assert_string_equal(text_at(r.report, "session.end_reason"), "shutdown");
        assert_string_equal(text_at(r.report, "session.engine"), engines[i]);
        run_free(&r);
    }
}

TEST(kernels_counted_one_by_one)
{
    struct run r;
    run_float(&r,
              LIST("GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=10", "GPUFL_RANGE_MODE=kernels"),
              LIST("RangeProfiler"), true);
    assert_true(int_at(r.report, "ledger.profile_written") > 0);
    run_free(&r);
}

TEST(windows_by_name)
{
    static const char *const of[] = {"Trace", "PcSampling", "RangeProfiler", "PmSampling"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct run r;
        run_float(&r,
                  LIST("GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=10", "GPUFL_WINDOWS=true"),
                  LIST(of[i], "windows"), true);
        run_free(&r);
    }
}

/* A config file with a number in it is read on the program's thread. */
TEST(in_process_and_at_exit)
{
    char config[PATH_MAX + 32];
    struct world w;
    world_open(&w);
    snprintf(config, sizeof config, "GPUFL_CONFIG_FILE=%s/o.json", w.dir);
    FILE *f = fopen(config + strlen("GPUFL_CONFIG_FILE="), "we");
    assert_non_null(f);
    fputs("{\"flush_interval_ms\": 10.0, \"log_path\": \"logs\"}", f);
    fclose(f);
    struct run r;
    run_float(&r, LIST(config), LIST("Trace", "report=report.txt", "exit"), true);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    char path[PATH_MAX + 16], text[65536] = "";
    snprintf(path, sizeof path, "%s/report.txt", r.w.dir);
    f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_non_null(strstr(text, "System metrics"));
    assert_non_null(strstr(text, "step"));
    run_free(&r);
    world_close(&w);
}

TEST(under_trace)
{
    struct run r;
    run_float(&r, LIST("GPUFL_FLUSH_INTERVAL_MS=10"), LIST("Trace", "exit"), false);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine),    cmocka_unit_test(kernels_counted_one_by_one),
        cmocka_unit_test(windows_by_name), cmocka_unit_test(in_process_and_at_exit),
        cmocka_unit_test(under_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
