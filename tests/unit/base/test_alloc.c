/* test_alloc.c - tests the countdown, strings, and growth with a ceiling. */
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"

#include <string.h>

TEST(test_the_nth_fails_once)
{
    for (int64_t n = 0; n < 5; n++) {
        mem_fail_at(n);
        for (int64_t i = 0; i < 8; i++) {
            void *p = mem_alloc(16);
            if (i == n)
                assert_null(p);
            else
                assert_non_null(p);
            mem_free(p);
        }
        assert_int_equal(mem_count(), 8);
    }
    mem_fail_at(-1);
    assert_int_equal(mem_count(), 0);
}

TEST(test_every_function_counts)
{
    mem_fail_at(0);
    assert_null(mem_zalloc(8));
    mem_fail_at(0);
    assert_null(mem_array(2, 8));
    mem_fail_at(0);
    assert_null(mem_strdup("x"));
    void *p = mem_strndup("abcdef", 3);
    assert_string_equal(p, "abc");
    mem_fail_at(0);
    assert_null(mem_realloc(p, 100));
    assert_string_equal(p, "abc"); /* still valid */
    p = mem_realloc(p, 100);
    assert_non_null(p);
    mem_free(p);
    mem_fail_at(-1);
    p = mem_strndup("ab", 99);
    assert_string_equal(p, "ab");
    mem_free(p);
}

TEST(test_array_is_zeroed_and_checked)
{
    volatile size_t huge = SIZE_MAX / 4;
    assert_null(mem_array(huge, 8));
    char *p = mem_array(100, 3);
    for (int i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
    mem_free(p);
}

TEST(test_grow)
{
    int *items = NULL;
    size_t cap = 0;
    for (size_t n = 1; n <= 1000; n++) {
        assert_int_equal(mem_grow(&items, &cap, n, sizeof *items, 1000), 0);
        assert_true(cap >= n && cap <= 1000);
        items[n - 1] = (int)n;
    }
    assert_int_equal(mem_grow(&items, &cap, 1001, sizeof *items, 1000), GPUFL_E_FULL);
    assert_int_equal(cap, 1000);
    for (int n = 1; n <= 1000; n++)
        assert_int_equal(items[n - 1], n);
    assert_int_equal(mem_grow(&items, &cap, SIZE_MAX / 2, sizeof *items, SIZE_MAX), GPUFL_E_FULL);
    mem_free(items);
}

TEST(test_grow_survives_every_failure)
{
    for (int64_t fail = 0; fail < 8; fail++) {
        int *items = NULL;
        size_t cap = 0, n = 0;
        int failures = 0;
        mem_fail_at(fail);
        while (n < 2000) {
            int rc = mem_grow(&items, &cap, n + 1, sizeof *items, 1u << 20);
            if (rc) {
                assert_int_equal(rc, GPUFL_E_NOMEM);
                failures++;
                continue; /* the next try succeeds */
            }
            items[n] = (int)n;
            n++;
        }
        assert_int_equal(failures, 1);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(items[i], i);
        mem_free(items);
    }
    mem_fail_at(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nth_fails_once),
        cmocka_unit_test(test_every_function_counts),
        cmocka_unit_test(test_array_is_zeroed_and_checked),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_grow_survives_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
