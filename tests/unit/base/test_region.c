/* test_region.c - pieces keep their bytes and alignment, the ceiling holds, and failures change
 * nothing. */
#include "base/alloc.h"
#include "base/region.h"
#include "tests/test.h"

#include <string.h>

TEST(test_pieces_stay)
{
    enum { PIECES = 2000 };
    static unsigned char *at[PIECES];
    static size_t size[PIECES];
    struct region r;
    region_init(&r, 64 << 20);
    for (size_t i = 0; i < PIECES; i++) {
        size[i] = i % 97 == 0 ? 5000 * (i % 11 + 1) : i * 7 % 211;
        at[i] = region_take(&r, size[i]);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
        memset(at[i], (int)(i & 0xff), size[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t b = 0; b < size[i]; b++)
            assert_int_equal(at[i][b], i & 0xff);
    region_fini(&r);
    assert_int_equal(r.used, 0);
}

TEST(test_ceiling)
{
    struct region r;
    region_init(&r, 100);
    assert_non_null(region_take(&r, 64));
    assert_null(region_take(&r, 64));
    assert_non_null(region_take(&r, 16));
    assert_null(region_take(&r, SIZE_MAX));
    assert_null(region_array(&r, SIZE_MAX / 2, 3));
    assert_null(region_copy(&r, "", SIZE_MAX));
    region_clear(&r);
    assert_non_null(region_take(&r, 96));
    region_fini(&r);
}

TEST(test_copies)
{
    struct region r;
    region_init(&r, 1 << 20);
    assert_string_equal(region_strdup(&r, "stream 7"), "stream 7");
    assert_string_equal(region_strdup(&r, ""), "");
    assert_string_equal(region_copy(&r, "abcdef", 3), "abc");
    assert_string_equal(region_copy(&r, NULL, 0), "");
    const int *zeros = region_array(&r, 50, sizeof *zeros);
    for (int i = 0; i < 50; i++)
        assert_int_equal(zeros[i], 0);
    region_fini(&r);
}

TEST(test_out_of_memory)
{
    struct region r;
    region_init(&r, 1 << 20);
    mem_fail_at(0);
    assert_null(region_take(&r, 8));
    assert_int_equal(r.used, 0);
    char *kept = region_strdup(&r, "kept");
    mem_fail_at(0);
    assert_null(region_take(&r, 100000));
    assert_string_equal(kept, "kept");
    region_fini(&r);
    mem_fail_at(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_stay),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
