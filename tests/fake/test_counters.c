/* test_counters.c - tests engine PmSampling over the fake library: every sample of the library is
 * in the session, on its clock and in its scope; counters that a device cannot count at once are
 * left out and named; full buffers are counted; and if counters are not available, the session says
 * why and what ran instead, and has everything else. */
#include "backend/nvidia/abi/profiler.h"
#include "tests/fake/pm_run.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CODE = 5, OPTIONS_MOST = 16 };

/* A run with engine PmSampling. options: "NAME=VALUE" of `gpufl trace --option`, or NULL. */
static struct pm_given count(struct run *r, const char *script, const char *const *options,
                             const char *const *program)
{
    const char *all[OPTIONS_MOST + 1] = {"-e", "PmSampling"};
    for (size_t n = 2; options && *options && n + 1 < OPTIONS_MOST; options++) {
        all[n++] = "--option";
        all[n++] = *options;
    }
    struct pm_given g = pm_run(r, script, (struct run_setup){.options = all, .program = program});
    assert_non_null(r->report);
    return g;
}

/* Value of the nth setting of that name, of all devices; NULL: there is none. */
static const char *setting(const struct run *r, const char *name, int nth)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name) && !strcmp(text_at(row, "engine"), "PmSampling") &&
            nth-- == 0)
            return text_at(row, "value");
    }
    return NULL;
}

/* The value of a setting: the last one counts. */
static const char *ran_as(const struct run *r)
{
    const char *last = NULL, *text;
    for (int i = 0; (text = setting(r, "ran_as", i)); i++)
        last = text;
    return last;
}

/* Checks every sample, also the first one, which has no true begin. */
static void check_samples(const struct run *r, const struct pm_given *g)
{
    assert_true(g->samples > 3);
    assert_true(g->back);
    assert_int_equal(pm_values(r, PM_BUSY, NULL), g->samples);
    assert_int_equal(int_at(r->report, "ledger.samples_overflows"), g->full);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Samples are complete, also over several drains, and with images that do not hold all of a
 * drain. */
TEST(every_sample_once)
{
    static const char *const intervals[] = {"pm_sampling_interval_us=1000",
                                            "pm_sampling_interval_us=20000",
                                            "pm_sampling_interval_us=100"};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        struct run r;
        struct pm_given g =
            count(&r, "FAKE_CUPTI=", LIST(intervals[i]), LIST("500", "threads=2", "ms=700"));
        check_program(&r, 0);
        check_samples(&r, &g);
        assert_string_equal(ran_as(&r), "PmSampling");
        assert_string_equal(setting(&r, "interval_us", 0), strchr(intervals[i], '=') + 1);
        assert_string_equal(setting(&r, "preset", 0), "overview");
        assert_string_equal(text_at(r.report, "session.engine"), "PmSampling");
        assert_string_equal(capability_of(&r, "pm_sampling", "status"), "collected");
        assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
        run_free(&r);
    }
}

/* Values are the library's, and their mean is of all of them. */
TEST(values_by_metric)
{
    struct run r;
    count(&r, "FAKE_CUPTI=", LIST("counter_metrics=dram__a.sum,gr__b.avg,dram__a.sum"),
          LIST("100", "ms=500"));
    check_program(&r, 0);
    json_t *rows = at(r.report, "counters"), *row;
    assert_int_equal(json_array_size(rows), 2);
    for (size_t i = 0; i < 2; i++) {
        row = json_array_get(rows, i);
        assert_string_equal(text_at(row, "metric"), i ? "gr__b.avg" : "dram__a.sum");
        assert_string_equal(text_at(row, "source"), "sampled");
        assert_int_equal((int)json_number_value(at(row, "least")), 25 * (int)(i + 1));
        assert_int_equal((int)json_number_value(at(row, "most")), 75 * (int)(i + 1));
        double mean = json_number_value(at(row, "mean"));
        assert_in_range((int)mean, 49 * (int)(i + 1), 51 * (int)(i + 1));
    }
    assert_null(setting(&r, "preset", 0));
    run_free(&r);
}

/* Four metrics of the multiprocessors do not fit, nor may links be read: a set goes without them
 * and says so in a note, a list in a warning. */
TEST(what_does_not_fit_is_left_out)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-nolinks", NULL, LIST("100", "ms=300"));
    check_program(&r, 0);
    check_samples(&r, &g);
    assert_string_equal(setting(&r, "skipped_metric", 0), "pcie__read_bytes.sum.per_second");
    check_contains(&r, message_of(&r, "pm_sampling.unknown_metrics"), "nvltx__bytes");
    run_free(&r);
    count(&r, "FAKE_CUPTI=",
          LIST("counter_metrics=sm__a.sum,sm__b.sum,sm__c.sum,sm__d.sum,gr__e.sum,no__such.sum"),
          LIST("100", "ms=300"));
    check_program(&r, 0);
    check_contains(&r, message_of(&r, "pm_sampling.passes"), "left out: sm__d.sum");
    check_contains(&r, message_of(&r, "pm_sampling.unknown_metrics"), "no__such.sum");
    assert_string_equal(setting(&r, "metric", 3), "gr__e.sum");
    assert_null(setting(&r, "metric", 4));
    assert_string_equal(ran_as(&r), "PmSampling");
    run_free(&r);
}

/* With counters alone no kernel is recorded and no launch is counted, which is no loss. */
TEST(without_kernel_records)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("-e", "PmSampling", "--pc-kernels", "none",
                                                    "--metrics", "memory", "--interval", "500us"),
                                    .program = LIST("1000", "ms=300", "exit=5")});
    check_program(&r, EXIT_CODE);
    assert_true(pm_values(&r, "dram__bytes_read.sum.per_second", NULL) > 100);
    assert_string_equal(setting(&r, "preset", 0), "memory");
    assert_string_equal(setting(&r, "interval_us", 0), "500");
    assert_true(unknown_at(r.report, "kernels.count"));
    assert_true(json_is_null(at(r.report, "ledger.launches")));
    assert_string_equal(capability_of(&r, "kernels", "status"), "not_requested");
    assert_string_equal(capability_of(&r, "pm_sampling", "status"), "collected");
    run_free(&r);
    count(&r, "FAKE_CUPTI=pm-held", LIST("pc_kernel_collect=none"),
          LIST("300", "ms=200", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_string_equal(ran_as(&r), "Monitor");
    run_free(&r);
}

/* If nothing can be sampled, the session is one of Trace. */
TEST(a_list_of_nothing)
{
    static const struct engine_case cases[] = {
        {"PmSampling", "pm_sampling", .script = "counter_metrics=no__such.sum",
         .sentence = "no__such.sum: a GH100 has no such metric"},
        {"PmSampling", "pm_sampling",
         .script = "counter_metrics=", .sentence = "counter_metrics names no metric"},
        {"PmSampling", "pm_sampling", .script = "counter_metrics=overvieu",
         .sentence = "neither a set (overview, memory, compute, roofline)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        count(&r, "FAKE_CUPTI=", LIST(cases[i].script), LIST("300", "ms=200", "exit=5"));
        check_refused(&r, &cases[i], EXIT_CODE);
        run_free(&r);
    }
}

/* ---- clock and scopes ------------------------------------------------------------------------ */

/* The device's clock is decades ahead; its samples are where the session was, and those in its one
 * scope are the scope's. */
TEST(on_the_sessions_clock)
{
    struct run r;
    run_all(&r,
            &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=50"),
                                .linked = true,
                                .alone = true,
                                .program = LIST("500", "threads=1", "counted", "ms=600")});
    check_program(&r, 0);
    int64_t all = pm_values(&r, PM_BUSY, NULL), in = pm_values(&r, PM_BUSY, "work");
    assert_in_range(all, 200, int_at(r.report, "session.duration_ns") / 1000000 + 1);
    assert_in_range(in, all / 2, all); /* the session is longer by its begin and end */
    assert_true(atoi(setting(&r, "clock_error_us", 0)) < 20000);
    run_free(&r);
}

/* Samples that are read after the others of a round belong to the scope, too: a long scope lacks
 * hardly any, except at its edges, where the clock's error is. */
TEST(samples_of_a_scope_are_its_own)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs", "GPUFL_FLUSH_INTERVAL_MS=20",
                                                "GPUFL_PM_SAMPLING_INTERVAL_US=200"),
                                    .linked = true,
                                    .alone = true,
                                    .program = LIST("500", "threads=1", "counted", "ms=600")});
    check_program(&r, 0);
    int64_t in = pm_values(&r, PM_BUSY, "work"), out = pm_values(&r, PM_BUSY, NULL) - in;
    int64_t error_us = atoll(setting(&r, "clock_error_us", 0));
    assert_string_equal(text_at(r.report, "scopes.0.name"), "work");
    int64_t work_us = int_at(r.report, "scopes.0.wall_ns") / 1000;
    int64_t rest_us = int_at(r.report, "session.duration_ns") / 1000 - work_us;
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    assert_in_range(in, 1000, work_us / 200 + 1);
    assert_in_range(out, 0, (rest_us + 2 * error_us) / 200 + in / 40);
    run_free(&r);
}

TEST(sessions_follow_each_other)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_LOG_PATH=logs"),
                                    .linked = true,
                                    .alone = true,
                                    .program = LIST("500", "counted", "sessions=3", "ms=300")});
    check_program(&r, 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 3);
    assert_true(pm_values(&r, PM_BUSY, "work") > 3 * 50);
    assert_string_equal(ran_as(&r), "PmSampling");
    run_free(&r);
}

/* The counters are the device's: they go on while contexts are made and destroyed. */
TEST(contexts_come_and_go)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=", NULL, LIST("300", "contexts=5", "ms=300"));
    check_program(&r, 0);
    check_samples(&r, &g);
    run_free(&r);
}

/* ---- losses, refusals ---------------------------------------------------------------------- */

/* 8 KiB hold 32 of the fake's records, 1.9 s, which come in many drains: what is read makes
 * room. */
TEST(a_buffer_is_used_again)
{
    struct run r;
    struct pm_given g = count(
        &r, "FAKE_CUPTI=", LIST("pm_hardware_buffer_bytes=8192", "pm_sampling_interval_us=60000"),
        LIST("300", "ms=3000"));
    check_program(&r, 0);
    check_samples(&r, &g);
    assert_true(g.samples > 32);
    assert_int_equal(g.full, 0);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
    run_free(&r);
}

/* A drain may give less than there is: at the end it is asked until it gives nothing. */
TEST(drains_that_stop_short)
{
    static const char *const scripts[] = {"FAKE_CUPTI=pm-short=40", "FAKE_CUPTI=pm-short=3"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        struct pm_given g = count(&r, scripts[i], NULL, LIST("300", "ms=900"));
        check_program(&r, 0);
        check_samples(&r, &g);
        assert_int_equal(g.samples, g.made);
        assert_int_equal(int_at(r.report, "ledger.samples_lost"), 0);
        run_free(&r);
    }
}

/* Samples that never come are missing, except those that may not have been ready at the end. */
TEST(an_end_that_never_comes)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-cut=400", NULL, LIST("300", "ms=900"));
    check_program(&r, 0);
    assert_int_equal(g.samples, 400);
    assert_int_equal(pm_values(&r, PM_BUSY, NULL), g.samples);
    int64_t lost = int_at(r.report, "ledger.samples_lost"), cut = g.made - g.samples;
    assert_in_range(lost, cut - 8, cut + 1); /* a read may be held up */
    assert_true(lost > 100);
    check_contains(&r, message_of(&r, "losses"), "could not be read");
    run_free(&r);
}

/* A full buffer is given up and sampling begins again: the samples that it still had, since drains
 * stop short, are lost. */
TEST(a_full_buffer_that_was_not_read)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-short=3",
                              LIST("pm_hardware_buffer_bytes=65536", "flush_interval_ms=20"),
                              LIST("300", "ms=900"));
    check_program(&r, 0);
    assert_true(g.full >= 1);
    assert_int_equal(pm_values(&r, PM_BUSY, NULL), g.samples);
    /* Between two buffers no sample is made; those count as missing, too. */
    int64_t lost = int_at(r.report, "ledger.samples_lost"), gone = g.made - g.samples;
    assert_in_range(lost, gone - 8, gone + 40);
    run_free(&r);
}

/* If the window is over and the device's buffer is full, the loss is counted once. */
TEST(a_window_whose_buffer_was_full)
{
    struct run r;
    struct run_setup s = {.options = LIST("-e", "PmSampling", "--after", "300ms", "--for", "60ms",
                                          "--option", "pm_hardware_buffer_bytes=8192", "--option",
                                          "pm_sampling_interval_us=1000", "--option",
                                          "flush_interval_ms=1000"),
                          .program = LIST("10", "ms=900")};
    struct pm_given g = pm_run(&r, "FAKE_CUPTI=", s);
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "ledger.samples_overflows"), g.full);
    int64_t lost = int_at(r.report, "ledger.samples_lost"), in = pm_values(&r, PM_BUSY, NULL);
    int64_t ms = int_at(r.report, "windows.recorded_ns") / 1000000; /* a sample each, about */
    assert_true(ms >= 60);
    assert_in_range(lost + in, ms - 20, ms + 15);
    run_free(&r);
}

/* At first no other buffer is available. */
TEST(a_buffer_that_does_not_come_back)
{
    static const char *const scripts[] = {"FAKE_CUPTI=fail=cuptiPmSamplingEnable:2:999",
                                          "FAKE_CUPTI=fail=cuptiPmSamplingSetConfig:2:999",
                                          "FAKE_CUPTI=fail=cuptiPmSamplingStart:2:999"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        struct pm_given g =
            count(&r, scripts[i], LIST("pm_hardware_buffer_bytes=8192", "flush_interval_ms=100"),
                  LIST("300", "ms=900"));
        check_program(&r, 0);
        int64_t lost = int_at(r.report, "ledger.samples_lost");
        assert_in_range(lost + pm_values(&r, PM_BUSY, NULL), g.made - 8,
                        int_at(r.report, "session.duration_ns") / 1000000 + 8);
        assert_int_equal(pm_values(&r, PM_BUSY, NULL), g.samples);
        run_free(&r);
    }
}

/* Sampling that is given up: samples that were not read are missing. */
TEST(a_device_that_is_given_up)
{
    static const char *const scripts[] = {
        "FAKE_CUPTI=fail=cuptiPmSamplingCounterDataImageInitialize:6:999",
        "FAKE_CUPTI=fail=cuptiPmSamplingDecodeData:0:999"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        struct pm_given g =
            count(&r, scripts[i], LIST("flush_interval_ms=20"), LIST("300", "ms=900"));
        check_program(&r, 0);
        int64_t lost = int_at(r.report, "ledger.samples_lost"), in = pm_values(&r, PM_BUSY, NULL);
        assert_in_range(lost + in, g.made - 8, g.made + 8);
        assert_int_equal(atoll(setting(&r, "samples", 0)), in);
        check_contains(&r, message_of(&r, "pm_sampling.unavailable"), "CUPTI");
        run_free(&r);
    }
}

/* A loss counts once: as samples that could not be read, or as the gap that they leave. */
TEST(samples_without_times)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-odd=200:50", NULL, LIST("300", "ms=900"));
    check_program(&r, 0);
    assert_int_equal(pm_values(&r, PM_BUSY, NULL), g.samples - 50);
    assert_int_equal(int_at(r.report, "ledger.samples_lost"), 50);
    run_free(&r);
}

/* The interval that the session says last, us. */
static int64_t last_interval(const struct run *r)
{
    size_t i;
    json_t *row;
    int64_t found = 0;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), "interval_us"))
            found = atoll(text_at(row, "value"));
    }
    return found;
}

/* A buffer that was full stays full: sampling begins again, and the gap is counted. If one buffer
 * after the other is full, the interval grows until they can be read. */
TEST(a_full_buffer_is_counted)
{
    struct run r;
    struct pm_given g = count(
        &r, "FAKE_CUPTI=", LIST("pm_hardware_buffer_bytes=8192", "pm_sampling_interval_us=500"),
        LIST("300", "ms=1000"));
    check_program(&r, 0);
    assert_true(g.full >= 2);
    int64_t lost = int_at(r.report, "ledger.samples_lost"); /* the gaps between buffers, too */
    assert_true(lost + g.full >= g.made - g.samples);
    assert_int_equal(int_at(r.report, "ledger.samples_overflows"), g.full);
    check_contains(&r, message_of(&r, "pm_sampling.overflow"), "pm_hardware_buffer_bytes");
    check_contains(&r, message_of(&r, "pm_sampling.slower"), "instead of every 500");
    assert_in_range(last_interval(&r), 1000, 64000);
    assert_true(g.samples > 0); /* 32 of them last for a drain then */
    assert_string_equal(ran_as(&r), "PmSampling");
    run_free(&r);
}

TEST(refusals)
{
    static const struct engine_case cases[] = {
        {"PmSampling", "pm_sampling", .script = "FAKE_CUPTI=pm-privileges",
         .sentence = "NVreg_RestrictProfilingToAdminUsers=0"},
        {"PmSampling", "pm_sampling", .script = "FAKE_CUPTI=pm-old",
         .sentence = "compute capability 7.5"},
        {"PmSampling", "pm_sampling", .script = "FAKE_CUPTI=pm-held",
         .sentence = "another process or tool holds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        count(&r, cases[i].script, NULL, LIST("500", "ms=200", "exit=5"));
        check_refused(&r, &cases[i], EXIT_CODE);
        run_free(&r);
    }
}

/* A CUPTI before 12.6 has no such calls. */
TEST(an_older_library)
{
    struct run r;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "GPUFL_CUPTI_PATH=%s", built_file("fake/libcupti.so.12"));
    run_all(&r, &(struct run_setup){.env = LIST(path, "FAKE_CUDA_VERSION=12060"),
                                    .options = LIST("-e", "PmSampling"),
                                    .program = LIST("300", "ms=200", "exit=5")});
    check_refused(
        &r, &(struct engine_case){"PmSampling", "pm_sampling", .sentence = "CUDA 12.6 or later"},
        EXIT_CODE);
    run_free(&r);
}

/* The program ends before sampling has begun: exit handlers that the library installed meanwhile
 * would end the library while the collector uses it. */
TEST(ends_before_it_begins)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-slow=400", NULL, LIST("10", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_true(g.back);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    run_free(&r);
}

/* Time that was not sampled is not time without work. */
TEST(begins_late)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-slow=100", NULL, LIST("300", "ms=300"));
    check_program(&r, 0);
    check_samples(&r, &g);
    check_contains(&r, message_of(&r, "pm_sampling.late"), "sampled for the last");
    run_free(&r);
}

/* A device that is triggered by its own cycles. */
TEST(goes_on_with_less)
{
    struct run r;
    struct pm_given g = count(&r, "FAKE_CUPTI=pm-cycles", NULL, LIST("300", "ms=300"));
    check_program(&r, 0);
    check_samples(&r, &g);
    assert_string_equal(ran_as(&r), "PmSampling");
    assert_string_equal(setting(&r, "trigger", 0), "cycles");
    run_free(&r);
}

static void run_with_fault(const char *script)
{
    struct run r;
    count(&r, script, LIST("flush_interval_ms=20"), LIST("300", "ms=100", "exit=5"));
    check_program(&r, EXIT_CODE);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    run_free(&r);
}

/* Every call fails once, twice, always: the program runs to its end, and kernels are traced. */
TEST(every_function_fails)
{
    static const char *const functions[] = {CUPTI_PROFILER_FUNCTIONS(FUNCTION_NAME)
                                                CUPTI_PM_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 2, run_with_fault);
}

/* A forked child is silent, and its parent goes on. */
TEST(survives_fork)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                    .options = LIST("-e", "PmSampling"),
                                    .program = LIST("500", "ms=300", "fork=after")});
    check_program(&r, 0);
    assert_true(pm_values(&r, PM_BUSY, NULL) > 50);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(values_by_metric),
        cmocka_unit_test(what_does_not_fit_is_left_out),
        cmocka_unit_test(without_kernel_records),
        cmocka_unit_test(a_list_of_nothing),
        cmocka_unit_test(on_the_sessions_clock),
        cmocka_unit_test(samples_of_a_scope_are_its_own),
        cmocka_unit_test(sessions_follow_each_other),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(a_buffer_is_used_again),
        cmocka_unit_test(drains_that_stop_short),
        cmocka_unit_test(an_end_that_never_comes),
        cmocka_unit_test(a_full_buffer_that_was_not_read),
        cmocka_unit_test(a_window_whose_buffer_was_full),
        cmocka_unit_test(a_buffer_that_does_not_come_back),
        cmocka_unit_test(a_device_that_is_given_up),
        cmocka_unit_test(samples_without_times),
        cmocka_unit_test(a_full_buffer_is_counted),
        cmocka_unit_test(refusals),
        cmocka_unit_test(an_older_library),
        cmocka_unit_test(goes_on_with_less),
        cmocka_unit_test(ends_before_it_begins),
        cmocka_unit_test(begins_late),
        cmocka_unit_test(every_function_fails),
        cmocka_unit_test(survives_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
