/* test_order.c - the order of many numbers is the one that comparing gives. */
#include "analyze/common/order.h"
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 3000, KINDS = 6 };

static double values[MANY], moved[MANY], sorted[MANY];
static uint32_t order[MANY];

/* Different kinds of numbers: equal ones, rising ones, wide ones, near ones, signs, extremes. */
static double value_of(int kind, size_t i)
{
    static const double ends[] = {0.0, -0.0, INFINITY, -INFINITY, 5e-324, -5e-324, 1e308, -1e308};
    double r = rand() / (double)RAND_MAX; /* NOLINT: the numbers must be the same every time */
    return kind == 0   ? floor(r * 5)
           : kind == 1 ? (double)i
           : kind == 2 ? exp((r - 0.5) * 600)
           : kind == 3 ? 13.8 + r / 100
           : kind == 4 ? (r - 0.5) * 1e-3
                       : ends[(size_t)(r * 7.999)];
}

static void fill(int kind, size_t n)
{
    srand((unsigned)(kind + n)); /* NOLINT */
    for (size_t i = 0; i < n; i++)
        values[i] = value_of(kind, i);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static const size_t sizes[] = {0, 1, 2, 17, 100, 511, 512, 513, MANY};

TEST(test_order)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t n = sizes[s];
            fill(kind, n);
            assert_int_equal(order_values(values, n, order), 0);
            memcpy(sorted, values, n * sizeof *values);
            qsort(sorted, n, sizeof *sorted, by_value);
            for (size_t i = 0; i < n; i++) {
                assert_true(values[order[i]] == sorted[i]);
                assert_true(i == 0 || sorted[i] > sorted[i - 1] || order[i] > order[i - 1]);
            }
        }
}

TEST(test_unknown_comes_last)
{
    fill(3, MANY);
    values[0] = values[7] = NAN;
    values[9] = -NAN;
    values[11] = INFINITY;
    assert_int_equal(order_values(values, MANY, order), 0);
    assert_int_equal(order[MANY - 4], 11);
    assert_true(order[MANY - 3] == 0 && order[MANY - 2] == 7 && order[MANY - 1] == 9);
}

TEST(test_order_of_ints)
{
    static const int64_t few[] = {5, -3, INT64_MAX, INT64_MIN, 5, 0};
    static const uint32_t want[] = {3, 1, 5, 0, 4, 2};
    static int64_t many[MANY];
    assert_int_equal(order_ints(few, 6, order), 0);
    assert_memory_equal(order, want, sizeof want);
    srand(9); /* NOLINT */
    for (size_t i = 0; i < MANY; i++)
        many[i] = INT64_C(1728086400000000000) + (int64_t)rand() * (rand() % 3 - 1); /* NOLINT */
    assert_int_equal(order_ints(many, MANY, order), 0);
    for (size_t i = 1; i < MANY; i++) {
        int64_t before = many[order[i - 1]], now = many[order[i]];
        assert_true(before < now || (before == now && order[i - 1] < order[i]));
    }
}

TEST(test_nth)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 1; s < sizeof sizes / sizeof *sizes; s++) {
            size_t n = sizes[s];
            fill(kind, n);
            memcpy(sorted, values, n * sizeof *values);
            qsort(sorted, n, sizeof *sorted, by_value);
            for (size_t k = 0; k < n; k += 1 + n / 13) {
                memcpy(moved, values, n * sizeof *values);
                assert_true(order_nth(moved, n, k) == sorted[k]);
                for (size_t i = 0; i < n; i++)
                    assert_true(i < k ? moved[i] <= sorted[k] : moved[i] >= sorted[k]);
                qsort(moved, n, sizeof *moved, by_value);
                for (size_t i = 0; i < n; i++)
                    assert_true(moved[i] == sorted[i]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_unknown_comes_last),
        cmocka_unit_test(test_order_of_ints),
        cmocka_unit_test(test_nth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
