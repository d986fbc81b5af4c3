/* test_insight_launch.c - storms of launches, late ones, and nothing to launch. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdlib.h>
#include <string.h>

static void storm(int kernels, int64_t ns, int64_t host, int64_t sync)
{
    int64_t name = program_name(&finder.p, "tiny");
    make_log_config(&finder.p.log, 1, name);
    for (int i = 0; i < kernels; i++) {
        program_launch(&finder.p, (struct program_kernel){.ns = ns, .config = 1});
        program_work(&finder.p, host);
        if (sync)
            program_sync(&finder.p, SYNC_STREAM, sync, 1);
    }
}

TEST(test_storm)
{
    finder_begin("storm");
    storm(4000, 2500, 5000, 0);
    finder_look();
    const struct insight *i = finder_find("launch_storm", "");
    assert_int_equal(finder_fact(i, "launches"), 4000);
    assert_true(i->gives_back > 3900 * 4000);
    finder_only("launch_storm", "");
    finder_end();
    finder_begin("few");
    storm(500, 2500, 5000, 0);
    finder_look();
    assert_null(finder_find("launch_storm", ""));
    finder_end();
    finder_begin("long kernels");
    storm(4000, 40000, 5000, 0);
    finder_look();
    finder_only("", "");
    finder_end();
    finder_begin("dense"); /* launches keep up */
    storm(4000, 9000, 1000, 0);
    finder_look();
    finder_only("", "");
    finder_end();
    finder_begin("synchronized"); /* the waits are to blame, not the launches */
    storm(4000, 2500, 0, finder_python("a.py", "f", 7));
    finder_look();
    assert_null(finder_find("launch_storm", ""));
    assert_non_null(finder_find("sync_line", "a.py:7"));
    finder_end();
}

TEST(test_late)
{
    finder_begin("late");
    finder_gaps(20, 3000000, 2000000);
    finder_look();
    const struct insight *i = finder_find("late_launch", "late.py:33");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "gaps"), 19);
    finder_only("late_launch", "");
    finder_end();
    finder_begin("a clock that jumps"); /* more idle than the run was long says nothing */
    finder_gaps(20, 3000000, 2000000);
    finder.p.now = finder.p.gpu = 10000000;
    finder_look();
    assert_null(finder_find("late_launch", ""));
    finder_end();
    finder_begin("in time");
    finder_gaps(20, 0, 2000000);
    finder_look();
    finder_only("", "");
    finder_end();
}

TEST(test_idle)
{
    finder_begin("idle");
    finder_gaps(5, 50000000, 2000000);
    finder_look();
    assert_non_null(finder_find("idle_cause", "late.py:33"));
    finder_only("idle_cause", "");
    finder_end();
    finder_begin("once"); /* a long start is no fault of what follows */
    program_work(&finder.p, 900000000);
    finder_gaps(5, 0, 2000000);
    finder_look();
    finder_only("", "");
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storm), cmocka_unit_test(test_late),
                                       cmocka_unit_test(test_idle)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
