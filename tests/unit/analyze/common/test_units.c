/* test_units.c - tests numbers for people. */
#include "analyze/common/units.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

static char text[UNITS_TEXT];

TEST(test_count)
{
    assert_string_equal(units_count(text, 0), "0");
    assert_string_equal(units_count(text, 999), "999");
    assert_string_equal(units_count(text, -1000), "-1,000");
    assert_string_equal(units_count(text, 10000000), "10,000,000");
    assert_string_equal(units_count(text, INT64_MAX), "9,223,372,036,854,775,807");
}

TEST(test_time)
{
    assert_string_equal(units_time(text, 0), "0 ns");
    assert_string_equal(units_time(text, 999), "999 ns");
    assert_string_equal(units_time(text, 3410), "3.41 us");
    assert_string_equal(units_time(text, 34100), "34.1 us");
    assert_string_equal(units_time(text, 999499), "999 us");
    assert_string_equal(units_time(text, 999500), "1.00 ms");
    assert_string_equal(units_time(text, 7100000000), "7.10 s");
    assert_string_equal(units_time(text, 754000000000), "12 min 34 s");
    assert_string_equal(units_time(text, 7500000000000), "2 h 05 min");
    units_time(text, INT64_MIN);
    units_time(text, INT64_MAX);
}

TEST(test_time_range)
{
    assert_string_equal(units_time_range(text, 12000000, 15000000), "12.0 to 15.0 ms");
    assert_string_equal(units_time_range(text, 900000, 1500000), "900 us to 1.50 ms");
    assert_string_equal(units_time_range(text, 113200000, 113400000), "113 ms");
    assert_string_equal(units_time_range(text, 1000000, 10000000), "1.00 to 10.0 ms");
}

TEST(test_samples)
{
    assert_string_equal(units_samples(text, 0), "0 samples");
    assert_string_equal(units_samples(text, 1), "1 sample");
    assert_string_equal(units_samples(text, 1200), "1,200 samples");
    units_samples(text, UINT64_MAX);
}

TEST(test_bytes_and_rates)
{
    assert_string_equal(units_bytes(text, 1023), "1023 B");
    assert_string_equal(units_bytes(text, 1024), "1.00 KiB");
    assert_string_equal(units_bytes(text, 150754820096), "140 GiB");
    assert_string_equal(units_rate(text, 24100, 1000), "24.1 GB/s");
    assert_string_equal(units_rate(text, 5, 1000), "5.00 MB/s");
    assert_string_equal(units_rate(text, 5, 0), "-");
    units_bytes(text, INT64_MIN);
}

/* Whatever numbers are divided, the result is never NaN and never infinite. */
TEST(test_percent)
{
    static const double odd[] = {0, 1, -1, 1e300, INFINITY, -INFINITY, NAN};
    assert_string_equal(units_percent(text, 41.2, 100), "41.2 %");
    assert_string_equal(units_percent(text, 1, 0), "-");
    assert_string_equal(units_percent(text, 1, 1e9), "<0.1 %");
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 7; j++) {
            units_percent(text, odd[i], odd[j]);
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
        }
}

TEST(test_epoch)
{
    assert_string_equal(units_epoch(text, 1700000000000000000), "2023-11-14 22:13:20 UTC");
    assert_string_equal(units_epoch(text, 0), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_count),
                                       cmocka_unit_test(test_time),
                                       cmocka_unit_test(test_time_range),
                                       cmocka_unit_test(test_samples),
                                       cmocka_unit_test(test_bytes_and_rates),
                                       cmocka_unit_test(test_percent),
                                       cmocka_unit_test(test_epoch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
