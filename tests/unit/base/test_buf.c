/* test_buf.c - tests numbers against printf, JSON strings, the ceiling, sticky errors. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t random_next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void check_number(struct buf *b, uint64_t v)
{
    char want[32];
    buf_clear(b);
    buf_i64(b, (int64_t)v);
    snprintf(want, sizeof want, "%" PRId64, (int64_t)v);
    assert_string_equal(buf_cstr(b), want);
    buf_clear(b);
    buf_u64(b, v);
    snprintf(want, sizeof want, "%" PRIu64, v);
    assert_string_equal(buf_cstr(b), want);
}

TEST(test_numbers_at_the_edges)
{
    struct buf b;
    buf_init(&b, 4096);
    uint64_t power = 1;
    for (int digits = 0; digits < 20; digits++, power *= 10)
        for (uint64_t near = 0; near < 5; near++) {
            check_number(&b, power + near - 2);
            check_number(&b, 0 - (power + near - 2));
        }
    for (int bit = 0; bit < 64; bit++)
        for (uint64_t near = 0; near < 3; near++)
            check_number(&b, ((uint64_t)1 << bit) + near - 1);
    check_number(&b, (uint64_t)INT64_MIN);
    check_number(&b, UINT64_MAX);
    buf_fini(&b);
}

TEST(test_numbers_at_random)
{
    struct buf b;
    buf_init(&b, 4096);
    uint64_t x = 88172645463325252;
    for (int i = 0; i < 300000; i++) {
        uint64_t v = random_next(&x) >> (random_next(&x) & 63); /* every length is common */
        check_number(&b, i & 1 ? 0 - v : v);
    }
    for (uint32_t v = 0; v < 100000; v++)
        check_number(&b, v);
    buf_fini(&b);
}

/* Numbers in a row: a store that is wider than its number must not overwrite what follows. */
TEST(test_numbers_in_a_row_up_to_the_ceiling)
{
    for (size_t max = 0; max < 400; max++) {
        struct buf b;
        char want[1024] = "";
        size_t len = 0;
        buf_init(&b, max);
        for (int i = 0; i < 60; i++) {
            int64_t v = i * i * i * i * (i % 2 ? -7 : 3);
            buf_i64(&b, v);
            buf_char(&b, ',');
            len += (size_t)snprintf(want + len, sizeof want - len, "%" PRId64 ",", v);
        }
        assert_true(b.len <= max && b.cap <= max);
        assert_int_equal(buf_error(&b), len > max ? GPUFL_E_FULL : 0);
        assert_memory_equal(b.data ? b.data : "", want, b.len);
        if (len <= max)
            assert_string_equal(buf_cstr(&b), want);
        buf_fini(&b);
    }
}

TEST(test_ceiling_sticks_until_clear)
{
    struct buf b;
    buf_init(&b, 10);
    buf_str(&b, "12345678");
    assert_int_equal(buf_error(&b), 0);
    buf_str(&b, "abc");
    assert_int_equal(buf_error(&b), GPUFL_E_FULL);
    buf_str(&b, "x"); /* would fit: the first failure sticks */
    buf_i64(&b, 1);
    buf_printf(&b, "y");
    assert_int_equal(b.len, 8);
    assert_string_equal(buf_cstr(&b), "");
    buf_clear(&b);
    buf_str(&b, "0123456789");
    assert_string_equal(buf_cstr(&b), "0123456789"); /* the NUL is beyond the ceiling */
    assert_int_equal(buf_reserve(&b, SIZE_MAX), GPUFL_E_FULL);
    buf_fini(&b);
    buf_init(&b, SIZE_MAX);
    assert_string_equal(buf_cstr(&b), "");
    assert_int_equal(buf_reserve(&b, SIZE_MAX), GPUFL_E_FULL);
    buf_fini(&b);
}

TEST(test_printf)
{
    struct buf b;
    char want[2000];
    buf_init(&b, sizeof want);
    buf_printf(&b, "%s", "");
    assert_string_equal(buf_cstr(&b), "");
    size_t len = 0;
    for (int i = 0; i < 100; i++) {
        buf_printf(&b, "%d:%*s;", i, i % 17, "x");
        len += (size_t)snprintf(want + len, sizeof want - len, "%d:%*s;", i, i % 17, "x");
    }
    assert_string_equal(buf_cstr(&b), want);
    buf_printf(&b, "%2000s", "too much");
    assert_int_equal(buf_error(&b), GPUFL_E_FULL);
    buf_fini(&b);
}

static void check_json(const char *s, size_t n, const char *want)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_json(&b, s, n);
    assert_string_equal(buf_cstr(&b), want);
    buf_fini(&b);
}

#define CHECK_JSON(text, want) check_json(text, sizeof text - 1, want)
#define LOST                   "\xef\xbf\xbd"

TEST(test_json_strings)
{
    CHECK_JSON("", "\"\"");
    CHECK_JSON("plain / text", "\"plain / text\"");
    CHECK_JSON("a\"b\\c", "\"a\\\"b\\\\c\"");
    CHECK_JSON("\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\"");
    CHECK_JSON("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    CHECK_JSON("\xc2\x80\xc2\x9b\xc2\xa0", "\"\\u0080\\u009b\xc2\xa0\"");
    CHECK_JSON("nul\0in", "\"nul\\u0000in\"");
    CHECK_JSON("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    CHECK_JSON("\xff-", "\"" LOST "-\"");
    CHECK_JSON("\x80", "\"" LOST "\"");
    CHECK_JSON("\xc3", "\"" LOST "\"");          /* cut off */
    CHECK_JSON("\xc3\"", "\"" LOST "\\\"\"");    /* the quote is kept and escaped */
    CHECK_JSON("\xc0\xaf", "\"" LOST LOST "\""); /* overlong */
    CHECK_JSON("\xe0\x80\xaf", "\"" LOST LOST LOST "\"");
    CHECK_JSON("\xed\xa0\x80", "\"" LOST LOST LOST "\"");          /* surrogate */
    CHECK_JSON("\xf4\x90\x80\x80", "\"" LOST LOST LOST LOST "\""); /* > U+10FFFF */
    CHECK_JSON("\xf0\x8f\xbf\xbf", "\"" LOST LOST LOST LOST "\""); /* overlong */
    CHECK_JSON("\xf0\x9f\x98", "\"" LOST LOST LOST "\"");          /* cut off */
}

/* Each allocation fails once while texts are written: that is an error, never a wrong text. */
TEST(test_every_allocation_fails)
{
    bool failed = true;
    for (int64_t fail = 0; failed; fail++) {
        struct buf b;
        buf_init(&b, 1u << 20);
        mem_fail_at(fail);
        for (int i = 0; i < 2000; i++) {
            buf_i64(&b, i);
            buf_json_str(&b, "name\n");
            buf_printf(&b, "%d", i);
        }
        failed = mem_count() > fail;
        assert_int_equal(buf_error(&b), failed ? GPUFL_E_NOMEM : 0);
        assert_int_equal(strlen(buf_cstr(&b)), failed ? 0 : b.len);
        mem_fail_at(-1);
        buf_clear(&b);
        buf_str(&b, "usable again");
        assert_string_equal(buf_cstr(&b), "usable again");
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_at_the_edges),
        cmocka_unit_test(test_numbers_at_random),
        cmocka_unit_test(test_numbers_in_a_row_up_to_the_ceiling),
        cmocka_unit_test(test_ceiling_sticks_until_clear),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
