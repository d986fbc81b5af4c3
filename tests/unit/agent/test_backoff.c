/* Tests when a request is tried again, and after how long. */
#include "net/client/backoff.h"
#include "tests/test.h"

static const int64_t SECOND = 1000000000;

TEST(test_waits_double_up_to_the_limit)
{
    struct backoff b;
    backoff_init(&b, 8, SECOND / 2, 4 * SECOND, 1);
    const int64_t bounds[] = {SECOND / 2, SECOND,     2 * SECOND, 4 * SECOND,
                              4 * SECOND, 4 * SECOND, 4 * SECOND, 4 * SECOND};
    for (int i = 0; i < 8; i++) {
        int64_t wait = backoff_next(&b, -1);
        assert_in_range(wait, bounds[i] / 2, bounds[i]);
    }
    assert_int_equal(backoff_next(&b, -1), BACKOFF_GIVE_UP);
}

TEST(test_what_gets_on_starts_again)
{
    struct backoff b;
    backoff_init(&b, 2, SECOND, 60 * SECOND, 1);
    for (int i = 0; i < 100; i++) {
        assert_in_range(backoff_next(&b, -1), SECOND / 2, SECOND);
        assert_in_range(backoff_next(&b, -1), SECOND, 2 * SECOND);
        backoff_reset(&b);
    }
}

TEST(test_senders_do_not_come_back_together)
{
    int64_t least = INT64_MAX, most = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct backoff b;
        backoff_init(&b, 3, SECOND, 60 * SECOND, seed);
        int64_t wait = backoff_next(&b, -1);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(most - least > SECOND / 3);
}

TEST(test_a_server_that_says_when_is_believed)
{
    struct backoff b;
    backoff_init(&b, 8, SECOND, 60 * SECOND, 7);
    assert_in_range(backoff_next(&b, 20), 20 * SECOND, 21 * SECOND);
    assert_in_range(backoff_next(&b, 0), 0, SECOND);
    assert_int_equal(backoff_next(&b, 61), BACKOFF_GIVE_UP);
    assert_int_equal(backoff_next(&b, INT64_MAX), BACKOFF_GIVE_UP);
}

TEST(test_waiting_is_not_failing)
{
    struct backoff b;
    backoff_init(&b, 2, SECOND, 60 * SECOND, 7);
    for (int i = 0; i < 100; i++)
        assert_in_range(backoff_wait(&b, 40), 40 * SECOND, 50 * SECOND);
    assert_in_range(backoff_wait(&b, 0), 0, SECOND);
    assert_in_range(backoff_wait(&b, 86400), 86400 * SECOND, 108000 * SECOND);
    assert_true(backoff_wait(&b, INT64_MAX) > 0);
    assert_in_range(backoff_wait(&b, -1), SECOND / 2, SECOND);
    for (int i = 0; i < 100; i++)
        assert_in_range(backoff_wait(&b, -1), SECOND, 60 * SECOND);
    assert_in_range(backoff_next(&b, -1), SECOND / 2, SECOND); /* the first failure */
}

TEST(test_which_answers_may_change)
{
    const int again[] = {0, 408, 425, 429, 500, 502, 503, 504},
              never[] = {200, 301, 400, 401, 403, 404, 409, 410, 413, 501, 505, 507};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        assert_true(backoff_transient(again[i]));
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_false(backoff_transient(never[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_double_up_to_the_limit),
        cmocka_unit_test(test_what_gets_on_starts_again),
        cmocka_unit_test(test_senders_do_not_come_back_together),
        cmocka_unit_test(test_a_server_that_says_when_is_believed),
        cmocka_unit_test(test_waiting_is_not_failing),
        cmocka_unit_test(test_which_answers_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
