/* test_clock.c - tests the system's clocks, and the replaced one. */
#include "base/clock.h"
#include "tests/test.h"

#include <time.h>

static int64_t system_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

TEST(test_system_clocks)
{
    int64_t before = system_ns(CLOCK_MONOTONIC);
    int64_t now = clock_mono();
    assert_true(before <= now && now <= system_ns(CLOCK_MONOTONIC));
    before = system_ns(CLOCK_REALTIME);
    now = clock_real();
    assert_true(now - before >= -1000000000 && now - before < 60000000000);
    for (int i = 0; i < 1000; i++) {
        int64_t a = clock_mono();
        assert_true(clock_mono() >= a);
    }
}

TEST(test_cpu_time_advances)
{
    int64_t thread = clock_thread_cpu(), process = clock_process_cpu();
    assert_true(thread > 0 && process > 0);
    for (volatile int i = 0; i < 1000000; i++)
        continue;
    assert_true(clock_thread_cpu() > thread);
    assert_true(clock_process_cpu() > process);
}

TEST(test_pair)
{
    int64_t before = clock_mono();
    struct clock_pair p = clock_pair_read();
    assert_true(before <= p.monotonic && p.monotonic <= clock_mono());
    assert_true(p.uncertainty >= 0 && p.uncertainty < 1000000000);
    struct clock_pair q = clock_pair_read();
    int64_t drift = (q.real - q.monotonic) - (p.real - p.monotonic);
    assert_true(drift > -1000000000 && drift < 1000000000);
}

static int64_t simulated;

static int64_t simulated_now(void)
{
    return simulated;
}

TEST(test_replaced_source)
{
    simulated = 5000;
    assert_true(clock_is_system());
    clock_set_source(simulated_now, 1700000000000000000);
    assert_false(clock_is_system());
    assert_int_equal(clock_mono(), 5000);
    assert_true(clock_real() == 1700000000000005000);
    simulated = 6000;
    struct clock_pair p = clock_pair_read();
    assert_true(p.monotonic == 6000 && p.real == 1700000000000006000 && p.uncertainty == 0);
    clock_set_source(NULL, 0);
    assert_true(clock_is_system());
    assert_true(clock_mono() != 6000);
    assert_true(clock_real() != 1700000000000006000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system_clocks),
        cmocka_unit_test(test_cpu_time_advances),
        cmocka_unit_test(test_pair),
        cmocka_unit_test(test_replaced_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
