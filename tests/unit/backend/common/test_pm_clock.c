/* test_pm_clock.c - tests a device's clock against ours: found within the bounds that are known,
 * kept while they allow it, and followed where the clocks drift apart. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/common/pm_clock.h"
#include "tests/test.h"

#define MS INT64_C(1000000)

static const uint64_t AHEAD = UINT64_C(1700000000000000000);

enum { NO_WALL = 0 }; /* a wall clock that is far outside of the bounds */

static const int64_t STALE = PM_CLOCK_STALE;

TEST(between_the_bounds)
{
    struct pm_clock c = {.since = 5000 * MS};
    assert_true(pm_clock_error(&c) == INT64_MAX);
    pm_clock_after(&c, 5000 * MS, AHEAD + 5001 * MS, NO_WALL); /* 1 ms after it was switched on */
    assert_true(pm_clock_error(&c) == INT64_MAX);
    pm_clock_before(&c, 5250 * MS, AHEAD + 5249 * MS, STALE,
                    NO_WALL); /* read 1 ms after it had ended */
    assert_in_range(pm_clock_error(&c), 2 * MS, 2 * MS + MS / 20);
    assert_true(llabs(pm_clock_ours(&c, AHEAD + 5100 * MS) - 5100 * MS) <= MS);
}

/* A tighter bound is used at once; the offset moves no further than the bound requires. */
TEST(sharper)
{
    struct pm_clock c = {.since = 0};
    pm_clock_after(&c, 0, AHEAD + 10 * MS, NO_WALL);
    pm_clock_before(&c, 250 * MS, AHEAD + 240 * MS, STALE, NO_WALL);
    int64_t first = c.offset;
    pm_clock_before(&c, 500 * MS, AHEAD + 495 * MS, STALE, NO_WALL);
    assert_int_equal(c.offset, first);
    pm_clock_before(&c, 750 * MS, AHEAD + 760 * MS, STALE, NO_WALL); /* 10 ms ahead of ours, then */
    assert_in_range(c.offset + (int64_t)AHEAD + 11 * MS, 0, 2 * MS);
}

/* The wall clock is used if it is within the bounds, and not outside of them. */
TEST(the_wall_clock)
{
    struct pm_clock c = {.since = 0};
    int64_t wall = (int64_t)AHEAD + 3 * MS;
    pm_clock_after(&c, 0, AHEAD + 10 * MS, wall);
    pm_clock_before(&c, 250 * MS, AHEAD + 240 * MS, STALE, wall);
    assert_int_equal(c.offset, -wall);
    pm_clock_before(&c, 500 * MS, AHEAD + 490 * MS, STALE,
                    wall - 13 * MS - MS / 2); /* just outside */
    assert_int_equal(c.offset, c.most);
    pm_clock_before(&c, 750 * MS, AHEAD + 740 * MS, STALE, wall + 60 * MS); /* it was set again */
    assert_int_equal(c.offset, c.most);
    pm_clock_before(&c, 1000 * MS, AHEAD + 990 * MS, STALE, wall); /* it is not trusted again */
    assert_in_range(c.most - c.offset, 0, MS / 10);
}

/* Sampling took 20 ms to begin; the wall clock is 8 ms off, and so within the bounds. */
TEST(a_wall_clock_that_is_not_the_devices)
{
    struct pm_clock c = {.since = 0};
    int64_t wall = (int64_t)AHEAD + 8 * MS;
    pm_clock_after(&c, 0, AHEAD + 21 * MS, wall);
    pm_clock_before(&c, 253 * MS, AHEAD + 250 * MS, 7 * MS, wall); /* a long read */
    pm_clock_before(&c, 255 * MS, AHEAD + 254 * MS, 4 * MS, wall);
    assert_true(llabs(c.offset + (int64_t)AHEAD) < 2 * MS);
    assert_true(pm_clock_error(&c) > 20 * MS);
    pm_clock_before(&c, 555 * MS, AHEAD + 550 * MS, 9 * MS, wall);
    assert_true(llabs(c.offset + (int64_t)AHEAD) < 2 * MS);
}

/* A read that was delayed gives a loose bound, a short read a tight one. */
TEST(a_wall_clock_that_is)
{
    struct pm_clock c = {.since = 0};
    int64_t wall = (int64_t)AHEAD;
    pm_clock_after(&c, 0, AHEAD + 21 * MS, wall);
    pm_clock_before(&c, 290 * MS, AHEAD + 250 * MS, 44 * MS, wall);
    assert_int_equal(c.offset, -wall);
    pm_clock_before(&c, 301 * MS, AHEAD + 300 * MS, 4 * MS, wall);
    assert_int_equal(c.offset, -wall);
    pm_clock_before(&c, 640 * MS, AHEAD + 600 * MS, 44 * MS, wall);
    assert_int_equal(c.offset, -wall);
}

/* A record that was read long after its end gives no bound; the wall clock stays in use. */
TEST(a_first_read_that_is_late)
{
    struct pm_clock c = {.since = 0};
    int64_t wall = (int64_t)AHEAD;
    pm_clock_after(&c, 0, AHEAD + MS, wall);
    pm_clock_before(&c, 600 * MS, AHEAD + 320 * MS, STALE, wall);
    assert_int_equal(c.offset, -wall);
    pm_clock_before(&c, 602 * MS, AHEAD + 601 * MS, 4 * MS, wall);
    assert_int_equal(c.offset, -wall);
    assert_false(c.apart);
}

/* Clocks that differ by 20 millionths are 72 ms apart after an hour. */
TEST(drift)
{
    struct pm_clock c = {.since = 0};
    pm_clock_after(&c, 0, AHEAD, NO_WALL);
    for (int64_t t = 250 * MS; t < 3600 * 1000 * MS; t += 250 * MS) {
        uint64_t theirs = AHEAD + (uint64_t)(t + t / 1000000 * 20);
        pm_clock_before(&c, t, theirs - (uint64_t)(MS / 2 + (t / (250 * MS)) % 4 * 100000), STALE,
                        NO_WALL);
        assert_true(llabs(pm_clock_ours(&c, theirs) - t) < 2 * MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_the_bounds),
        cmocka_unit_test(sharper),
        cmocka_unit_test(the_wall_clock),
        cmocka_unit_test(a_wall_clock_that_is_not_the_devices),
        cmocka_unit_test(a_wall_clock_that_is),
        cmocka_unit_test(a_first_read_that_is_late),
        cmocka_unit_test(drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
