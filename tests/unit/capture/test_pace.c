/* test_pace.c - when the collector takes records. */
#include "capture/session/pace.h"
#include "tests/test.h"

static const int64_t MS = 1000000;

static struct pace begun(int64_t first, int64_t interval)
{
    return (struct pace){.first = first * MS, .interval = interval * MS, .began = 1};
}

/* A record is safe after two flushes: at most half of a short life is not safe, and three intervals
 * never last longer than three of the longest. */
TEST(what_a_short_life_keeps)
{
    const struct pace p = begun(5, 250);
    int64_t before = 0, last = 0, now = 1;
    while (now < 10000 * MS) {
        int64_t next = now + pace_next(&p, now);
        if (now >= 20 * MS)
            assert_true(next - last <= next / 2);
        assert_true(next - before <= 3 * 250 * MS);
        assert_true(next > now);
        before = last;
        last = now;
        now = next;
    }
}

TEST(how_many_flushes)
{
    const struct pace p = begun(5, 250);
    int first_second = 0, next_second = 0;
    for (int64_t now = 1; now < 2000 * MS; now += pace_next(&p, now))
        now < 1000 * MS ? first_second++ : next_second++;
    assert_in_range(first_second, 15, 25);
    assert_in_range(next_second, 4, 5);
}

TEST(no_short_intervals)
{
    struct pace p = begun(0, 250);
    assert_false(pace_looks(&p, true, 5));
    p.began = 0;
    assert_false(pace_looks(&p, true, 5));
    assert_int_equal(pace_next(&p, 5), 250 * MS);
    p = begun(5, 4);
    assert_int_equal(pace_next(&p, 1), 4 * MS);
    p = begun(5, 250);
    assert_int_equal(pace_next(&p, 1), 5 * MS);
    assert_int_equal(pace_next(&p, 100 * MS + 1), 25 * MS);
    assert_int_equal(pace_next(&p, INT64_MAX), 250 * MS);
}

/* Intervals are not short before the first launch, and while the collector waits for one they do
 * not stay short. */
TEST(from_the_first_launch_on)
{
    struct pace p = begun(5, 250);
    p.began = 0;
    assert_false(pace_looks(&p, false, 10 * MS));
    assert_int_equal(pace_look(&p, 10 * MS), 0);
    assert_int_equal(pace_next(&p, 10 * MS), 250 * MS);
    assert_true(pace_looks(&p, true, 20 * MS));
    assert_int_equal(pace_look(&p, 20 * MS), 25 * MS);
    assert_true(pace_looks(&p, false, 900 * MS));
    assert_false(pace_looks(&p, false, 1021 * MS));
    assert_int_equal(pace_look(&p, 1021 * MS), 0);
    assert_true(pace_looks(&p, true, 5000 * MS));
    p.began = 5000 * MS;
    assert_false(pace_looks(&p, true, 5001 * MS));
    assert_int_equal(pace_look(&p, 5001 * MS), 0);
    assert_int_equal(pace_next(&p, 5000 * MS), 5 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_short_life_keeps),
        cmocka_unit_test(how_many_flushes),
        cmocka_unit_test(no_short_intervals),
        cmocka_unit_test(from_the_first_launch_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
