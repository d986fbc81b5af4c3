/* test_samples.c - tests when threads are sampled, and the meaning of the kernel's data about them:
 * exact values. tests/idle tests the sampling thread itself. */
#include "tests/test.h"

#include "capture/samples/rate.h"
#include "capture/samples/state.h"

#include <stdio.h>
#include <string.h>

enum { MS = 1000000 };
#define SECOND 1000000000ll

/* ---- rate ------------------------------------------------------------------------------------ */

TEST(test_one_look_in_each_cell)
{
    struct rate r;
    int64_t sum = 0;
    rate_begin(&r, 200, 7 * SECOND, 0, 1);
    for (int i = 0; i < 10000; i++) {
        int64_t begin = 7 * SECOND + i * 5ll * MS, due = rate_next(&r, begin);
        assert_true(due >= begin && due < begin + 5 * MS);
        sum += due - begin;
    }
    assert_true(sum / 10000 > 24 * MS / 10 && sum / 10000 < 26 * MS / 10); /* 2.5 ms on average */
}

TEST(test_places_are_even)
{
    int places[10] = {0};
    struct rate r;
    rate_begin(&r, 1000, 0, 0, 42);
    for (int64_t i = 0; i < 10000; i++)
        places[(rate_next(&r, i * MS) - i * MS) * 10 / MS]++;
    for (int i = 0; i < 10; i++)
        assert_true(places[i] > 850 && places[i] < 1150);
}

TEST(test_cells_that_passed_are_left_out)
{
    struct rate r;
    rate_begin(&r, 200, 0, 0, 1);
    int64_t due = rate_next(&r, 0);
    assert_true(due < 5 * MS);
    due = rate_next(&r, 9 * MS); /* late, but within the next cell */
    assert_true(due >= 5 * MS && due < 10 * MS);
    due = rate_next(&r, 52 * MS); /* the cells until 50 have passed, 50 to 55 has begun */
    assert_true(due >= 55 * MS && due < 60 * MS);
    due = rate_next(&r, 57 * MS);
    assert_true(due >= 60 * MS && due < 65 * MS); /* on the same grid */
}

TEST(test_rate_follows_the_cost)
{
    struct rate r;
    rate_begin(&r, 200, 0, 0, 1);
    assert_false(rate_measure(&r, SECOND - 1, 9 * MS)); /* once a second */
    assert_false(rate_measure(&r, SECOND, 9 * MS));     /* 0.9 % */
    assert_true(rate_measure(&r, 2 * SECOND, 27 * MS)); /* 1.8 %, 9 ms too much in all */
    assert_int_equal(r.cell, 10 * MS);                  /* at most twice as long */
    assert_true(rate_measure(&r, 3 * SECOND, 36 * MS)); /* 0.9 %, where 0.6 is aimed at */
    assert_int_equal(r.cell, 15 * MS);
    assert_false(rate_measure(&r, 4 * SECOND, 42 * MS)); /* 0.6 %; 6 ms too much */
    assert_true(rate_measure(&r, 5 * SECOND, 45 * MS));  /* 0.3 %; nothing too much */
    assert_int_equal(r.cell, 75 * MS / 10);              /* at most twice as fast */
    assert_true(rate_measure(&r, 6 * SECOND, 48 * MS));
    assert_int_equal(r.cell, 5 * MS);
    assert_false(rate_measure(&r, 7 * SECOND, 48 * MS)); /* not above the rate asked for */
    assert_int_equal(r.cell, 5 * MS);
}

/* 64 threads with deep stacks: 10 % of a core. */
TEST(test_rate_falls_at_once)
{
    struct rate r;
    rate_begin(&r, 200, 0, 0, 1);
    assert_false(rate_measure(&r, 19 * MS, 1900000));
    assert_true(rate_measure(&r, 20 * MS, 2 * MS));
    assert_int_equal(r.cell, 10 * MS);
    assert_false(rate_measure(&r, 59 * MS, 3900000));
    assert_true(rate_measure(&r, 60 * MS, 4 * MS));
    assert_int_equal(r.cell, 20 * MS);
}

/* Looks that cost 50 us to 1 ms each cost at most 1.01 % of a core in 3 s. */
TEST(test_a_short_session_costs_no_more)
{
    for (int64_t us = 50; us <= 1000; us += 50) {
        struct rate r;
        int64_t now = 0, cpu = 0;
        rate_begin(&r, 100, 0, 0, (uint64_t)us);
        while (now < 3 * SECOND) {
            int64_t due = rate_next(&r, now);
            now = due > now ? due : now;
            cpu += us * 1000;
            rate_measure(&r, now, cpu);
        }
        assert_true(cpu * 1000 <= now * 10 + now / 10);
        assert_true(us > 90 || r.cell == 10 * MS); /* 0.9 %: the rate asked for */
    }
}

TEST(test_rate_has_a_floor)
{
    struct rate r;
    rate_begin(&r, 200, 0, 0, 1);
    int64_t i = 1;
    for (; rate_measure(&r, i * SECOND, i * SECOND / 2); i++)
        continue;
    assert_int_equal(i, 7); /* 6 halvings: a 64th */
    assert_int_equal(r.cell, 64 * 5 * MS);
}

/* After a change of the rate the next, longer cell follows the one before; none is skipped. */
TEST(test_grid_after_a_change)
{
    struct rate r;
    rate_begin(&r, 200, 0, 0, 1);
    (void)rate_next(&r, 0);
    assert_true(rate_measure(&r, SECOND, SECOND));
    r.begin = SECOND;
    int64_t due = rate_next(&r, SECOND);
    assert_true(due >= SECOND + 10 * MS && due < SECOND + 20 * MS);
}

/* ---- words of the kernel --------------------------------------------------------------------- */

static enum call_said said(const char *text, struct call_at *at)
{
    return state_call(text, strlen(text), at);
}

TEST(test_calls)
{
    struct call_at at = {.number = -7};
    char longer[400];
    assert_int_equal(said("running\n", &at), CALL_NONE);
    assert_int_equal(at.number, -7); /* set only if the thread is blocked */
    assert_int_equal(said("-1 0x7ffd0 0x55d0\n", &at), CALL_FAULT);
    assert_int_equal(at.number, -1);
    assert_int_equal(at.sp, 0x7ffd0);
    assert_int_equal(at.pc, 0x55d0);
    assert_int_equal(said("-1 0x0 0x0\n", &at), CALL_ENDED);
    assert_int_equal(said("0 0x3 0x7ff 0x1 0x0 0x0 0x0 0x7ffe 0x7f12\n", &at), CALL_BLOCKED);
    assert_int_equal(at.number, 0);
    assert_int_equal(at.first, 3);
    assert_int_equal(at.sp, 0x7ffe);
    assert_int_equal(at.pc, 0x7f12);
    assert_int_equal(said("202 0xffffffffffffffff 0x80 0x0 0x0 0x0 0x0 0x7ffe 0x7f12\n", &at),
                     CALL_BLOCKED);
    assert_int_equal(at.number, 202);
    assert_int_equal(said("35 0x3\n", &at), CALL_BLOCKED); /* not where: the rest is missing */
    assert_int_equal(at.sp, 0);
    assert_int_equal(at.pc, 0);
    static const char futex[] = "202 0x7f10aa 0x189 0x0 0x0 0x0 0x0 0x7ffe 0x7f12\n";
    assert_int_equal(state_call(futex, sizeof futex - 1, &at), CALL_BLOCKED);
    assert_int_equal(at.first, 0x7f10aa);
    static const char *const nothing[] = {"", "run", "running", "0", "-1", "-1 0x0", "x 0x1", "\n"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        assert_int_equal(said(nothing[i], &at), CALL_UNREADABLE);
    memset(longer, '1', sizeof longer);
    assert_int_equal(state_call(longer, sizeof longer, &at), CALL_UNREADABLE);
}

TEST(test_schedstat)
{
    struct sched_said said;
    assert_true(state_schedstat("1234567 89 10\n", 14, &said));
    assert_int_equal(said.run, 1234567);
    assert_int_equal(said.delayed, 89);
    assert_int_equal(said.times, 10);
    assert_false(state_schedstat("0 0 0\n", 6, &said)); /* the kernel does not count */
    assert_false(state_schedstat("", 0, &said));
    assert_false(state_schedstat("12 3\n", 5, &said));
}

/* ---- on a core or not ------------------------------------------------------------------------ */

enum { AHEAD = 900 };

/* A sample at `at`, 20 us after the sampler woke. goes_on: the clock is ahead of schedstat. */
static struct run_look look(int64_t at, int64_t run, bool goes_on, int64_t delayed)
{
    struct run_look l = {.woke = at - 20000,
                         .at = at,
                         .counted = true,
                         .first = {run, delayed, 3},
                         .clock_at = at + 2000,
                         .clock = run + (goes_on ? AHEAD : 0)};
    l.last = l.first;
    return l;
}

TEST(test_clock_goes_on)
{
    struct run_track t = {0};
    struct run_look l = look(5 * MS, 3 * MS, true, 0);
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    assert_true(t.known);
    assert_int_equal(t.waits, 0);
    assert_int_equal(t.run, 3 * MS + AHEAD);
    assert_int_equal(t.at, 5 * MS + 2000);
}

/* The thread's clock runs, but the thread got its core after the round had begun: it had waited
 * for 2 ms. */
TEST(test_core_given_during_the_round)
{
    struct run_track t = {.known = true, .times = 3};
    struct run_look l = look(5 * MS, 3 * MS, true, 0);
    l.last.times++;
    l.last.delayed += 2 * MS;
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_int_equal(t.waits, 2 * MS);
    assert_int_equal(t.delayed, 0); /* so the next sample subtracts the wait */
    l = look(10 * MS, 8 * MS, true, 2 * MS);
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
}

/* The thread ran all the time, and lost its core as the sampler woke up. */
TEST(test_core_taken_by_the_sampler)
{
    struct run_track t = {.known = true, .delayed = 7, .times = 3};
    struct run_look l = look(5 * MS, 5 * MS - 30000, false, 7);
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    assert_int_equal(t.waits, 30000);
}

/* The thread has waited for 2 ms: another thread has its core. */
TEST(test_core_taken_by_another)
{
    struct run_track t = {.known = true, .delayed = 7, .times = 3};
    struct run_look l = look(5 * MS, 3 * MS, false, 7);
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_int_equal(t.waits, 2 * MS);
    /* Then it ended 2.5 ms of waiting, ran for 1 ms, and waits again. */
    l = look(10 * MS, 4 * MS, false, 7 + 5 * MS / 2);
    l.first.times = l.last.times = 4;
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_int_equal(t.waits, 2 * MS + 5 * MS - 1 * MS - 5 * MS / 2);
    /* Then it ran for the rest of the time, until the sampler woke up. */
    l = look(15 * MS, 5 * MS + 460000, false, 7 + 5 * MS / 2 + 7 * MS);
    l.first.times = l.last.times = 5;
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    assert_int_equal(t.waits, 40000);
}

/* 1 ms that a hypervisor takes looks like a wait, once: the next wait that ends shows that it was
 * not one. */
TEST(test_time_that_no_clock_counts)
{
    struct run_track t = {.known = true, .times = 3};
    struct run_look l = look(5 * MS, 4 * MS, false, 0);
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_int_equal(t.waits, MS);
    l = look(10 * MS, 9 * MS - 30000, false, 30000);
    l.first.times = l.last.times = 4;
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    assert_int_equal(t.waits, 30000);
}

TEST(test_border_of_a_wait)
{
    enum { LONGEST = 20000 + 50000 + 96666 }; /* the round, waking up, 2 % of the run uncounted */
    struct run_track t = {.known = true, .times = 3};
    struct run_look l = look(5 * MS, 5 * MS - LONGEST, false, 0);
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    t = (struct run_track){.known = true, .times = 3};
    l = look(5 * MS, 5 * MS - LONGEST - 1, false, 0);
    assert_int_equal(state_run(&t, &l), HOST_READY);
}

/* A thread that had a core half of the time can have half as much uncounted time. */
TEST(test_border_of_a_wait_after_a_short_run)
{
    enum { LONGEST = 20000 + 50000 + 47647 };
    struct run_track t = {.known = true, .times = 3};
    struct run_look l = look(5 * MS, 5 * MS / 2 - LONGEST, false, 5 * MS / 2);
    l.first.times = l.last.times = 4;
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    t = (struct run_track){.known = true, .times = 3};
    l = look(5 * MS, 5 * MS / 2 - LONGEST - 1, false, 5 * MS / 2);
    l.first.times = l.last.times = 4;
    assert_int_equal(state_run(&t, &l), HOST_READY);
}

/* Without an earlier sample, or without schedstat, a thread whose clock stops has no core. */
TEST(test_nothing_known_before)
{
    struct run_track t = {0};
    struct run_look l = look(5 * MS, 5 * MS, false, 0);
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_true(t.known);
    t = (struct run_track){.known = true};
    l.counted = false;
    assert_int_equal(state_run(&t, &l), HOST_READY);
    assert_false(t.known);
    l.clock++;
    assert_int_equal(state_run(&t, &l), HOST_RUNS);
    assert_false(t.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_look_in_each_cell),
        cmocka_unit_test(test_places_are_even),
        cmocka_unit_test(test_cells_that_passed_are_left_out),
        cmocka_unit_test(test_rate_follows_the_cost),
        cmocka_unit_test(test_rate_falls_at_once),
        cmocka_unit_test(test_a_short_session_costs_no_more),
        cmocka_unit_test(test_rate_has_a_floor),
        cmocka_unit_test(test_grid_after_a_change),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_schedstat),
        cmocka_unit_test(test_clock_goes_on),
        cmocka_unit_test(test_core_given_during_the_round),
        cmocka_unit_test(test_core_taken_by_the_sampler),
        cmocka_unit_test(test_core_taken_by_another),
        cmocka_unit_test(test_time_that_no_clock_counts),
        cmocka_unit_test(test_border_of_a_wait),
        cmocka_unit_test(test_border_of_a_wait_after_a_short_run),
        cmocka_unit_test(test_nothing_known_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
