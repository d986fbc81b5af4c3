/* test_uncounted.c - engine RangeProfiler names every scope that it did not count, with the reason,
 * and counts by reason those whose names have no line. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *setting(const struct run *r, const char *name, int nth)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name) && nth-- == 0)
            return text_at(row, "value");
    }
    return NULL;
}

/* Returns true if a scope has counters. */
static bool is_counted(const struct run *r, const char *scope)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        const char *of = json_string_value(json_object_get(row, "scope"));
        if (of && !strcmp(of, scope))
            return true;
    }
    return false;
}

/* Each reason is reported with the scope's name, with its number, and in a message. */
TEST(reasons_for_none)
{
    static const struct {
        const char *way, *setting, *why;
        const char *env[4];
    } cases[] = {
        {"no-context", "uncounted_no_context", "begun while no CUDA context was current", {NULL}},
        {"other-thread",
         "uncounted_other_thread",
         "begun while one of another thread was counted",
         {NULL}},
        {"capturing",
         "uncounted_capturing",
         "begun while a stream was captured into a graph",
         {NULL}},
        {"inside",
         "uncounted_inside",
         "inside another scope that is counted",
         {"GPUFL_WINDOWS=1", "GPUFL_WINDOW_SCOPE=here"}},
        {"no-window", "uncounted_no_window", "outside of windows of capture", {"GPUFL_WINDOWS=1"}},
        {"window",
         "uncounted_window",
         "a window of capture opened or closed meanwhile",
         {"GPUFL_WINDOWS=1"}},
        {"alone",
         "uncounted_failed",
         "the counters could not be read: see the messages",
         {"FAKE_CUPTI=fail=cuptiRangeProfilerPushRange:1:999"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        char says[128];
        const char *env[7] = {"GPUFL_RANGE_MODE=scopes", "GPUFL_COUNTER_METRICS=sm__a.sum",
                              "GPUFL_LOG_PATH=logs"};
        memcpy(&env[3], cases[i].env, sizeof cases[i].env);
        print_message("%s\n", cases[i].way);
        run_all(&r, &(struct run_setup){.env = env,
                                        .alone = true,
                                        .program = LIST(cases[i].way),
                                        .binary = "fake/fake_uncounted"});
        check_program(&r, 0);
        snprintf(says, sizeof says, "here: 1, %s", cases[i].why);
        assert_string_equal(setting(&r, cases[i].setting, 0), "1");
        assert_string_equal(setting(&r, "uncounted_scope", 0), says);
        assert_null(setting(&r, "uncounted_scope", 1));
        check_contains(&r, message_of(&r, "range_profiler.uncounted_scopes"), says);
        assert_false(is_counted(&r, "here"));
        run_free(&r);
    }
}

/* More names of scopes than have a line: the first 1024 are named, the scopes of the others are
 * counted by their reason, in settings, in the message and in the report's text. */
TEST(more_scopes_than_are_named)
{
    enum { NAMES = 1100, TIMES = 2, NAMED = 1024 };
    static const char *const env[] = {"GPUFL_RANGE_MODE=scopes", "GPUFL_COUNTER_METRICS=sm__a.sum",
                                      "GPUFL_LOG_PATH=logs", NULL};
    struct run r;
    bool seen[NAMES] = {false};
    char left[80], said[160];
    const char *text;
    int named = 0;
    run_all(&r, &(struct run_setup){.env = env,
                                    .alone = true,
                                    .program = LIST("many"),
                                    .binary = "fake/fake_uncounted"});
    check_program(&r, 0);
    for (; (text = setting(&r, "uncounted_scope", named)); named++) {
        int number = 0, count = 0, len = 0;
        assert_int_equal(sscanf(text, "step %d: %d%n", &number, &count, &len), 2);
        assert_string_equal(text + len, ", inside another scope");
        assert_int_equal(count, TIMES);
        assert_in_range(number, 0, NAMES - 1);
        assert_false(seen[number]);
        seen[number] = true;
    }
    assert_int_equal(named, NAMED);
    snprintf(left, sizeof left, "%d, inside another scope", TIMES * (NAMES - NAMED));
    assert_string_equal(setting(&r, "uncounted_unnamed", 0), left);
    assert_null(setting(&r, "uncounted_unnamed", 1));
    assert_int_equal(int_at(r.report, "settings_more"), 0);
    snprintf(said, sizeof said, "; and %d scopes that are not named, since %d names have a line",
             TIMES * (NAMES - NAMED), NAMED);
    check_contains(&r, message_of(&r, "range_profiler.uncounted_scopes"), said);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_for_none),
        cmocka_unit_test(more_scopes_than_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
