/* test_idle_near.c - launches without a thread and a stack: the captured launches
 * around them give both, if the session shows that this is valid. */
#include "analyze/model/idle/idle.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <string.h>

enum { LONG = 1, SUM = 2, MAIN = 1, OTHER = 2, READER = 3, ROWS = 100 };

/* ---- the rule ---------------------------------------------------------------------------- */

static struct idle_capture row(uint32_t correlation, uint32_t thread, bool sums)
{
    return (struct idle_capture){.start = 1000 * correlation,
                                 .correlation = correlation,
                                 .thread = thread,
                                 .stack = correlation,
                                 .sums = sums};
}

static void sort(struct idle_captured *c, struct idle_capture *rows, size_t count)
{
    *c = (struct idle_captured){.rows = rows, .count = count};
    assert_int_equal(idle_captured_sort(c), 0);
}

/* Launches between rows of one thread, and before the row of a thread that had been away. */
TEST(test_between)
{
    struct idle_capture rows[] = {row(10, MAIN, false), row(20, MAIN, true), row(30, OTHER, false),
                                  row(40, OTHER, true), row(50, MAIN, true), row(60, MAIN, true)};
    struct idle_captured c;
    sort(&c, rows, 6);
    assert_int_equal(idle_captured_around(&c, 15, 20000)->correlation, 20);
    assert_int_equal(idle_captured_around(&c, 25, 30000)->thread, MAIN);
    assert_int_equal(idle_captured_around(&c, 25, 30000)->correlation, 50);
    assert_int_equal(idle_captured_around(&c, 35, 40000)->thread, OTHER);
    assert_null(idle_captured_around(&c, 45, 50000)); /* either may have launched it */
    assert_int_equal(idle_captured_around(&c, 55, 60000)->thread, MAIN);
    assert_null(idle_captured_around(&c, 5, 10000));  /* before the first row */
    assert_null(idle_captured_around(&c, 65, 90000)); /* after the last one */
    assert_null(idle_captured_around(&c, 0, 90000));
    assert_null(idle_captured_around(&c, 25, 19999)); /* ids that began again */
    mem_free(c.order);
}

/* If the thread has no row after the launch, its last row before it counts. */
TEST(test_last)
{
    struct idle_capture rows[] = {row(2, MAIN, true), row(5, MAIN, true), row(10, MAIN, true),
                                  row(20, OTHER, false)};
    struct idle_captured c;
    sort(&c, rows, 4);
    assert_int_equal(c.tested, 2);
    assert_int_equal(idle_captured_around(&c, 15, 20000)->correlation, 10);
    mem_free(c.order);
}

/* If no row could test the rule, the rule names no thread. */
TEST(test_untested)
{
    struct idle_capture rows[] = {row(10, MAIN, true), row(20, MAIN, false)};
    struct idle_captured c;
    sort(&c, rows, 2);
    assert_int_equal(c.tested, 0);
    assert_null(idle_captured_around(&c, 15, 20000));
    mem_free(c.order);
}

/* Threads launch in turns: rows around a launch name the wrong thread, so no thread is named. */
TEST(test_by_turns)
{
    struct idle_capture rows[ROWS];
    struct idle_captured c;
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = row(10 + 10 * i, i == 20 || i == 40 ? OTHER : MAIN, true);
    sort(&c, rows, ROWS);
    /* without the neighbours of the two, which are between two threads */
    assert_int_equal(c.tested, 98 - 4);
    assert_int_equal(c.wrong, 2);
    assert_int_equal(idle_captured_around(&c, 95, 100000)->thread, MAIN);
    mem_free(c.order);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = row(10 + 10 * i, i % 10 == 5 ? OTHER : MAIN, true);
    sort(&c, rows, ROWS);
    assert_int_equal(c.wrong, 10);
    assert_true(c.wrong * 20 > c.tested);
    assert_null(idle_captured_around(&c, 95, 100000));
    mem_free(c.order);
}

/* ---- a session --------------------------------------------------------------------------- */

static void captured(struct program *p, int64_t why, int64_t thread, int64_t stack)
{
    program_capture(p, why, thread, stack);
    program_launch(p, (struct program_kernel){.ns = 2000, .thread = thread});
}

/* ns of a cause that have no line. */
static int64_t without_line(const struct model *m, enum idle_cause c)
{
    int64_t ns = 0;
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (l->cause == (uint32_t)c && !l->node)
            ns += l->exact + l->estimated;
    }
    return ns;
}

static struct idle_line with_line(const struct model *m, enum idle_cause c)
{
    struct idle_line sum = {0};
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (l->cause != (uint32_t)c || !l->node)
            continue;
        sum.exact += l->exact;
        sum.estimated += l->estimated;
        sum.looks += l->looks;
        sum.flags |= l->flags;
    }
    return sum;
}

/* Slow launches of the main thread. Another thread launches before and after, so that calls do not
 * show who launched; a third one runs Python, so that samples do not show it either. */
static void read_slow(struct model *m, bool by_turns)
{
    struct program p;
    program_init(&p, "near");
    int64_t step = program_python(&p, 0, "train.py", "step", 90),
            reader = program_python(&p, 0, "data.py", "read", 41),
            other = program_native(&p, 0, "/usr/lib/libtorch_cuda.so", 4096, NULL);
    captured(&p, LONG, OTHER, other);
    program_sync(&p, WAIT_STREAM, other, OTHER);
    captured(&p, LONG, MAIN, step);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 20; k++) {
            p.now = p.gpu > p.now ? p.gpu : p.now;
            if (k == 10) {
                program_look(&p, p.now + 10000, MAIN, step, IDLE_RUNNING);
                program_look(&p, p.now + 10000, READER, reader, IDLE_RUNNING);
            }
            program_work(&p, 30000);
            program_launch(&p, (struct program_kernel){.ns = 2000});
        }
        captured(&p, SUM, by_turns && i % 4 == 1 ? OTHER : MAIN,
                 by_turns && i % 4 == 1 ? other : step);
    }
    captured(&p, LONG, OTHER, other);
    program_sync(&p, WAIT_STREAM, other, OTHER);
    program_sync(&p, WAIT_STREAM, step, MAIN);
    program_end(&p);
    model_init(m, names);
    program_read(&p, m);
    rows_check_idle(m);
    program_fini(&p);
}

TEST(test_slow_launches_have_their_line)
{
    struct model m;
    read_slow(&m, false);
    struct idle_line slow = with_line(&m, IDLE_SLOW);
    assert_true(slow.estimated > 20000000); /* 800 gaps of about 30 us */
    assert_true(slow.looks > 30);
    assert_int_equal(without_line(&m, IDLE_SLOW), 0);
    model_fini(&m);
}

TEST(test_turns_stay_unknown)
{
    struct model m;
    read_slow(&m, true);
    assert_true(without_line(&m, IDLE_SLOW) > 10000000);
    model_fini(&m);
}

/* Work that had been queued has the launch that it belongs to, which need not have taken the
 * time. */
TEST(test_queued)
{
    struct program p;
    struct model m;
    program_init(&p, "queued");
    int64_t push = program_python(&p, 0, "queue.py", "push", 3);
    captured(&p, LONG, MAIN, push);
    for (int i = 0; i < 10; i++) {
        p.gpu += 50000; /* the work waits in the GPU */
        program_launch(&p, (struct program_kernel){.ns = 2000});
    }
    captured(&p, SUM, MAIN, push);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    rows_check_idle(&m);
    struct idle_line queued = with_line(&m, IDLE_QUEUED);
    assert_true(queued.estimated >= 400000);
    assert_int_equal(queued.flags, IDLE_ENDED_BY);
    assert_int_equal(without_line(&m, IDLE_QUEUED), 0);
    model_fini(&m);
    program_fini(&p);
}

/* A library's threads launch while one thread runs Python. Two gaps were ended by threads that
 * ended no other, and one of these gaps has no sample: they are divided with those of the thread
 * that launches most. */
TEST(test_few_of_runtime_threads)
{
    struct program p;
    struct model m;
    program_init(&p, "few");
    p.reported = true;
    int64_t native = program_native(&p, 0, "/usr/lib/xla.so", 64, NULL),
            loop = program_python(&p, 0, "train.py", "loop", 4);
    captured(&p, LONG, 5, native);
    for (int i = 0; i < 12; i++) {
        p.now = p.gpu;
        if (i < 11)
            program_look(&p, p.now + 300000, MAIN, loop, IDLE_BLOCKED);
        program_work(&p, 1000000);
        captured(&p, LONG, i < 10 ? 5 : i - 4, native);
    }
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    rows_check_idle(&m);
    struct idle_line line = {0};
    for (size_t i = 1; i < m.idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m.idle.lines.rows, i);
        if (l->cause == IDLE_LATE && l->looks)
            line = *l;
    }
    assert_int_equal(line.estimated, 12 * 1000000);
    assert_int_equal(line.looks, 11);
    assert_int_equal(line.flags, IDLE_INHERITED);
    assert_int_equal(line.launcher, IDLE_SEVERAL_THREADS);
    assert_int_equal(without_line(&m, IDLE_LATE), 0);
    model_fini(&m);
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_last),
        cmocka_unit_test(test_untested),
        cmocka_unit_test(test_by_turns),
        cmocka_unit_test(test_slow_launches_have_their_line),
        cmocka_unit_test(test_turns_stay_unknown),
        cmocka_unit_test(test_queued),
        cmocka_unit_test(test_few_of_runtime_threads),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
