/* test_faults.c - every call of CUPTI fails once, twice, always; libraries are
 * missing, used by others or forbidden. In each case the program runs to its end,
 * the session can be read, and one sentence says why something is missing. */
#include "backend/nvidia/abi/cupti.h"
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_CODE = 5, ERROR = 999 };

/* ---- each function ------------------------------------------------------------------------- */

enum effect {
    NOTHING,    /* done without: the capture is complete */
    NO_KERNELS, /* no trace at all, and a sentence */
    PART,       /* something is missing or may be, and a sentence */
    PERHAPS,    /* depends on when it happens: complete, or as PART */
};

/* The effect of a failing call. */
static const struct fault {
    const char *function;
    long nth; /* from 1, or EVERY_CALL */
    enum effect effect;
    const char *code;     /* of the message; NULL: none */
    const char *sentence; /* in the message */
} faults[] = {
    {"cuptiGetVersion", 1, NO_KERNELS, "trace_unavailable", "CUPTI fails to say its version"},
    {"cuptiGetVersion", EVERY_CALL, NO_KERNELS, "trace_unavailable", "to say its version"},
    {"cuptiSubscribe", 1, NO_KERNELS, "trace_unavailable", "CUPTI fails to subscribe"},
    {"cuptiSubscribe", EVERY_CALL, NO_KERNELS, "trace_unavailable", "CUPTI fails to subscribe"},
    {"cuptiActivityRegisterCallbacks", 1, NO_KERNELS, "trace_unavailable", "to take our buffers"},
    {"cuptiActivityRegisterCallbacks", EVERY_CALL, NO_KERNELS, "trace_unavailable", "our buffers"},
    {"cuptiEnableCallback", EVERY_CALL, NO_KERNELS, "trace_unavailable", "to report launches"},
    {"cuptiActivityEnable", EVERY_CALL, NO_KERNELS, "trace_failed", "to enable kernel records"},
    {"cuptiActivityEnable", 1, PART, "cupti.enable", "overhead"},
    {"cuptiActivityEnable", 2, PART, "cupti.enable", "copies"},
    {"cuptiActivityEnable", 3, PART, "cupti.enable", "copies"},
    {"cuptiActivityEnableDriverApi", 1, PART, "cupti.enable", "external_correlation"},
    {"cuptiActivityEnableDriverApi", EVERY_CALL, PART, "cupti.enable", "external_correlation"},
    {"cuptiActivityGetNextRecord", 1, PART, "cupti.unreadable_buffer", "cannot read on"},
    {"cuptiActivityGetNextRecord", 2, PART, "cupti.unreadable_buffer", "cannot read on"},
    {"cuptiActivityGetNextRecord", 3, PART, "cupti.unreadable_buffer", "cannot read on"},
    {"cuptiActivityGetNextRecord", EVERY_CALL, PART, "cupti.unreadable_buffer", "cannot read on"},
    {"cuptiActivityFlushAll", 1, PERHAPS, "cupti.flush", "CUPTI fails to hand over its records"},
    {"cuptiActivityFlushAll", 2, PERHAPS, "cupti.flush", "CUPTI fails to hand over its records"},
    {"cuptiActivityFlushAll", 3, PERHAPS, "cupti.flush", "CUPTI fails to hand over its records"},
    {"cuptiActivityFlushAll", EVERY_CALL, PART, "cupti.flush", "to hand over its records"},
    {"cuptiActivityGetNumDroppedRecords", 1, PART, "cupti.dropped", "how many records it dropped"},
    {"cuptiActivityGetNumDroppedRecords", 2, PERHAPS, "cupti.dropped", "many records it dropped"},
    {"cuptiActivityGetNumDroppedRecords", 3, PERHAPS, "cupti.dropped", "many records it dropped"},
    {"cuptiActivityGetNumDroppedRecords", EVERY_CALL, PART, "cupti.dropped", "records it dropped"},
};

static const struct fault *fault_of(const char *function, long nth)
{
    static const struct fault harmless = {.effect = NOTHING};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (!strcmp(faults[i].function, function) && faults[i].nth == nth)
            return &faults[i];
    return &harmless;
}

/* Checks the parts that a session has even if something is missing. */
static void check_said(const struct run *r, const struct fault *f)
{
    bool unknown = unknown_at(r->report, "kernels.count");
    int64_t kernels = unknown ? 0 : int_at(r->report, "kernels.count");
    check_contains(r, message_of(r, f->code), f->sentence);
    if (strcmp(f->code, "cupti.dropped") != 0) /* a note: nothing has been lost */
        check_contains(r, r->c.text[CHILD_ERR].data, f->sentence);
    if (f->effect == NO_KERNELS) {
        assert_true(unknown);
        check_contains(r, capability_of(r, "kernels", "reason"), f->sentence);
        assert_string_not_equal(capability_of(r, "kernels", "status"), "collected");
        return;
    }
    /* Every kernel is counted as launched. */
    assert_int_equal(int_at(r->report, "ledger.launches"), int_at(r->said, "0.launches"));
    if (kernels < int_at(r->said, "0.launches"))
        assert_string_equal(text_at(r->report, "ledger.verdict"), "incomplete");
}

static void check_fault(const char *script)
{
    struct run r;
    char function[48];
    long nth;
    assert_int_equal(sscanf(script, "FAKE_CUPTI=fail=%47[^:]:%ld", function, &nth), 2);
    const struct fault *f = fault_of(function, nth);
    run_all(&r, &(struct run_setup){
                    .reported = true, .env = LIST(script), .program = LIST("300", "exit=5")});
    check_program(&r, EXIT_CODE);
    assert_non_null(r.report);
    assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
    bool said = json_array_size(at(r.report, "messages")) > 0;
    if (f->effect == NOTHING || (f->effect == PERHAPS && !said)) {
        check_complete(&r);
        assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    } else {
        check_said(&r, f);
    }
    run_free(&r);
}

TEST(every_function_fails)
{
    static const char *const functions[] = {CUPTI_FUNCTIONS(FUNCTION_NAME) NULL};
    each_fault(functions, 3, check_fault);
}

/* Kernels are enabled last; without them there is no trace. */
TEST(every_kind_fails)
{
    int without = 0;
    for (int nth = 3; nth <= 5; nth++) {
        struct run r;
        char script[128];
        snprintf(script, sizeof script, "FAKE_CUPTI=fail=cuptiActivityEnable:%d:%d", nth, ERROR);
        run_all(&r, &(struct run_setup){
                        .reported = true, .env = LIST(script), .program = LIST("300", "exit=5")});
        check_program(&r, EXIT_CODE);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        if (unknown_at(r.report, "kernels.count")) {
            without++;
            check_contains(&r, message_of(&r, "trace_failed"), "to enable kernel records");
            check_contains(&r, capability_of(&r, "kernels", "reason"), "to enable kernel records");
        } else {
            assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
            check_contains(&r, message_of(&r, "cupti.enable"), "incomplete: CUPTI fails to enable");
            check_contains(&r, r.c.text[CHILD_ERR].data, "incomplete: CUPTI fails to enable");
        }
        run_free(&r);
    }
    assert_int_equal(without, 1);
}

/* ---- refusals a person can do something about ------------------------------------------------ */

struct refusal {
    const char *env[2];
    const char *status;       /* of the capability "kernels" */
    const char *sentences[2]; /* in the message of trace_unavailable or trace_failed */
};

TEST(refused)
{
    static char other[PATH_MAX + 32];
    snprintf(other, sizeof other, "GPUFL_CUPTI_PATH=%s", built_file("fake/libnvidia-ml.so.1"));
    const struct refusal refusals[] = {
        {{"FAKE_CUPTI=subscribed"},
         "unavailable",
         {"another profiler in this process holds CUPTI", "GPUFL_YIELD_CUPTI=1"}},
        {{"FAKE_CUPTI=privileges"},
         "unavailable",
         {"ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"}},
        {{"FAKE_CUPTI=version=9"}, "unavailable", {"is too old", "CUDA 9 or later"}},
        {{"GPUFL_YIELD_CUPTI=1"},
         "unavailable",
         {"left to another profiler", "GPUFL_YIELD_CUPTI=1"}},
        /* A driver of CUDA 11, for which nothing is installed here. */
        {{"FAKE_CUDA_VERSION=11000", "GPUFL_CUPTI_PATH="},
         "unavailable",
         {"no CUPTI for CUDA 11 or older can be loaded", "cuda-cupti-11-0"}},
        /* A library, but another one. */
        {{other}, "unavailable", {"libnvidia-ml.so.1 is not a usable CUPTI", "lacks"}},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *f = &refusals[i];
        struct run r;
        run_all(&r, &(struct run_setup){.reported = true,
                                        .env = LIST(f->env[0], f->env[1]),
                                        .program = LIST("300", "exit=5")});
        check_program(&r, EXIT_CODE);
        const char *text = message_of(&r, "trace_unavailable");
        text = text ? text : message_of(&r, "trace_failed");
        for (int s = 0; s < 2; s++) {
            check_contains(&r, text, f->sentences[s]);
            check_contains(&r, r.c.text[CHILD_ERR].data, f->sentences[s]);
            check_contains(&r, capability_of(&r, "kernels", "reason"), f->sentences[0]);
        }
        assert_string_equal(capability_of(&r, "kernels", "status"), f->status);
        assert_true(unknown_at(r.report, "kernels.count"));
        assert_true(json_is_null(at(r.report, "ledger.launches")));
        assert_int_equal(json_array_size(at(r.report, "messages")), 1);
        run_free(&r);
    }
}

/* ---- the program's own ----------------------------------------------------------------------- */

/* A program that faults keeps its error and its end, whatever the engine; the kernel that faulted
 * has a record without times, or none. */
TEST(a_kernel_that_faults)
{
    static const struct {
        const char *engine, *extra;
        int missing;
    } cases[] = {
        {"Trace", "flush_interval_ms=50", 1},       {"Sync", "flush_interval_ms=50", 0},
        {"PcSampling", "pc_kernel_collect=all", 1}, {"PcSampling", "pc_kernel_collect=none", 0},
        {"PmSampling", "flush_interval_ms=50", 1},  {"RangeProfiler", "range_mode=scopes", 1},
        {"RangeProfiler", "range_mode=kernels", 0}, {"SassMetrics", "flush_interval_ms=50", 0},
        {"Deep", "deep_sample_ms=50", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        print_message("%s %s\n", cases[i].engine, cases[i].extra);
        run_all(&r, &(struct run_setup){.options =
                                            LIST("-e", cases[i].engine, "--option", cases[i].extra),
                                        .program = LIST("100", "ms=200", "fault", "exit=5")});
        check_program(&r, EXIT_CODE);
        assert_int_equal(int_at(r.said, "0.error"), 700);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        check_contains(&r, message_of(&r, "program.fault"),
                       "CUDA_ERROR_ILLEGAL_ADDRESS (error 700)");
        check_contains(&r, message_of(&r, "program.fault"),
                       "seen first as cuCtxSynchronize returned");
        if (cases[i].missing) {
            assert_int_equal(int_at(r.report, "ledger.lost_time"), 1);
            assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches") - 1);
            check_section(&r, "ledger", "which a kernel leaves that faults");
        }
        if (!strcmp(cases[i].engine, "SassMetrics"))
            check_contains(&r, message_of(&r, "sass_metrics.nothing"), "in which a kernel faulted");
        run_free(&r);
    }
}

/* Code that is too large is not kept, and is neither copied nor read. */
TEST(a_module_of_2_gib)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("-e", "PcSampling"),
                                    .program = LIST("100", "huge=2048", "ms=300", "exit=5")});
    check_program(&r, EXIT_CODE);
    check_complete(&r);
    check_contains(&r, message_of(&r, "code.not_kept"), "1 module too large");
    assert_true(int_at(r.report, "host.process_rss.max") < 1 << 29);
    run_free(&r);
}

/* ---- CUPTI ends itself ----------------------------------------------------------------------- */

static void check_ended(const struct run *r, const char *why)
{
    check_program(r, EXIT_CODE);
    assert_string_equal(text_at(r->report, "session.end_reason"), "exit");
    check_contains(r, message_of(r, "cupti.ended"), why);
    check_contains(r, message_of(r, "cupti.ended"), "missing from here on");
    check_contains(r, r->c.text[CHILD_ERR].data, why);
    assert_string_equal(text_at(r->report, "ledger.verdict"), "incomplete");
    check_section(r, "ledger", "neither recorded nor counted");
    assert_true(int_at(r->report, "ledger.launches") < int_at(r->said, "0.launches"));
}

/* If CUPTI ends, the program goes on, whatever the engine; no session claims that the program
 * launched no more. */
TEST(the_library_ends_itself)
{
    static const struct {
        const char *script, *engine, *collect, *feature, *why;
    } cases[] = {
        {"fatal=100", "Trace", "all", "kernels", "a fatal error"},
        {"fatal=100", "PcSampling", "all", "pc_sampling", "the fake's heart"},
        {"fatal=100", "SassMetrics", "all", "sass_metrics", "the fake's heart"},
        {"fatal=100", "PmSampling", "all", "pm_sampling", "the fake's heart"},
        {"fatal=100", "RangeProfiler", "all", "range_counters", "the fake's heart"},
        {"ends=100", "PcSampling", "all", "pc_sampling", "answers no more"},
        {"ends=1", "PcSampling", "all", "kernels", "answers no more"},
        {"ends=100,deaf", "PcSampling", "all", "pc_sampling", "answers no more"},
        {"ends=100", "PcSampling", "none", "pc_sampling", "answers no more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        char script[64], collect[64];
        snprintf(script, sizeof script, "FAKE_CUPTI=%s", cases[i].script);
        snprintf(collect, sizeof collect, "pc_kernel_collect=%s", cases[i].collect);
        print_message("%s %s %s\n", script, cases[i].engine, collect);
        run_all(&r, &(struct run_setup){.reported = true,
                                        .env = LIST(script),
                                        .options = LIST("-e", cases[i].engine, "--option", collect),
                                        .program = LIST("300", "ms=2000", "exit=5")});
        check_ended(&r, cases[i].why);
        assert_string_equal(capability_of(&r, cases[i].feature, "status"), "partial");
        check_contains(&r, capability_of(&r, cases[i].feature, "reason"), cases[i].why);
        run_free(&r);
    }
}

/* CUPTI's end is found even if an engine was refused or failed before; an engine that never ran
 * is not reported as partial. */
TEST(it_ends_later)
{
    static const char *const scripts[] = {
        "FAKE_CUPTI=fail=cuptiPCSamplingGetData:1:999,ends=30000",
        "FAKE_CUPTI=pc-held,fatal=30000",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){
                        .reported = true,
                        .env = LIST(scripts[i]),
                        .options = LIST("-e", "PcSampling", "--option", "flush_interval_ms=50"),
                        .program = LIST("300", "steps=120", "exit=5")});
        check_ended(&r, i ? "the fake's heart" : "answers no more");
        assert_string_equal(capability_of(&r, "kernels", "status"), "partial");
        assert_string_equal(capability_of(&r, "pc_sampling", "status"),
                            i ? "unavailable" : "partial");
        check_contains(&r, r.c.text[CHILD_ERR].data, "Nothing of the GPU was captured after");
        assert_null(strstr(r.c.text[CHILD_ERR].data, "before the end"));
        run_free(&r);
    }
}

/* CUPTI ends inside of a counted launch, whose end is not reported: threads that wait for it go
 * on. */
TEST(it_ends_with_threads_that_wait)
{
    struct run r;
    run_all(&r, &(struct run_setup){.reported = true,
                                    .env = LIST("FAKE_CUPTI=fatal=4000"),
                                    .options = LIST("-e", "RangeProfiler", "--option",
                                                    "range_mode=kernels", "--option",
                                                    "range_kernel_launches=100000"),
                                    .program = LIST("20000", "threads=16", "exit=5")});
    check_ended(&r, "the fake's heart");
    run_free(&r);
}

/* If CUPTI is detached between windows, its end shows at the session's end. */
TEST(it_ends_where_it_goes_and_comes)
{
    static const char *const engines[] = {"PcSampling", "SassMetrics"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.reported = true,
                                        .env = LIST("FAKE_CUPTI=ends=100"),
                                        .options = LIST("-e", engines[i], "--for", "600ms",
                                                        "--option", "window_detach=true"),
                                        .program = LIST("300", "ms=1200", "exit=5")});
        print_message("%s\n", engines[i]);
        check_ended(&r, "answers no more");
        run_free(&r);
    }
}

/* A window closes all the same, and shares are of its captured part. */
TEST(it_ends_in_a_window)
{
    static const char *const engines[] = {"Trace", "PcSampling"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=fatal=100"),
                                        .options = LIST("-e", engines[i], "--for", "300ms"),
                                        .program = LIST("300", "ms=1500", "exit=5")});
        check_program(&r, EXIT_CODE);
        check_contains(&r, message_of(&r, "cupti.ended"), "the fake's heart");
        assert_true(json_is_false(at(r.report, "windows.still_open")));
        assert_in_range(int_at(r.report, "windows.recorded_ns"), 200000000, 900000000);
        assert_string_equal(capability_of(&r, "memory", "status"), "not_requested");
        run_free(&r);
    }
}

/* The next session of the process says that CUPTI has ended, too, and begins no engine. */
TEST(a_session_after_its_end)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=fatal=100"),
                                    .program = LIST("300", "sessions=2"),
                                    .linked = true,
                                    .alone = true});
    check_program(&r, 0);
    check_contains(&r, r.c.text[CHILD_ERR].data, "no kernels are recorded: CUPTI has met");
    run_free(&r);
}

/* An engine that is refused does not mean that CUPTI has ended: kernels are still recorded. */
TEST(trouble_is_no_end)
{
    static const char *const scripts[] = {
        "FAKE_CUPTI=pc-held",
        "FAKE_CUPTI=fail=cuptiPCSamplingGetData:0:999",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.env = LIST(scripts[i]),
                                        .options = LIST("-e", "PcSampling"),
                                        .program = LIST("300", "ms=900", "exit=5")});
        check_program(&r, EXIT_CODE);
        assert_null(message_of(&r, "cupti.ended"));
        assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
        run_free(&r);
    }
}

/* A library that needs an initialized driver: enabling waits for the driver. */
TEST(driver_comes_up_later)
{
    static const struct {
        const char *script;
        bool kernels;
    } cases[] = {
        {"FAKE_CUPTI=fail=cuptiActivityEnable:1:15", true},
        {"FAKE_CUPTI=fail=cuptiActivityEnable:0:15", false},
        {"FAKE_CUPTI=fail=cuptiActivityEnable:1:15,fail=cuptiActivityEnable:6:999", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_all(&r, &(struct run_setup){.reported = true,
                                        .env = LIST(cases[i].script),
                                        .program = LIST("300", "exit=5")});
        check_program(&r, EXIT_CODE);
        if (cases[i].kernels) {
            check_complete(&r);
        } else {
            check_contains(&r, message_of(&r, "cupti.enable"), "to enable kernel records");
            check_contains(&r, r.c.text[CHILD_ERR].data, "to enable kernel records");
            assert_string_equal(capability_of(&r, "kernels", "status"), "unavailable");
            assert_true(unknown_at(r.report, "kernels.count"));
            assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
        }
        run_free(&r);
    }
}

/* With --yield-cupti, CUPTI is not even loaded. */
TEST(yielded)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--yield-cupti"), .program = LIST("300")});
    check_program(&r, 0);
    assert_int_equal(int_at(r.said, "0.cupti"), 0);
    check_contains(&r, message_of(&r, "trace_unavailable"), "left to another profiler");
    run_free(&r);
}

/* No GPU: the program says so in its own way. */
TEST(no_device)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUDA_DEVICES=0"), .program = LIST("300")});
    check_program(&r, 4);
    assert_int_equal(int_at(r.said, "0.error"), 100);
    assert_null(r.report);
    check_contains(&r, r.c.text[CHILD_ERR].data, "nothing was captured");
    run_free(&r);
}

/* ---- device metrics -------------------------------------------------------------------------- */

TEST(nvml_fails)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_NVML=missing"), .program = LIST("300")});
    check_program(&r, 0);
    check_complete(&r);
    check_contains(&r, message_of(&r, "device_metrics"), "kernel driver is not loaded");
    check_contains(&r, capability_of(&r, "device_metrics", "reason"), "modprobe nvidia");
    assert_true(json_is_null(at(r.report, "devices.0.metrics")));
    assert_string_equal(text_at(r.report, "devices.0.name"), "Fake H200");
    run_free(&r);
}

TEST(no_nvml)
{
    if (dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        print_message("skipped: this machine has a real libnvidia-ml.so.1\n");
        skip();
    }
    struct run r;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", built_file("fake/no-nvml"));
    run_all(&r, &(struct run_setup){.env = LIST(path), .program = LIST("300", "exit=5")});
    check_program(&r, EXIT_CODE);
    check_complete(&r);
    check_contains(&r, message_of(&r, "device_metrics"), "libnvidia-ml.so.1 was not found");
    run_free(&r);
}

/* Devices fall off the bus while they are sampled: kernels go on. */
TEST(device_lost)
{
    struct run r;
    run_start(&r, &(struct run_setup){.env = LIST("FAKE_NVML=lost"),
                                      .options = LIST("-s", "5ms"),
                                      .program = LIST("300", "wait")});
    run_expect(&r, "host.samples", 20);
    child_send(&r.c, "go\n", 3);
    run_end(&r);
    check_program(&r, 0);
    check_complete(&r);
    assert_true(int_at(r.report, "devices.0.metrics.power.samples") > 0);
    assert_true(int_at(r.report, "devices.0.metrics.samples") < int_at(r.report, "host.samples"));
    assert_string_equal(capability_of(&r, "device_metrics", "status"), "partial");
    check_contains(&r, message_of(&r, "device_lost"), " and 1 other do not answer any more");
    check_contains(&r, message_of(&r, "device_lost"), "look for Xid messages in dmesg");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_fails),
        cmocka_unit_test(every_kind_fails),
        cmocka_unit_test(refused),
        cmocka_unit_test(yielded),
        cmocka_unit_test(a_kernel_that_faults),
        cmocka_unit_test(a_module_of_2_gib),
        cmocka_unit_test(the_library_ends_itself),
        cmocka_unit_test(it_ends_later),
        cmocka_unit_test(it_ends_in_a_window),
        cmocka_unit_test(it_ends_where_it_goes_and_comes),
        cmocka_unit_test(it_ends_with_threads_that_wait),
        cmocka_unit_test(a_session_after_its_end),
        cmocka_unit_test(trouble_is_no_end),
        cmocka_unit_test(driver_comes_up_later),
        cmocka_unit_test(no_device),
        cmocka_unit_test(nvml_fails),
        cmocka_unit_test(no_nvml),
        cmocka_unit_test(device_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
