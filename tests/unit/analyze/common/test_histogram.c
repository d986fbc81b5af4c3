/* test_histogram.c - tests quantiles against sorted values, merging, failing memory. */
#include "analyze/common/histogram.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Spread over many octaves, as durations are. */
static int64_t random_value(void)
{
    return (int64_t)(random_next() >> (1 + random_next() % 62));
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_against(const struct histogram *h, int64_t *values, size_t n)
{
    static const double quantiles[] = {0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    qsort(values, n, sizeof *values, compare);
    assert_int_equal(h->count, n);
    assert_true(h->min == values[0] && h->max == values[n - 1]);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double rank = ceil(quantiles[i] * (double)n);
        int64_t exact = values[rank < 1 ? 0 : (size_t)rank - 1];
        int64_t got = histogram_quantile(h, quantiles[i]);
        double error = fabs((double)got - (double)exact);
        if (n <= HISTOGRAM_EXACT || exact < 2 * HISTOGRAM_PAGE)
            assert_true(got == exact);
        else
            assert_true(error <= 0.005 * (double)exact);
    }
}

TEST(test_error_bound)
{
    static int64_t values[20000];
    for (int round = 0; round < 60; round++) {
        size_t n = 1 + random_next() % (round % 2 ? 100 : 20000);
        struct histogram h;
        histogram_init(&h);
        for (size_t i = 0; i < n; i++) {
            values[i] = round % 3 ? random_value() % 100000000 : random_value();
            assert_int_equal(histogram_add(&h, values[i]), 0);
        }
        check_against(&h, values, n);
        histogram_fini(&h);
    }
}

TEST(test_merge_is_single_pass)
{
    static int64_t values[5000];
    for (int round = 0; round < 40; round++) {
        size_t n = 1 + random_next() % (round % 2 ? 60 : 5000), cut = random_next() % (n + 1);
        struct histogram all, a, b;
        histogram_init(&all);
        histogram_init(&a);
        histogram_init(&b);
        for (size_t i = 0; i < n; i++) {
            values[i] = random_value();
            assert_int_equal(histogram_add(&all, values[i]), 0);
            assert_int_equal(histogram_add(i < cut ? &a : &b, values[i]), 0);
        }
        assert_int_equal(histogram_merge(&a, &b), 0);
        assert_true(a.count == all.count && a.total == all.total && a.min == all.min &&
                    a.max == all.max);
        for (int q = 0; q <= 8; q++)
            assert_true(histogram_quantile(&a, q / 8.0) == histogram_quantile(&all, q / 8.0));
        histogram_fini(&all);
        histogram_fini(&a);
        histogram_fini(&b);
    }
}

TEST(test_edges)
{
    struct histogram h;
    histogram_init(&h);
    assert_int_equal(histogram_quantile(&h, 0.5), 0);
    assert_int_equal(histogram_mean(&h), 0);
    for (int i = 0; i < 200; i++)
        assert_int_equal(histogram_add(&h, i % 2 ? INT64_MAX : -5), 0);
    assert_true(h.min == 0 && h.max == INT64_MAX && h.total == INT64_MAX);
    assert_true(histogram_quantile(&h, 0.5) == 0);
    assert_true(histogram_quantile(&h, 1) == INT64_MAX);
    histogram_fini(&h);
}

/* Every bucket's middle lies in it, and buckets follow each other. */
TEST(test_buckets)
{
    for (unsigned b = 0; b < HISTOGRAM_PAGES * HISTOGRAM_PAGE; b++)
        assert_int_equal(histogram_bucket(histogram_middle(b)), b);
    assert_true(histogram_bucket(INT64_MAX) == HISTOGRAM_PAGES * HISTOGRAM_PAGE - 1);
}

TEST(test_no_memory)
{
    for (int64_t fail = 0;; fail++) {
        struct histogram h;
        int rc = 0;
        uint64_t added = 0;
        histogram_init(&h);
        mem_fail_at(fail);
        for (int i = 0; i < 300 && !rc; i++) {
            rc = histogram_add(&h, i * 1000);
            added += !rc;
        }
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(h.count, added);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        histogram_fini(&h);
        if (done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_bound), cmocka_unit_test(test_merge_is_single_pass),
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
