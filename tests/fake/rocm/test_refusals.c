/* test_refusals.c - tests services that rocprofiler-sdk refuses or lacks: the session says what is
 * missing; and children and later sessions of a process with the tool. */
#include "tests/fake/rocm/run_rocm.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A single call that fails: the program is the same, and the session says what is missing and why:
 * in a message, in the capability, on the report's first screen. */
TEST(single_calls_that_fail)
{
    static const struct {
        const char *script, *feature, *status, *reason, *message;
    } cases[] = {
        {"create_context:3", "scopes", "unavailable",
         "rocprofiler-sdk refuses to create a context for rocTX ranges",
         "rocTX ranges and marks are not recorded: "},
        {"configure_callback_tracing_service:4", "scopes", "unavailable",
         "rocprofiler-sdk refuses to report rocTX ranges",
         "rocTX ranges and marks are not recorded: "},
        {"start_context:3", "scopes", "unavailable",
         "rocprofiler-sdk refuses to start telling of rocTX ranges",
         "rocTX ranges and marks are not recorded: "},
        {"configure_callback_tracing_service:2", NULL, NULL,
         "rocprofiler-sdk refuses to report how graphs are made",
         "kernels of graphs are not counted beforehand: "},
        {"configure_buffer_tracing_service:2", "copies", "unavailable",
         "rocprofiler-sdk refuses to record copies", "copies are not recorded: "},
        {"configure_buffer_tracing_service:3", "memory", "unavailable",
         "rocprofiler-sdk refuses to record allocations", "allocations are not recorded: "},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct run r;
        struct child c;
        char script[96], reason[320], text[400];
        size_t k = i / 2;
        snprintf(script, sizeof script, "FAKE_ROCP=version=%u,fail=%s", i & 1 ? 10000u : 600u,
                 cases[k].script);
        snprintf(reason, sizeof reason,
                 "%s: ROCPROFILER_STATUS_ERROR (status 1); with ROCPROFILER_LOG_LEVEL=info in "
                 "the environment it says more on stderr",
                 cases[k].reason);
        snprintf(text, sizeof text, "%s%s", cases[k].message, reason);
        run_rocm(&r, i & 1 ? NEW : OLD, script, LIST("--option", "enable_memory_tracking=true"),
                 LIST("20", "ranges=5", "copies=3", "exit=3"));
        check_program(&r, 3);
        assert_non_null(r.report);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        assert_int_equal(int_at(r.report, "kernels.count"), 25);
        const char *message = message_of(&r, "trace.refused");
        assert_string_equal(message ? message : "no message", text);
        if (cases[k].feature) {
            assert_string_equal(capability_of(&r, cases[k].feature, "status"), cases[k].status);
            assert_string_equal(capability_of(&r, cases[k].feature, "reason"), reason);
        }
        assert_int_equal(gpufl_run(&r.w, &c, NULL, NULL, LIST("report", r.logs)), 0);
        snprintf(script, sizeof script, "  caution   %.30s", text);
        check_contains(&r, c.text[CHILD_OUT].data, script);
        child_free(&c);
        run_free(&r);
    }
}

/* The call that starts or stops recording, or delivers records, fails: there is a session. */
TEST(calls_of_a_session_that_fail)
{
    static const char *const scripts[] = {
        "FAKE_ROCP=fail=start_context:2", "FAKE_ROCP=fail=stop_context:1",
        "FAKE_ROCP=fail=flush_buffer:1", "FAKE_ROCP=fail=flush_buffer:2"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run r;
        run_rocm(&r, i & 1 ? OLD : NEW, scripts[i], NULL, LIST("20", "exit=3"));
        check_program(&r, 3);
        assert_non_null(r.report);
        assert_string_equal(text_at(r.report, "session.end_reason"), "exit");
        if (i == 0)
            check_contains(&r, message_of(&r, "trace_failed"), "no kernels are recorded");
        run_free(&r);
    }
}

/* A service that the library lacks is reported if the user asks for it, and not otherwise. */
TEST(options_that_the_library_lacks)
{
    static const char *const features[] = {"managed_memory", "graph_runs"};
    for (int asked = 0; asked < 2; asked++) {
        struct run r;
        run_rocm(&r, NEW, "FAKE_ROCP=",
                 asked ? LIST("--option", "managed_memory=true", "--option",
                              "cuda_graph_activity=launches")
                       : NULL,
                 LIST("20", "graphs=2"));
        check_counts(&r, "complete", 26, 2);
        char *messages = json_dumps(at(r.report, "messages"), 0);
        assert_int_equal(strstr(messages, "managed memory are not recorded: ") != NULL, asked);
        assert_int_equal(strstr(messages, "of graphs have no rows of their own: ") != NULL, asked);
        free(messages);
        for (size_t i = 0; asked && i < sizeof features / sizeof *features; i++)
            assert_string_equal(capability_of(&r, features[i], "status"), "unavailable");
        run_free(&r);
    }
}

/* A child of fork without exec has the library's state and no collector: it is silent, runs on, and
 * ends. It frees nothing of its parent's session, which a sanitizer is not to count. */
TEST(a_child_that_goes_on_is_silent)
{
    for (int i = 0; i < 3; i++) {
        struct run r;
        run_with(
            &r, i & 1 ? NEW : OLD, LIST("FAKE_ROCP=late=3", "LSAN_OPTIONS=detect_leaks=0", NULL),
            i < 2 ? NULL : LIST("-e", "RangeProfiler", "--ranges", "kernels"), LIST("20", "split"));
        check_program(&r, 0);
        assert_int_equal(json_array_size(at(r.report, "sessions")), 1);
        assert_int_equal(int_at(r.report, "kernels.count"), 20);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        run_free(&r);
    }
}

/* The tool is made once, and gives each session of the process what that session asks for. */
TEST(sessions_one_after_the_other)
{
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32];
    static const char *const engines[] = {"FAKE_ENGINE=PcSampling", "FAKE_ENGINE=RangeProfiler"};
    for (int rocm = OLD; rocm <= NEW; rocm++) {
        struct run r;
        char folder[16];
        snprintf(folder, sizeof folder, "fake/rocm/%d", rocm);
        snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
        snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file(folder));
        run_all(&r, &(struct run_setup){.env = LIST(library, sdk, "GPUFL_LOG_PATH=logs",
                                                    "GPUFL_BACKEND=Amd", engines[rocm == NEW],
                                                    "ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1"),
                                        .alone = true,
                                        .program = LIST("20", "copies=1", "sessions=3"),
                                        .binary = "fake/rocm/fake_hip_linked"});
        check_program(&r, 0);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        assert_int_equal(int_at(r.report, "ledger.copies_written"), 9);
        assert_int_equal(json_array_size(at(r.report, "sessions")), 3);
        for (int i = 0; i < 3; i++) {
            char key[32];
            snprintf(key, sizeof key, "sessions.%d.kernels", i);
            assert_int_equal(int_at(r.report, key), 20);
            snprintf(key, sizeof key, "sessions.%d.engine", i);
            assert_string_equal(text_at(r.report, key),
                                rocm == NEW ? "RangeProfiler" : "PcSampling");
        }
        assert_int_equal(int_at(r.report, "memory.allocations"), 1); /* the second session's */
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_calls_that_fail),
        cmocka_unit_test(calls_of_a_session_that_fail),
        cmocka_unit_test(options_that_the_library_lacks),
        cmocka_unit_test(a_child_that_goes_on_is_silent),
        cmocka_unit_test(sessions_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
