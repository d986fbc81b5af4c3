/* test_turns.c - tests engine PcSampling in turns with kernel records, and Deep if it cannot count,
 * over the fake library: launches without a record are not counted, and a refusal is reported and
 * has no other effect. */
#include "tests/fake/pc_run.h"
#include "tests/test.h"

#include <string.h>

enum { EXIT_CODE = 5 };

#define TURNS(every, length)                                                                       \
    LIST("-e", "PcSampling", "--pc-kernels", "windows", "--option", "pc_window_every_ms=" #every,  \
         "--option", "pc_window_for_ms=" #length)

/* Launches between the waits of the line that waits again and again. It need not be the first one
 * of the report: on a busy machine a thread that waits once may wait longer. */
static json_t *between_waits(const struct run *r)
{
    size_t i;
    json_t *line, *found = NULL;
    json_array_foreach(at(r->report, "synchronization_lines.lines"), i, line)
    {
        json_t *between = at(line, "launches_between.synchronizations");
        if (!found || int_at(between, "pairs") > int_at(found, "pairs"))
            found = between;
    }
    assert_non_null(found);
    return found;
}

/* Samples cover all the time between windows, kernels all the time in windows; no launch is counted
 * that could not be recorded. */
TEST(takes_turns)
{
    struct run r;
    struct pc_given g = pc_run(&r, "FAKE_CUPTI=",
                               (struct run_setup){.options = TURNS(60, 20),
                                                  .program = LIST("50", "threads=2", "ms=1000")});
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    int64_t opened = int_at(r.report, "windows.kernels_opened");
    int64_t recorded = int_at(r.report, "ledger.kernels_recorded");
    assert_in_range(opened, 3, 1000 / 80 + 1);
    assert_int_equal(int_at(r.report, "windows.opened"), 0);
    assert_true(int_at(r.report, "windows.kernels_recorded_ns") >= opened * 10000000);
    assert_true(int_at(r.report, "windows.kernels_recorded_ns") <
                int_at(r.report, "session.duration_ns") / 2);
    assert_true(recorded > 0 && recorded < int_at(r.said, "0.launches"));
    assert_int_equal(int_at(r.report, "ledger.launches"), recorded);
    assert_int_equal(int_at(r.report, "kernels.count"), recorded);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_string_equal(capability_of(&r, "kernels", "status"), "collected");
    assert_string_equal(capability_of(&r, "pc_sampling", "status"), "collected");
    pc_check_setting(&r, "ran_as", "PcSampling");
    assert_int_equal(pc_settings_named(&r, "period_cycles"), 1);
    /* Waits cover the whole run, and so do the launches between them. */
    json_t *between = between_waits(&r);
    assert_int_equal(int_at(between, "min"), 50);
    assert_int_equal(int_at(between, "median"), 50);
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
}

/* Another thread goes on launching: it waits while the engines are switched, or they are not
 * switched. */
TEST(takes_turns_with_a_thread)
{
    struct run r;
    struct pc_given g =
        pc_run(&r, "FAKE_CUPTI=",
               (struct run_setup){.options = TURNS(50, 20),
                                  .program = LIST("20", "ms=900", "other-thread", "sampled"),
                                  .linked = true});
    check_program(&r, 0);
    /* That thread goes on launching after the last drain of the session. */
    int64_t samples = int_at(r.report, "ledger.samples_recorded");
    assert_in_range(samples, g.samples - g.samples / 20, g.samples);
    assert_true(int_at(r.report, "windows.kernels_opened") > 0);
    /* That thread may be inside one launch when the last window ends: then its record is taken or
     * not, and so is its count, because only launches that return in the window count. */
    int64_t recorded = int_at(r.report, "ledger.kernels_recorded");
    assert_in_range(int_at(r.report, "ledger.launches") - recorded + 1, 0, 2);
    run_free(&r);
}

TEST(takes_turns_of_contexts)
{
    struct run r;
    struct pc_given g = pc_run(&r, "FAKE_CUPTI=",
                               (struct run_setup){.options = TURNS(5, 5),
                                                  .program = LIST("40", "contexts=40", "graphs=4",
                                                                  "modules=4", "ms=300")});
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    assert_true(int_at(r.report, "windows.kernels_opened") > 0);
    run_free(&r);
}

/* A refusal of CUPTI's ends the turns, and is reported; the program goes on. */
TEST(turns_end_where_they_fail)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"FAKE_CUPTI=fail=cuptiPCSamplingDisable:1:999", "did not end sampling"},
        {"FAKE_CUPTI=fail=cuptiPCSamplingEnable:2:999", "every kernel is recorded from here on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        pc_run(&r, cases[i].script,
               (struct run_setup){.options = TURNS(40, 20), .program = LIST("50", "ms=500")});
        check_program(&r, 0);
        check_contains(&r, message_of(&r, "pc_sampling.turns"), cases[i].says);
        if (i)
            assert_true(int_at(r.report, "windows.kernels_recorded_ns") > 200000000);
        run_free(&r);
    }
}

/* If nothing can be sampled, every kernel is recorded. */
TEST(turns_without_samples)
{
    for (int i = 0; i < PC_REFUSALS; i++) {
        struct run r;
        pc_run(&r, pc_refusals[i].script,
               (struct run_setup){.options = TURNS(40, 20),
                                  .program = LIST("50", "contexts=2", "ms=300")});
        check_refused(&r, &pc_refusals[i], 0);
        check_contains(&r, message_of(&r, "pc_sampling.turns"), "every kernel is recorded");
        assert_int_equal(int_at(r.report, "ledger.launches"), int_at(r.said, "0.launches"));
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        run_free(&r);
    }
}

/* Kernel records that an earlier session enabled cannot be switched off after a window, whether
 * sampling goes on since then or could not begin. */
TEST(turns_after_a_session)
{
    static const struct {
        const char *script, *first; /* what the first session collects */
    } cases[] = {
        {"FAKE_CUPTI=fail=cuptiPCSamplingEnable:1:999", "GPUFL_PC_KERNEL_COLLECT=windows"},
        {"FAKE_CUPTI=fail=cuptiPCSamplingEnable:1:999", "GPUFL_PC_KERNEL_COLLECT=none"},
        {"FAKE_CUPTI=", "GPUFL_PC_KERNEL_COLLECT=all"},
        {"FAKE_CUPTI=", "GPUFL_PC_KERNEL_COLLECT=none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        print_message("%s %s\n", cases[i].script, cases[i].first);
        run_all(&r, &(struct run_setup){
                        .env = LIST("GPUFL_LOG_PATH=logs", cases[i].script, cases[i].first,
                                    "GPUFL_PC_WINDOW_EVERY_MS=20", "GPUFL_PC_WINDOW_FOR_MS=10"),
                        .linked = true,
                        .alone = true,
                        .program = LIST("50", "sampled", "sessions=2", "ms=300", "windows-then")});
        check_program(&r, 0);
        assert_non_null(r.report);
        assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
        assert_true(int_at(r.report, "ledger.samples_recorded") > 0);
        json_t *recorded = at(r.report, "ledger.kernels_recorded"); /* null: a session had none */
        assert_true(json_integer_value(recorded) <= int_at(r.report, "ledger.launches"));
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        run_free(&r);
    }
}

/* If nothing can be counted, Deep samples to the end, before and after the switch that failed;
 * kernels of half a session are not recorded. */
TEST(deep_without_counts)
{
    static const struct engine_case cases[] = {
        {"Deep", "sass_metrics", .script = "FAKE_CUPTI=fail=cuptiProfilerInitialize:0:35",
         .sentence = "NVreg_RestrictProfilingToAdminUsers=0", .instead = "PcSampling"},
        {"Deep", "sass_metrics", .script = "FAKE_CUPTI=sass-old",
         .sentence = "compute capability 7.0", .instead = "PcSampling"},
        {"Deep", "sass_metrics", .script = "FAKE_CUPTI=fail=cuptiSassMetricsEnable:0:26",
         .sentence = "another process or tool holds", .instead = "PcSampling"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        struct pc_given g = pc_run(
            &r, cases[i].script,
            (struct run_setup){.options = LIST("-e", "Deep", "--option", "deep_sample_ms=100"),
                               .program = LIST("200", "threads=2", "ms=800", "exit=5")});
        check_instead(&r, &cases[i], EXIT_CODE);
        pc_check_samples(&r, &g);
        assert_int_equal(pc_settings_named(&r, "enable_us"), 1);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        assert_true(unknown_at(r.report, "kernels.count"));
        assert_non_null(message_of(&r, "deep.sampled_only"));
        assert_null(strstr(message_of(&r, "deep.sampled_only"), "-e SassMetrics"));
        assert_null(message_of(&r, "deep.phases"));
        assert_null(message_of(&r, "sass_metrics.nothing"));
        run_free(&r);
    }
}

TEST(turns_that_cannot_be)
{
    struct run r;
    struct pc_given g = pc_sample(&r, "FAKE_CUPTI=", "pc_kernel_collect=windows", LIST("500"));
    check_program(&r, 0);
    pc_check_samples(&r, &g);
    check_contains(&r, message_of(&r, "pc_sampling.no_window"), "pc_window_every_ms");
    assert_true(unknown_at(r.report, "kernels.count"));
    run_free(&r);
    run_all(&r, &(struct run_setup){.options = LIST("-e", "PcSampling", "--pc-kernels", "windows",
                                                    "--after", "10ms"),
                                    .program = LIST("500", "ms=100")});
    check_program(&r, 0);
    check_contains(&r, message_of(&r, "pc_sampling.no_turns"), "without windows of capture");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_turns),
        cmocka_unit_test(takes_turns_with_a_thread),
        cmocka_unit_test(takes_turns_of_contexts),
        cmocka_unit_test(turns_end_where_they_fail),
        cmocka_unit_test(turns_without_samples),
        cmocka_unit_test(turns_after_a_session),
        cmocka_unit_test(deep_without_counts),
        cmocka_unit_test(turns_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, pc_remove_claim);
}
