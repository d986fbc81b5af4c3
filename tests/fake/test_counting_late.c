/* test_counting_late.c - tests counting of instructions that is to begin while a thread is inside a
 * launch: counting is not switched on during the launch, kernels count from a later launch on, and
 * the session says what is missing. The launch stays inside until the program lets it return.
 */
#include "tests/fake/window_run.h"
#include "tests/test.h"

/* Counts of a kernel that was launched so often. */
static int64_t counts_of(int64_t launches)
{
    return launches * WARPS * INSTRUCTIONS;
}

static void run_in_launch(struct run *r, const char *how, const char *script)
{
    run_all(r, &(struct run_setup){.binary = "fake/fake_in_launch",
                                   .env = LIST(script),
                                   .options = LIST("-e", "SassMetrics"),
                                   .program = LIST(how)});
    check_program(r, 0);
    assert_non_null(r->report);
}

/* A context that is too young is counted from the first launch of a thread on: the launch that
 * stays inside finds the context too young as well. */
TEST(a_context_counts_when_the_launch_has_returned)
{
    static const struct {
        const char *how, *script;
    } cases[] = {
        {"created", "FAKE_CUPTI="},
        {"young", "FAKE_CUPTI=fail=cuptiSassMetricsEnable:2:3,fail=cuptiSassMetricsEnable:3:3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        print_message("%s\n", cases[i].how);
        run_in_launch(&r, cases[i].how, cases[i].script);
        assert_int_equal(window_counts(&r, "first"), counts_of(1));
        assert_int_equal(window_counts(&r, "held"), counts_of(1));
        assert_int_equal(window_counts(&r, "early"), 0);
        assert_int_equal(window_counts(&r, "late"), counts_of(int_at(r.said, "0.late")));
        check_contains(&r, message_of(&r, "sass_metrics.late"),
                       "since launches of other threads did not return");
        assert_int_equal(int_at(r.report, "ledger.metrics_lost"), 1); /* one context */
        assert_string_equal(capability_of(&r, "sass_metrics", "status"), "partial");
        run_free(&r);
    }
}

/* The process ends with the thread inside: the context has never counted. */
TEST(a_launch_that_does_not_return)
{
    struct run r;
    run_in_launch(&r, "never", "FAKE_CUPTI=");
    assert_int_equal(window_counts(&r, "first"), counts_of(1));
    assert_int_equal(window_counts(&r, "early"), 0);
    check_contains(&r, message_of(&r, "sass_metrics.late"), "or never");
    assert_in_range(int_at(r.report, "ledger.metrics_lost"), 1, INT64_MAX);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_counts_when_the_launch_has_returned),
        cmocka_unit_test(a_launch_that_does_not_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
