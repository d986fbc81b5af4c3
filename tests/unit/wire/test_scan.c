/* test_scan.c - tests the line reader: accepted and refused lines, and where it stops. */
#include "tests/test.h"
#include "wire/fields.h"
#include "wire/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a heap copy that ends where the text ends. */
static struct scan exact(const char *text)
{
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    return (struct scan){copy, copy + n};
}

static bool is_value(const char *text)
{
    struct scan s = exact(text), at = s;
    bool sound = scan_value(&at, NULL) && scan_done(&at);
    free((char *)s.at);
    return sound;
}

TEST(test_values)
{
    static const char *const sound[] = {
        "1",
        "-1.5e+3",
        "null",
        "true",
        "false",
        "\"\"",
        "\"\\\"\"",
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        "[[],{}]",
        "{\"a\":[{\"b\":null}],\"c\":\"]\"}",
        "\"12345678\\\\\"",
        "\"1234567\\\"8\"",
    };
    static const char *const broken[] = {
        "",       " ",     "[",   "]",       "{",        "[1",         "[1,]",        "[,1]",
        "[1 2]",  "[}",    "{]",  "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}",       "\"",
        "\"\\\"", "\"abc", "nul", "tru",     "1 2",      "[1]]",       "\"1234567\\",
    };
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        assert_true(is_value(sound[i]));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        if (is_value(broken[i]))
            fail_msg("%s passed", broken[i]);
}

TEST(test_depth)
{
    char text[300];
    for (int depth = 1; depth < 140; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = 0;
        assert_int_equal(is_value(text), depth <= 65); /* the innermost, empty, does not count */
    }
}

/* A quote ends the string, wherever it is in the words that are read. */
TEST(test_strings)
{
    for (size_t n = 0; n < 40; n++) {
        char text[64] = "\"";
        memset(text + 1, 'x' + (char)0x80 * (n % 2), n);
        strcpy(text + 1 + n, "\",\"");
        struct scan s = exact(text), at = s;
        struct span out;
        assert_true(scan_string(&at, &out));
        assert_int_equal(out.len, n);
        assert_int_equal(at.end - at.at, 2);
        free((char *)s.at);
    }
}

TEST(test_integers)
{
    static const struct {
        const char *text;
        bool as_int, as_bits;
        int64_t value;
    } cases[] = {
        {"0", true, true, 0},
        {"-0", true, true, 0},
        {"9223372036854775807", true, true, INT64_MAX},
        {"9223372036854775808", false, true, INT64_MIN},
        {"18446744073709551615", false, true, -1},
        {"18446744073709551616", false, false, 0},
        {"-9223372036854775808", true, true, INT64_MIN},
        {"-9223372036854775809", false, false, 0},
        {"1.0", false, false, 0},
        {"1e3", false, false, 0},
        {"-", false, false, 0},
        {"", false, false, 0},
        {"x", false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scan s = exact(cases[i].text), a = s, b = s;
        int64_t v, bits;
        assert_int_equal(scan_int(&a, &v), cases[i].as_int);
        assert_int_equal(scan_bits(&b, &bits), cases[i].as_bits);
        if (cases[i].as_int)
            assert_int_equal(v, cases[i].value);
        if (cases[i].as_bits)
            assert_int_equal(bits, cases[i].value);
        free((char *)s.at);
    }
}

struct picked {
    int64_t number, quoted, share, flag;
    struct span text, value;
};

static const struct field table[] = {
    {"number", FIELD_INT, offsetof(struct picked, number)},
    {"quoted", FIELD_INT, offsetof(struct picked, quoted)},
    {"share", FIELD_MILLIONTHS, offsetof(struct picked, share)},
    {"flag", FIELD_BOOL, offsetof(struct picked, flag)},
    {"text", FIELD_TEXT, offsetof(struct picked, text)},
    {"value", FIELD_VALUE, offsetof(struct picked, value)},
};

static struct picked pick(const char *text)
{
    struct picked p = {-7, -7, -7, -7, {NULL, 0}, {NULL, 0}};
    fields_read((struct scan){text, text + strlen(text)}, table, 6, &p);
    return p;
}

TEST(test_fields)
{
    struct picked p =
        pick("{\"value\":[1,{}],\"x\":{\"number\":9},\"text\":\"a\\\"\",\"flag\":true,"
             "\"share\":0.25,\"quoted\":\"12\",\"number\":-3}");
    assert_int_equal(p.number, -3);
    assert_int_equal(p.quoted, 12);
    assert_int_equal(p.share, 250000);
    assert_int_equal(p.flag, 1);
    assert_true(span_is(p.text, "a\\\""));
    assert_true(span_is(p.value, "[1,{}]"));
    p = pick("{\"number\":1.5,\"quoted\":\"x\",\"share\":null,\"flag\":1,\"text\":5}");
    assert_int_equal(p.number, -7); /* other types do not change it */
    assert_int_equal(p.quoted, -7);
    assert_int_equal(p.share, -7);
    assert_int_equal(p.flag, -7);
    assert_null(p.text.at);
    assert_int_equal(pick("{\"share\":1}").share, 1000000);
    assert_int_equal(pick("{\"share\":-0.1234567}").share, -123456);
    assert_int_equal(pick("{\"share\":1e-3}").share, -7);
    assert_int_equal(pick("{\"share\":99999999999999999999}").share, -7);
}

TEST(test_elements)
{
    const char *text = " [ 1, {\"number\":2} ,[]] ";
    struct scan array = {text, text + strlen(text)}, element;
    bool first = true;
    static const char *const want[] = {"1", "{\"number\":2}", "[]"};
    for (int i = 0; i < 3; i++) {
        assert_true(fields_next(&array, &first, &element));
        assert_true(
            span_is((struct span){element.at, (size_t)(element.end - element.at)}, want[i]));
    }
    assert_false(fields_next(&array, &first, &element));
    struct scan none = scan_of((struct span){NULL, 0});
    first = true;
    assert_false(fields_next(&none, &first, &element));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_depth),
        cmocka_unit_test(test_strings), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_fields),  cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
