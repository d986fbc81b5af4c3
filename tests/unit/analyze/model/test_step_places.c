/* test_step_places.c - tests the search for the kernels at which steps begin. */
#include "analyze/model/steps/find.h"
#include "tests/test.h"

/* Kernels begin at 10, 20, 20, 30, 40, 40 …: from each index and for each time the place is the one
 * that a look at all kernels in turn finds. */
TEST(test_places)
{
    enum { MOST = 40 };
    struct step_row items[MOST];
    uint32_t at[MOST];
    struct step_rows rows = {.items = items, .count = MOST};
    for (uint32_t i = 0; i < MOST; i++) {
        items[i] = (struct step_row){.start = 10 + 10 * (int64_t)((i * 2 + 1) / 3)};
        at[i] = i;
    }
    for (size_t count = 0; count <= MOST; count++) {
        const struct step_sequence q = {.rows = &rows, .at = at, .count = count};
        for (int64_t time = 5; time < 320; time += 5) {
            size_t right = 0;
            while (right < count && items[right].start < time)
                right++;
            for (size_t from = 0; from <= right; from++)
                assert_int_equal(step_sequence_place(&q, from, time), right);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
