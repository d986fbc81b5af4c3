/* test_own_kernels.c - the profiler's own kernels are distinguished from kernels of the program
 * with the same name. */

#include "backend/nvidia/engine/range/own_kernels.h"
#include "tests/test.h"

#include <pthread.h>

enum { IDS = 100000, THREADS = 4, MILLION = 1 << 20 };

TEST(other_names_are_the_programs)
{
    assert_false(own_kernels_is("_Z4gemmv", 7));
    assert_false(own_kernels_is("WaitNs2", 7));
    assert_false(own_kernels_is(NULL, 7));
    assert_true(own_kernels_is("WaitNs", 7));
    assert_true(own_kernels_is("WaitNs", 0));
}

TEST(a_launch_makes_it_the_programs)
{
    own_kernels_launch("_Z4gemmv", 40);
    own_kernels_launch(NULL, 40);
    assert_true(own_kernels_is("WaitNs", 40));
    own_kernels_launch("WaitNs", 40);
    own_kernels_launch("WaitNs", 0);
    own_kernels_launch("WaitNs", UINT32_MAX);
    assert_false(own_kernels_is("WaitNs", 40));
    assert_false(own_kernels_is("WaitNs", 0));
    assert_false(own_kernels_is("WaitNs", UINT32_MAX));
    assert_true(own_kernels_is("WaitNs", 39));
    assert_true(own_kernels_is("WaitNs", 41));
    assert_true(own_kernels_is("WaitNs", 40 + MILLION));
    own_kernels_launch("WaitNs", 41 + MILLION); /* ids grow: old ones are forgotten */
    assert_false(own_kernels_is("WaitNs", 41 + MILLION));
    assert_true(own_kernels_is("WaitNs", 40 + MILLION));
}

/* Launches every second id; several threads change bits of the same word. */
static void *launch(void *first)
{
    for (uint32_t id = *(uint32_t *)first; id < IDS; id += 2 * THREADS)
        own_kernels_launch("WaitNs", id);
    return NULL;
}

TEST(threads)
{
    pthread_t ids[THREADS];
    uint32_t firsts[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        firsts[i] = 1000 + 2 * i;
        assert_int_equal(pthread_create(&ids[i], NULL, launch, &firsts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (uint32_t id = 1000; id < IDS; id++)
        assert_int_equal(own_kernels_is("WaitNs", id), id % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_names_are_the_programs),
        cmocka_unit_test(a_launch_makes_it_the_programs),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
