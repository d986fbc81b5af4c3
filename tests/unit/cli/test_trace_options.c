/* test_trace_options.c - tests the options that the library gets from the command line. */
#include "cli/trace/options/options.h"
#include "tests/test.h"

#include "capture/options/options.h"
#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 16 };

/* Parses the words (NULL-terminated) and gives the text for the library. */
static void encode(const char *const *words, struct trace_request *r, struct buf *out)
{
    static char *argv[ARGS_MAX + 1];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    argv[argc] = NULL;
    assert_int_equal(trace_options_parse(r, argc, argv), CMD_CONTINUE);
    buf_init(out, 1 << 16);
    trace_options_encode(r, "/logs", "run-id", "name", out);
}

TEST(defaults)
{
    struct trace_request r;
    struct buf b;
    encode((const char *const[]){"trace", "prog", "--json", "-q", NULL}, &r, &b);
    assert_string_equal(buf_cstr(&b),
                        "?log_path=/logs\nrun_id=run-id\n?app_name=name\n?profiling_engine=Trace\n"
                        "?continuous_system_sampling=true\n?system_sample_rate_ms=100\n");
    assert_false(r.json); /* words after the command belong to the command */
    assert_false(r.quiet);
    assert_string_equal(r.command[0], "prog");
    assert_string_equal(r.command[2], "-q");
    assert_null(r.command[3]);
    buf_fini(&b);
}

TEST(flags)
{
    struct trace_request r;
    struct buf b;
    encode((const char *const[]){"trace", "-e", "monitor", "-s0", "--duration=2m", "--kill",
                                 "--yield-cupti", "--", "--odd-name", NULL},
           &r, &b);
    assert_string_equal(buf_cstr(&b),
                        "?log_path=/logs\nrun_id=run-id\n?app_name=name\nprofiling_engine=Monitor\n"
                        "continuous_system_sampling=false\nsystem_sample_rate_ms=0\n"
                        "duration_ms=120000\nyield_cupti=true\n");
    assert_true(r.kill);
    assert_string_equal(r.command[0], "--odd-name");
    buf_fini(&b);
    encode((const char *const[]){"trace", "--after=3s", "--for=1s", "--every=1m", "prog", NULL}, &r,
           &b);
    assert_non_null(strstr(buf_cstr(&b), "window_after_ms=3000\nwindow_for_ms=1000\n"
                                         "window_every_ms=60000\n"));
    buf_fini(&b);
}

/* The library's name of an option is accepted here, too. */
TEST(the_librarys_names)
{
    struct trace_request r;
    struct buf b;
    encode((const char *const[]){"trace", "--enable-memory-tracking", "--launch-stacks=false",
                                 "--flush-interval-ms", "100", "--system-sample-rate-ms=7",
                                 "--log-path", "run1", "--app-name=x", "--profiling-engine", "sync",
                                 "prog", "--json", NULL},
           &r, &b);
    assert_string_equal(r.output, "run1");
    assert_string_equal(r.name, "x");
    assert_string_equal(r.command[0], "prog");
    static const char *const lines[] = {"\nprofiling_engine=Sync\n", "\nlaunch_stacks=false\n",
                                        "\nenable_memory_tracking=true\n",
                                        "\nflush_interval_ms=100\n", "\nsystem_sample_rate_ms=7\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(buf_cstr(&b), lines[i]))
            fail_msg("no %s in %s", lines[i], buf_cstr(&b));
    assert_null(strstr(buf_cstr(&b), "system_sample_rate_ms=100"));
    buf_fini(&b);
}

/* Each option is passed once: the last --option overrides the others and the flags. */
TEST(options_take_the_place_of_flags)
{
    struct trace_request r;
    struct buf b;
    encode((const char *const[]){"trace", "--option", "profiling_engine=monitor", "--option",
                                 "log_compress=0", "--option=log_compress=yes", "prog", NULL},
           &r, &b);
    assert_string_equal(buf_cstr(&b),
                        "?log_path=/logs\nrun_id=run-id\n?app_name=name\n"
                        "?continuous_system_sampling=true\n?system_sample_rate_ms=100\n"
                        "profiling_engine=monitor\nlog_compress=yes\n");
    assert_string_equal(trace_options_setting(&r, "log_compress"), "yes");
    assert_null(trace_options_setting(&r, "log_format"));
    buf_fini(&b);
}

/* Trace runs first, wherever the list has it; each pass has its engine and its number. */
TEST(passes)
{
    struct trace_request r;
    struct buf b;
    encode((const char *const[]){"trace", "--passes", "PcSampling,trace,SassMetrics",
                                 "--pc-kernels=none", "-s0", "prog", NULL},
           &r, &b);
    assert_int_equal(r.pass_count, 3);
    assert_int_equal(r.passes[0], GPUFL_ENGINE_TRACE);
    assert_int_equal(r.passes[1], GPUFL_ENGINE_PC_SAMPLING);
    assert_int_equal(r.passes[2], GPUFL_ENGINE_SASS_METRICS);
    r.pass = 2;
    r.engine = r.passes[1];
    buf_clear(&b);
    trace_options_encode(&r, "/logs", "run-id", "name", &b);
    assert_string_equal(buf_cstr(&b),
                        "?log_path=/logs\nrun_id=run-id\n?app_name=name\n"
                        "profiling_engine=PcSampling\npass=2\npasses=3\nlog_format=native\n"
                        "continuous_system_sampling=false\nsystem_sample_rate_ms=0\n"
                        "pc_kernel_collect=none\n");
    buf_fini(&b);
}

TEST(directory_with_an_ending)
{
    struct trace_request r = {.output = "x.log", .name = "n"};
    struct buf b;
    buf_init(&b, 1 << 16);
    trace_options_encode(&r, "/logs/x.log", "id", "n", &b);
    assert_int_equal(strncmp(buf_cstr(&b), "log_path=/logs/x.log/\nrun_id=id\napp_name=n\n", 42),
                     0);
    buf_fini(&b);
}

/* The launcher knows what the environment asks for before the program starts, and makes no flag of
 * it. */
TEST(environment)
{
    struct trace_request r;
    struct buf b;
    setenv("GPUFL_PROFILING_ENGINE", "PmSampling", 1);
    setenv("GPUFL_LOG_PATH", "logs/here.log", 1);
    setenv("GPUFL_APP_NAME", "mine", 1);
    setenv("GPUFL_TRACE_OPTIONS", "log_path=/outer\nprofiling_engine=Deep", 1);
    encode((const char *const[]){"trace", "--metrics", "memory", "prog", NULL}, &r, &b);
    assert_int_equal(r.engine, GPUFL_ENGINE_PM_SAMPLING); /* --metrics fits this engine */
    assert_string_equal(r.around.log_path, "logs/here");
    assert_string_equal(r.around.app_name, "mine");
    assert_string_equal(getenv("GPUFL_TRACE_OPTIONS"), "log_path=/outer\nprofiling_engine=Deep");
    assert_non_null(strstr(buf_cstr(&b), "?profiling_engine=Trace\n"));
    buf_fini(&b);
    setenv("GPUFL_FORCE_ENGINE", "Monitor", 1);
    encode((const char *const[]){"trace", "prog", NULL}, &r, &b);
    assert_int_equal(r.engine, GPUFL_ENGINE_MONITOR);
    assert_true(r.around.samples);
    buf_fini(&b);
    setenv("GPUFL_SYSTEM_SAMPLE_RATE_MS", "0", 1);
    encode((const char *const[]){"trace", "-eTrace", "prog", NULL}, &r, &b);
    assert_int_equal(r.engine, GPUFL_ENGINE_TRACE);
    assert_false(r.around.samples);
    buf_fini(&b);
    static const char *const set[] = {"GPUFL_PROFILING_ENGINE", "GPUFL_LOG_PATH",
                                      "GPUFL_APP_NAME",         "GPUFL_TRACE_OPTIONS",
                                      "GPUFL_FORCE_ENGINE",     "GPUFL_SYSTEM_SAMPLE_RATE_MS"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        unsetenv(set[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(flags),
        cmocka_unit_test(the_librarys_names),
        cmocka_unit_test(passes),
        cmocka_unit_test(environment),
        cmocka_unit_test(directory_with_an_ending),
        cmocka_unit_test(options_take_the_place_of_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
