/* test_driver_gate.c - the gate closes only while nobody is inside, and later threads wait. */
#include "backend/nvidia/engine/driver_gate.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, CALLS = 3000, LOOKS = 20000, STAY = 2000 };

static _Atomic int inside, switched, met;

/* The switch: nobody else is inside meanwhile, and its own calls pass the gate. */
static void switch_it(void *arg)
{
    int *times = arg;
    atomic_fetch_add(&met, atomic_load(&inside));
    driver_gate_enter();
    assert_false(driver_gate_leave());
    for (int i = 0; i < LOOKS; i++)
        atomic_fetch_add(&met, atomic_load(&inside));
    ++*times;
}

TEST(alone)
{
    int times = 0;
    driver_gate_open();
    driver_gate_enter();
    driver_gate_enter(); /* a call inside another one */
    assert_false(driver_gate_leave());
    assert_true(driver_gate_leave());
    assert_false(driver_gate_leave()); /* entered before the session */
    assert_true(driver_gate_shut(switch_it, &times));
    assert_int_equal(times, 1);
    driver_gate_enter();
    assert_false(driver_gate_shut(switch_it, &times)); /* somebody is inside */
    assert_int_equal(times, 1);
    driver_gate_open(); /* earlier entries count no more */
    assert_false(driver_gate_leave());
    assert_true(driver_gate_shut(switch_it, &times));
    assert_int_equal(times, 2);
}

static void *call(void *arg)
{
    int *times = arg;
    for (int i = 0; i < CALLS; i++) {
        driver_gate_enter();
        atomic_fetch_add(&inside, 1);
        for (int k = 0; k < STAY; k++)
            atomic_load(&met);
        atomic_fetch_sub(&inside, 1);
        if (driver_gate_leave() && i % 4 == 0 && driver_gate_shut(switch_it, times))
            atomic_fetch_add(&switched, 1);
    }
    return NULL;
}

TEST(with_threads)
{
    pthread_t threads[THREADS];
    int times[THREADS] = {0}, sum = 0;
    driver_gate_open();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call, &times[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += times[i];
    }
    assert_int_equal(atomic_load(&met), 0);
    assert_true(sum > 0);
    assert_int_equal(sum, atomic_load(&switched));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(with_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
