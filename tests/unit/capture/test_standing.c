/* For how long a collector has made no progress: steps are progress, waits for a core do not count,
 * and a driver or disk may hang. */
#include "capture/session/standing.h"
#include "tests/test.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct standing s;
static struct standing_thread threads[STANDING_THREADS]; /* what the kernel reports next */

static int setup(void **state)
{
    (void)state;
    s = (struct standing){.at = 1000 * MS, .step = 7};
    memset(threads, 0, sizeof threads);
    return 0;
}

/* Checks 250 ms after the last check; returns the time without progress in ms. */
static int64_t look(uint64_t step)
{
    return standing_look(&s, s.at + 250 * MS, step, threads) / MS;
}

static void say(int thread, bool ready, int64_t run_ms, int64_t delayed_ms)
{
    threads[thread] =
        (struct standing_thread){true, ready, {.run = run_ms * MS, .delayed = delayed_ms * MS}};
}

TEST(test_without_steps_it_stands_still)
{
    assert_int_equal(look(7), 250);
    assert_int_equal(look(7), 500);
    assert_int_equal(look(8), 0);
    assert_int_equal(look(8), 250);
}

/* Both threads sleep, because a driver or a disk does not return. */
TEST(test_a_sleep_is_a_standing_still)
{
    for (int i = 1; i <= 8; i++) {
        say(0, false, 10, 3);
        say(1, false, 20, 4);
        assert_int_equal(look(7), 250 * i);
    }
}

TEST(test_waits_of_either_thread_are_none)
{
    for (int thread = 0; thread < STANDING_THREADS; thread++) {
        setup(NULL);
        say(thread, false, 10, 0);
        assert_int_equal(look(7), 250); /* nothing is known of earlier waits */
        say(thread, false, 11, 200);
        assert_int_equal(look(7), 300);
        say(thread, false, 12, 450);
        assert_int_equal(look(7), 300);
    }
}

/* If two threads wait in turns, their waits add up, at most to the time that passed. */
TEST(test_waits_of_both_add_up)
{
    say(0, false, 10, 0);
    say(1, false, 10, 0);
    assert_int_equal(look(7), 250);
    say(0, false, 11, 100);
    say(1, false, 11, 140);
    assert_int_equal(look(7), 260);
    say(0, false, 12, 900);
    say(1, false, 12, 900);
    assert_int_equal(look(7), 260);
}

/* The kernel counts a wait when it ends. A thread that is ready and does not run waits. */
TEST(test_a_wait_that_is_not_over)
{
    say(1, true, 10, 0);
    assert_int_equal(look(7), 250);
    for (int i = 0; i < 20; i++) {
        say(1, true, 10, 0);
        assert_int_equal(look(7), 250);
    }
}

/* A driver that spins on a core makes no progress, however busy the core is. */
TEST(test_a_spin_is_a_standing_still)
{
    for (int i = 1; i <= 8; i++) {
        say(0, true, 250 * i, 0);
        assert_int_equal(look(7), 250 * i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_without_steps_it_stands_still, setup),
        cmocka_unit_test_setup(test_a_sleep_is_a_standing_still, setup),
        cmocka_unit_test_setup(test_waits_of_either_thread_are_none, setup),
        cmocka_unit_test_setup(test_waits_of_both_add_up, setup),
        cmocka_unit_test_setup(test_a_wait_that_is_not_over, setup),
        cmocka_unit_test_setup(test_a_spin_is_a_standing_still, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
