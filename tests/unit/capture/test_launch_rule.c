/* test_launch_rule.c - which launches are captured, with simulated ticks: 1000 ticks are 1 us. */
#include "capture/threads/launch_rule.h"
#include "capture/threads/turns.h"
#include "tests/test.h"

#define US     1000ull
#define SECOND (1000000 * US)

static const struct launch_limits limits = {LAUNCH_AWAY_US * US, LAUNCH_WINDOW_US *US, SECOND};
static const uint64_t START = 77 * SECOND;

/* Returns the rule of a thread that has launched once, at START. */
static struct launch_rule begun(void)
{
    struct launch_rule r = {0};
    assert_false(launch_rule_quiet(&r, START));
    struct launch_verdict v = launch_rule_judge(&r, &limits, 1, START);
    assert_int_equal(v.why, LAUNCH_LONG);
    assert_true(v.own == LAUNCH_OWN_UNKNOWN);
    return r;
}

/* Does what the library does at a launch. */
static struct launch_verdict launch(struct launch_rule *r, uint64_t now)
{
    if (launch_rule_quiet(r, now))
        return (struct launch_verdict){.why = LAUNCH_QUIET};
    return launch_rule_judge(r, &limits, 1, now);
}

TEST(the_first_launch_has_no_own_time)
{
    struct launch_rule r = begun();
    assert_int_equal(launch(&r, START + 3 * US).why, LAUNCH_QUIET);
    assert_int_equal(r.sum, 3 * US); /* the time before the first launch is not in it */
}

TEST(a_long_stretch_is_captured_for_itself)
{
    struct launch_rule r = begun();
    assert_int_equal(launch(&r, START + 30 * US).why, LAUNCH_QUIET);
    uint64_t next = r.next, now = START + 30 * US;
    struct launch_verdict v = launch(&r, now += 100 * US - 1); /* one tick too short */
    assert_int_equal(v.why, LAUNCH_QUIET);
    v = launch(&r, now += 100 * US);
    assert_int_equal(v.why, LAUNCH_LONG);
    assert_int_equal(v.own, 100 * US);
    assert_int_equal(v.sum, 0);
    v = launch(&r, now += 3 * SECOND);
    assert_int_equal(v.why, LAUNCH_LONG);
    assert_int_equal(v.own, 3 * SECOND);
    assert_int_equal(r.sum, 130 * US - 1); /* the window stays open */
    assert_int_equal(r.next, next);
}

/* The launch at which the sum reaches the limit is captured with the whole sum. */
TEST(short_stretches_are_summed_up)
{
    enum { STEP = 40, WINDOWS = 200 };
    struct launch_rule r = begun();
    uint64_t now = START, sum = 0, next = r.next, total = 0;
    int captured = 0;
    for (int launches = 0; captured < WINDOWS; launches++) {
        struct launch_verdict v = launch(&r, now += STEP * US);
        sum += STEP * US;
        assert_int_equal(v.why, sum >= next ? LAUNCH_SUM : LAUNCH_QUIET);
        if (v.why == LAUNCH_QUIET)
            continue;
        assert_int_equal(v.own, STEP * US);
        assert_int_equal(v.sum, sum);
        assert_int_equal(r.sum, 0);
        total += sum;
        captured++;
        sum = 0;
        next = r.next;
    }
    assert_int_equal(total, now - START);                 /* nothing is left out */
    assert_in_range(total / WINDOWS, 480 * US, 560 * US); /* 500 us and what passes the limit */
}

/* Limits are random, between a half and three halves of 500 us. */
TEST(limits_are_random_within_their_bounds)
{
    enum { DRAWN = 4000, BINS = 10 };
    struct launch_rule r = begun();
    uint64_t now = START, before = 0, bins[BINS] = {0};
    for (int i = 0; i < DRAWN; i++) {
        assert_in_range(r.next, 250 * US, 750 * US - 1);
        assert_true(r.next != before);
        before = r.next;
        bins[(r.next - 250 * US) / (50 * US)]++;
        while (launch(&r, now += 99 * US).why != LAUNCH_SUM)
            ;
    }
    for (int i = 0; i < BINS; i++)
        assert_in_range(bins[i], DRAWN / BINS * 8 / 10, DRAWN / BINS * 12 / 10);
}

/* The time of a wait is not the program's, and the end of a wait is no launch. */
TEST(a_wait_ends_the_stretch)
{
    struct launch_rule r = begun();
    uint64_t now = START + 10 * US;
    assert_int_equal(launch(&r, now).why, LAUNCH_QUIET);
    launch_rule_left(&r, now += 50 * SECOND);
    assert_int_equal(launch(&r, now += 4 * US).why, LAUNCH_QUIET);
    assert_int_equal(r.sum, 14 * US);
    launch_rule_left(&r, now += SECOND);
    struct launch_verdict v = launch(&r, now += 250 * US);
    assert_int_equal(v.why, LAUNCH_LONG);
    assert_int_equal(v.own, 250 * US);
}

/* Between two windows of capture no launches are seen. */
TEST(a_new_stretch_of_capture_begins_like_a_thread)
{
    struct launch_rule r = begun();
    assert_int_equal(launch(&r, START + 90 * US).why, LAUNCH_QUIET);
    launch_rule_left(&r, START + SECOND); /* an earlier wait changes nothing */
    struct launch_verdict v = launch_rule_judge(&r, &limits, 2, START + SECOND + US);
    assert_int_equal(v.why, LAUNCH_LONG);
    assert_true(v.own == LAUNCH_OWN_UNKNOWN);
    assert_int_equal(r.sum, 0);
    v = launch_rule_judge(&r, &limits, 2, START + SECOND + 2 * US);
    assert_int_equal(v.why, LAUNCH_QUIET);
    assert_int_equal(v.own, US);
}

/* The counter of another core may lag a little. */
TEST(a_tick_that_goes_back_is_no_time)
{
    struct launch_rule r = begun();
    assert_int_equal(launch(&r, START - 5).why, LAUNCH_QUIET);
    assert_int_equal(r.sum, 0);
    assert_int_equal(launch(&r, START + 7).why, LAUNCH_QUIET);
    assert_int_equal(r.sum, 12);
    launch_rule_spent(&r, &limits, START + 9, START + 8, 0);
    assert_int_equal(r.spent, 0);
}

static void expect_level(const struct launch_rule *r, uint32_t doublings)
{
    assert_int_equal(r->doublings, doublings);
    assert_int_equal(r->away, limits.away << doublings);
    assert_in_range(r->next, limits.window << doublings >> 1,
                    (limits.window * 3 << doublings >> 1) - 1);
}

/* Captures may take one part in 333 of a second; one tick more doubles the limits, before the
 * second is over. */
TEST(limits_double_where_captures_take_too_much)
{
    struct launch_rule r = begun();
    uint64_t now = START + SECOND / 2;
    launch_rule_spent(&r, &limits, now - SECOND / LAUNCH_MOST, now, 0);
    expect_level(&r, 0);
    launch_rule_spent(&r, &limits, now, now + 1, 0);
    expect_level(&r, 1);
    assert_int_equal(r.left, now + 1); /* a capture is not the program's time */
    assert_int_equal(launch(&r, now + 1 + 200 * US).why, LAUNCH_LONG);
    assert_int_not_equal(launch(&r, now + 1 + 399 * US).why, LAUNCH_LONG);
    for (uint32_t i = 2; i < LAUNCH_LEVELS + 3; i++) {
        now += SECOND / 10;
        launch_rule_spent(&r, &limits, now - SECOND / 50, now, 0);
        expect_level(&r, i < LAUNCH_LEVELS ? i : LAUNCH_LEVELS);
    }
}

TEST(limits_come_back_where_captures_take_little)
{
    struct launch_rule r = begun();
    uint64_t now = START;
    for (int i = 0; i < 3; i++) {
        now += SECOND / 10;
        launch_rule_spent(&r, &limits, now - SECOND / 50, now, 0);
    }
    expect_level(&r, 3);
    uint64_t since = now;
    launch_rule_spent(&r, &limits, since + SECOND - SECOND / LAUNCH_FEW, since + SECOND, 0);
    expect_level(&r, 3);
    since += SECOND;
    launch_rule_spent(&r, &limits, since + SECOND - 1, since + SECOND - 1,
                      0); /* less than a second */
    expect_level(&r, 3);
    launch_rule_spent(&r, &limits, since + SECOND - SECOND / LAUNCH_FEW + 1, since + SECOND, 0);
    expect_level(&r, 2);
    since += SECOND;
    launch_rule_spent(&r, &limits, since + 5 * SECOND, since + 5 * SECOND,
                      0); /* one doubling for each second */
    expect_level(&r, 0);
}

/* If no launch was captured for longer than a second, the share is of the time that passed. */
TEST(the_share_is_of_the_time_that_passed)
{
    struct launch_rule r = begun();
    uint64_t now = START + 4 * SECOND;
    launch_rule_spent(&r, &limits, now - 4 * SECOND / LAUNCH_MOST, now,
                      0); /* the share of four seconds */
    expect_level(&r, 0);
    now += 4 * SECOND;
    launch_rule_spent(&r, &limits, now - 4 * SECOND / LAUNCH_MOST - 1, now, 0);
    expect_level(&r, 1);
}

/* A thread that works half of each second, since another one works the rest, has half the share. */
TEST(the_share_is_of_the_thread_s_part)
{
    struct launch_rule r = begun();
    uint64_t now = START + SECOND / 2;
    launch_rule_spent(&r, &limits, now - SECOND / 2 / LAUNCH_MOST, now, TURN_WHOLE / 2);
    expect_level(&r, 0);
    launch_rule_spent(&r, &limits, now, now + 1, TURN_WHOLE / 2);
    expect_level(&r, 1);
    now += 1 + SECOND; /* enough to halve the limits of a whole second */
    launch_rule_spent(&r, &limits, now - SECOND / LAUNCH_FEW + 1, now, TURN_WHOLE / 2);
    expect_level(&r, 1);
    now += SECOND;
    launch_rule_spent(&r, &limits, now - SECOND / 2 / LAUNCH_FEW + 1, now, TURN_WHOLE / 2);
    expect_level(&r, 0);
}

/* The doublings of a thread stay from window to window. */
TEST(doublings_outlive_a_window)
{
    struct launch_rule r = begun();
    uint64_t now = START + SECOND / 10;
    launch_rule_spent(&r, &limits, now - SECOND / 50, now, 0);
    (void)launch_rule_judge(&r, &limits, 2, now + SECOND);
    expect_level(&r, 1);
}

/* The time between two windows does not count for the share. */
TEST(the_share_goes_on_in_the_next_window)
{
    struct launch_rule r = begun();
    uint64_t now = START + SECOND / 2;
    launch_rule_spent(&r, &limits, now - SECOND / LAUNCH_MOST, now, 0);
    now += 100 * SECOND;
    (void)launch_rule_judge(&r, &limits, 2, now);
    now += SECOND / 4;
    launch_rule_spent(&r, &limits, now, now, 0); /* exactly the share of 3/4 s */
    expect_level(&r, 0);
    launch_rule_spent(&r, &limits, now, now + 1, 0);
    expect_level(&r, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_launch_has_no_own_time),
        cmocka_unit_test(a_long_stretch_is_captured_for_itself),
        cmocka_unit_test(short_stretches_are_summed_up),
        cmocka_unit_test(limits_are_random_within_their_bounds),
        cmocka_unit_test(a_wait_ends_the_stretch),
        cmocka_unit_test(a_new_stretch_of_capture_begins_like_a_thread),
        cmocka_unit_test(a_tick_that_goes_back_is_no_time),
        cmocka_unit_test(limits_double_where_captures_take_too_much),
        cmocka_unit_test(limits_come_back_where_captures_take_little),
        cmocka_unit_test(the_share_is_of_the_time_that_passed),
        cmocka_unit_test(the_share_is_of_the_thread_s_part),
        cmocka_unit_test(doublings_outlive_a_window),
        cmocka_unit_test(the_share_goes_on_in_the_next_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
