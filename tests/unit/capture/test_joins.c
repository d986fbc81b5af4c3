/* Joins are found again, shared by a graph's kernels, overwritten when old, and counted. */
#include "capture/records/joins.h"
#include "tests/test.h"

#include "base/alloc.h"

static void put(struct joins *j, uint32_t correlation, uint64_t scope, bool waiting)
{
    joins_put(j, &(struct join){.scope = scope,
                                .correlation = correlation,
                                .stack = (uint32_t)scope + 1,
                                .thread = 7,
                                .waiting = waiting});
}

/* Returns the scope of the join; 0: there is no join. */
static uint64_t scope(struct joins *j, uint32_t correlation)
{
    const struct join *e = joins_get(j, correlation);
    if (!e)
        return 0;
    assert_int_equal(e->stack, (uint32_t)e->scope + 1);
    assert_int_equal(e->thread, 7);
    return e->scope;
}

TEST(test_found_and_shared)
{
    struct joins j;
    joins_init(&j);
    assert_int_equal(scope(&j, 7), 0);
    put(&j, 7, 100, true);
    put(&j, 8, 101, false);
    assert_int_equal(scope(&j, 7), 100);
    assert_int_equal(scope(&j, 7), 100); /* each kernel of a graph gets it */
    assert_int_equal(scope(&j, 8), 101);
    assert_int_equal(scope(&j, 9), 0);
    put(&j, 7, 102, true); /* the ids have wrapped around */
    assert_int_equal(scope(&j, 7), 102);
    assert_int_equal(j.lost, 0);
    joins_fini(&j);
}

TEST(test_a_million_waiting)
{
    enum { MANY = 1 << 20 };
    struct joins j;
    joins_init(&j);
    uint32_t first = UINT32_MAX - 1000; /* wraps around on the way */
    for (uint32_t i = 0; i < MANY; i++)
        put(&j, first + i, i + 1, true);
    assert_int_equal(j.lost, 0);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(scope(&j, first + i), i + 1);
    joins_fini(&j);
}

TEST(test_overwritten_is_counted)
{
    enum { MOST = 1 << 20 };
    struct joins j;
    joins_init(&j);
    for (uint32_t i = 0; i < MOST; i++)
        put(&j, i, 1, true);
    put(&j, MOST + 5, 2, true);
    assert_int_equal(j.lost, 1);
    assert_int_equal(scope(&j, 5), 0);
    assert_int_equal(scope(&j, MOST + 5), 2);
    assert_int_equal(scope(&j, 6), 1);
    put(&j, MOST + 6, 2, true); /* the old one's record had come */
    assert_int_equal(j.lost, 1);
    joins_fini(&j);
}

TEST(test_calls_without_records_do_not_count)
{
    struct joins j;
    joins_init(&j);
    for (uint32_t i = 0; i < 3u << 20; i++)
        put(&j, i, 1, false);
    assert_int_equal(j.lost, 0);
    assert_true(j.cap <= 1 << 12); /* they need no memory */
    joins_fini(&j);
}

TEST(test_no_memory)
{
    struct joins j;
    joins_init(&j);
    mem_fail_at(0);
    put(&j, 1, 5, true);
    mem_fail_at(-1);
    assert_int_equal(j.lost, 1);
    assert_int_equal(scope(&j, 1), 0);
    put(&j, 2, 5, true);
    assert_int_equal(scope(&j, 2), 5);
    joins_fini(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_and_shared),
        cmocka_unit_test(test_a_million_waiting),
        cmocka_unit_test(test_overwritten_is_counted),
        cmocka_unit_test(test_calls_without_records_do_not_count),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
