/* test_pace.c - when the collector takes records. */
#include "capture/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t MS = 1000000;

/* Two flushes back is where a record is safe: of a short life at most half is not, and never more than two
 * intervals. */
static void what_a_short_life_keeps(void **state)
{
    (void)state;
    int64_t before = 0, last = 0, now = 0;
    while (now < 10000 * MS) {
        int64_t next = now + pace_next(now, 5 * MS, 250 * MS);
        if (now >= 20 * MS)
            assert_true(next - last <= next / 2);
        assert_true(next - before <= 3 * 250 * MS);
        assert_true(next > now);
        before = last;
        last = now;
        now = next;
    }
}

static void how_many_flushes(void **state)
{
    (void)state;
    int first_second = 0, next_second = 0;
    for (int64_t now = 0; now < 2000 * MS; now += pace_next(now, 5 * MS, 250 * MS))
        now < 1000 * MS ? first_second++ : next_second++;
    assert_in_range(first_second, 15, 25);
    assert_in_range(next_second, 4, 5);
}

static void no_short_intervals(void **state)
{
    (void)state;
    assert_int_equal(pace_next(0, 0, 250 * MS), 250 * MS);
    assert_int_equal(pace_next(0, 5 * MS, 4 * MS), 4 * MS);
    assert_int_equal(pace_next(0, 5 * MS, 250 * MS), 5 * MS);
    assert_int_equal(pace_next(100 * MS, 5 * MS, 250 * MS), 25 * MS);
    assert_int_equal(pace_next(INT64_MAX, 5 * MS, 250 * MS), 250 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_short_life_keeps),
        cmocka_unit_test(how_many_flushes),
        cmocka_unit_test(no_short_intervals),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
