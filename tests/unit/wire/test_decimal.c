/* test_decimal.c - tests fractions as two integers, and the names of stall reasons. */
#include "tests/test.h"
#include "wire/decimal.h"
#include "wire/stall_name.h"

#include <math.h>
#include <string.h>

TEST(test_read)
{
    static const struct {
        const char *text;
        int64_t mantissa, exponent;
    } cases[] = {
        {"0", 0, 0},
        {"-0.0", 0, 0},
        {"12.5", 125, -1},
        {"-1.0000", -1, 0},
        {"41.2500", 4125, -2},
        {"1.23457e+08", 123457, 3},
        {"1E2", 1, 2},
        {"2e-3", 2, -3},
        {"1024", 1024, 0},
        {"100", 1, 2},
        {"0.000125", 125, -6},
        {"12345678901234567890", 1234567890123456, 4},
        {"0.00000000000000000001", 1, -20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scan s = {cases[i].text, cases[i].text + strlen(cases[i].text)};
        struct decimal d;
        assert_true(decimal_read(&s, &d));
        assert_true(scan_done(&s));
        assert_int_equal(d.mantissa, cases[i].mantissa);
        assert_int_equal(d.exponent, cases[i].exponent);
        struct decimal again = decimal_unpack(decimal_pack(d));
        assert_int_equal(again.mantissa, d.mantissa);
        assert_int_equal(again.exponent, d.exponent);
    }
}

TEST(test_read_nothing_else)
{
    static const char *const cases[] = {"", "-", ".5", "1.", "1e", "1e+", "nan", "1e100", "\"1\""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scan s = {cases[i], cases[i] + strlen(cases[i])};
        struct decimal d;
        assert_false(decimal_read(&s, &d));
    }
}

/* A number that is written is read back unchanged. */
TEST(test_put)
{
    static const struct {
        struct decimal d;
        const char *want;
    } cases[] = {
        {{0, 0}, "0"},       {{125, -1}, "12.5"}, {{-5, -3}, "-0.005"},   {{123457, 3}, "123457e3"},
        {{1, -20}, "1e-20"}, {{-7, 0}, "-7"},     {{7, -7}, "0.0000007"}, {{-4125, -2}, "-41.25"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b;
        struct decimal d;
        buf_init(&b, 4096);
        decimal_put(&b, cases[i].d);
        assert_string_equal(buf_cstr(&b), cases[i].want);
        struct scan s = {b.data, b.data + b.len};
        assert_true(decimal_read(&s, &d));
        assert_int_equal(d.mantissa, cases[i].d.mantissa);
        assert_int_equal(d.exponent, cases[i].d.exponent);
        buf_fini(&b);
    }
    assert_true(decimal_double((struct decimal){4125, -2}) == 41.25);
    assert_true(decimal_double((struct decimal){3, 2}) == 300);
}

TEST(test_stall_names)
{
    static const struct {
        const char *driver, *want;
        int64_t issued;
    } cases[] = {
        {"smsp__pcsamp_warps_issue_stalled_long_scoreboard", "long_scoreboard", 1},
        {"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", "long_scoreboard", 0},
        {"stalled_wait", "wait", CELL_NULL},
        {"Long Scoreboard", "long_scoreboard", CELL_NULL},
        {"Memory Dependency", "memory_dependency", CELL_NULL},
        {"STALL_Barrier", "barrier", CELL_NULL},
        {"selected", "selected", CELL_NULL},
        {"_not_issued", "not_issued", CELL_NULL},
        {"", "", CELL_NULL},
        {"--", "", CELL_NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stall_name n = stall_name_of(cases[i].driver, strlen(cases[i].driver));
        assert_string_equal(n.text, cases[i].want);
        assert_int_equal(n.issued, cases[i].issued);
    }
    char longest[4 * STALL_NAME_ROOM];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(strlen(stall_name_of(longest, sizeof longest).text), STALL_NAME_ROOM - 1);
}

/* A double is rounded to the requested digits, and has one form. */
TEST(test_of_double)
{
    static const struct {
        double value;
        int digits;
        int64_t mantissa, exponent;
    } cases[] = {
        {0, 6, 0, 0},
        {-0.0, 6, 0, 0},
        {41.25, 6, 4125, -2},
        {100, 6, 1, 2},
        {99.99999999, 6, 1, 2},
        {-2.5, 1, -3, 0},
        {1.0 / 3, 6, 333333, -6},
        {2684354560.0, 10, 268435456, 1},
        {2684354560.0, 4, 2684, 6},
        {1e-7, 6, 1, -7},
        {1e-90, 6, 0, 0},
        {6.02214e23, 6, 602214, 18},
    };
    struct decimal d;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(decimal_of(cases[i].value, cases[i].digits, &d));
        assert_int_equal(d.mantissa, cases[i].mantissa);
        assert_int_equal(d.exponent, cases[i].exponent);
    }
    assert_false(decimal_of(NAN, 6, &d));
    assert_false(decimal_of(INFINITY, 6, &d));
    assert_false(decimal_of(1e200, 6, &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),        cmocka_unit_test(test_read_nothing_else),
        cmocka_unit_test(test_put),         cmocka_unit_test(test_of_double),
        cmocka_unit_test(test_stall_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
