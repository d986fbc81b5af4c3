/* test_range_pick.c - tests the first launches of each kernel, and no more names than there is room
 * for. */

#include "backend/common/range_pick.h"
#include "tests/test.h"

#include <stdio.h>

static struct range_pick pick;

static int counted(const char *name, int launches)
{
    int count = 0;
    for (int i = 0; i < launches; i++) {
        uint32_t *left = range_pick(&pick, name);
        count += left != NULL;
        if (left)
            --*left;
    }
    return count;
}

TEST(the_first_of_each)
{
    range_pick_init(&pick, 3);
    assert_int_equal(counted("_Z4gemmv", 2), 2);
    assert_int_equal(counted("_Z4reluv", 100), 3);
    assert_int_equal(counted("_Z4gemmv", 100), 1);
    assert_int_equal(counted("", 100), 3);
    assert_int_equal(pick.names, 3);
    assert_int_equal(pick.passed_by, 0);
}

/* If a picked launch is not counted after all, a later launch is counted instead. */
TEST(not_taken)
{
    range_pick_init(&pick, 1);
    for (int i = 0; i < 10; i++)
        assert_non_null(range_pick(&pick, "_Z4gemmv"));
    assert_int_equal(counted("_Z4gemmv", 10), 1);
}

TEST(more_names_than_room)
{
    char name[32];
    uint32_t count = 0;
    range_pick_init(&pick, 1);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "_Z%dv", i);
        count += (uint32_t)counted(name, 2);
    }
    assert_int_equal(count, pick.names);
    assert_int_equal(count, RANGE_PICK_NAMES / 4 * 3);
    assert_int_equal(pick.passed_by, 2 * (100000 - count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_each),
        cmocka_unit_test(not_taken),
        cmocka_unit_test(more_names_than_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
