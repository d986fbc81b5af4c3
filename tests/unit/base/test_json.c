/* test_json.c - tests values, walks, errors, and damaged texts. */
#include "base/json.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes what the reader delivers, in a notation of this test; returns false on an error. */
static bool dump(struct json *j, struct json_value v, char *out, size_t *len, size_t size)
{
    char text[256];
#define SAY(...) (*len += (size_t)snprintf(out + *len, size - *len, __VA_ARGS__))
    switch (v.type) {
    case JSON_NULL:
        SAY("null");
        return true;
    case JSON_BOOL:
        SAY(v.boolean ? "true" : "false");
        return v.integer == v.boolean;
    case JSON_INT:
        SAY("%lld", (long long)v.integer);
        return true;
    case JSON_DOUBLE:
        SAY("~%.17g", v.number);
        return true;
    case JSON_STRING:
        json_text(v, text, sizeof text);
        SAY("'%s'", text);
        return true;
    case JSON_OBJECT:
    case JSON_ARRAY:
        SAY(v.type == JSON_OBJECT ? "{" : "[");
        for (;;) {
            char key[64];
            struct json_value inner =
                v.type == JSON_OBJECT ? json_key(j, key, sizeof key) : json_next(j);
            if (inner.type == JSON_END)
                break;
            if (inner.type == JSON_ERROR)
                return false;
            if (v.type == JSON_OBJECT)
                SAY("%s:", key);
            if (*len > size / 2 || !dump(j, inner, out, len, size))
                return false;
            SAY(";");
        }
        SAY(v.type == JSON_OBJECT ? "}" : "]");
        return true;
    case JSON_END:
    case JSON_ERROR:
        break;
    }
    return false;
#undef SAY
}

/* Reads one whole text from a copy of its exact size, so that sanitizers see a read beyond it. */
static bool read_text(const char *text, size_t n, char *out, size_t size)
{
    char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, text, n);
    struct json j;
    json_init(&j, copy, n);
    size_t len = 0;
    out[0] = '\0';
    bool ok = dump(&j, json_read(&j), out, &len, size) && json_read(&j).type == JSON_END;
    if (!ok && j.error && (j.error_at < copy || j.error_at > copy + n))
        abort();
    free(copy);
    return ok;
}

static void accept(const char *text, const char *want)
{
    char out[1024];
    if (!read_text(text, strlen(text), out, sizeof out))
        fail_msg("refused: %s", text);
    assert_string_equal(out, want);
}

static void refuse(const char *text)
{
    char out[4096];
    if (read_text(text, strlen(text), out, sizeof out))
        fail_msg("accepted: %s", text);
}

TEST(test_scalars)
{
    accept("null", "null");
    accept(" true ", "true");
    accept("false\n", "false");
    accept("0", "0");
    accept("-0", "0");
    accept("9223372036854775807", "9223372036854775807");
    accept("-9223372036854775808", "-9223372036854775808");
    accept("9223372036854775808", "~9.2233720368547758e+18");
    accept("-9223372036854775809", "~-9.2233720368547758e+18");
    accept("1.5", "~1.5");
    accept("-1e3", "~-1000");
    accept("1E-2", "~0.01");
    accept("0.5e+1", "~5");
    accept("123456789012345678901234567890", "~1.2345678901234568e+29");
    accept("\"text\"", "'text'");
    accept("\"\"", "''");
}

TEST(test_structures)
{
    accept("{}", "{}");
    accept("[]", "[]");
    accept(" { } ", "{}");
    accept("[1,2,3]", "[1;2;3;]");
    accept("[[],[[]],{}]", "[[];[[];];{};]");
    accept("{\"a\":1,\"b\":[true,null],\"c\":{\"d\":\"e\"}}", "{a:1;b:[true;null;];c:{d:'e';};}");
    accept("[\r\n\t 1 ,\n [ ] , { } ]", "[1;[];{};]");
    accept("{\"[\":\"{\"}", "{[:'{';}");
    accept("[\"[\",\"]\"]", "['[';']';]");
    accept("{\"a\":1,\"a\":2}", "{a:1;a:2;}"); /* the caller decides about duplicates */
}

TEST(test_strings)
{
    accept("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t'");
    accept("\"\\u0041\\u00e9\\u20ac\"", "'A\xc3\xa9\xe2\x82\xac'");
    accept("\"\\ud83d\\ude00\"", "'\xf0\x9f\x98\x80'");
    accept("\"\\uD83Dx\"", "'\xef\xbf\xbdx'");
    accept("\"\\ude00\"", "'\xef\xbf\xbd'");
    accept("\"\\ud83d\\u0041\"", "'\xef\xbf\xbd"
                                 "A'");
    accept("\"raw\ttab\"", "'raw\ttab'"); /* tolerated */
    accept("\"\xff\xc3\"", "'\xff\xc3'");
    accept("{\"k\\u0065y\":1}", "{key:1;}");
}

TEST(test_refused)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "nul",
                                      "True",
                                      "+1",
                                      "01",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "--1",
                                      "0x10",
                                      "NaN",
                                      "\"",
                                      "\"a",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\",
                                      "[",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "[1}",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:2}",
                                      "{\"a\" 1}",
                                      "{,}",
                                      "{\"a\":}",
                                      "]",
                                      "}",
                                      "1 2",
                                      "[]]",
                                      "{}{",
                                      "[1,,2]",
                                      "'a'",
                                      "{\"a\":1]",
                                      "-a",
                                      "\"\\u\"",
                                      "[1]x",
                                      "{\"a\":1\"b\":2}",
                                      "1.e5",
                                      "[\"a\" \"b\"]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(bad[i]);
}

TEST(test_depth)
{
    char text[200], out[512];
    for (int depth = 1; depth <= 64; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(read_text(text, (size_t)depth * 2, out, sizeof out), depth <= 32);
    }
    memset(text, '[', sizeof text); /* skipping is bounded too */
    struct json j;
    json_init(&j, text, sizeof text);
    assert_false(json_skip(&j, json_read(&j)));
    assert_string_equal(j.error, "nested too deeply");
}

TEST(test_skip)
{
    static const char text[] = "{\"a\":{\"x\":[1,{\"y\":[]}],\"z\":\"}\"},\"b\":7,\"c\":[[1],2]}";
    struct json j;
    char key[8];
    json_init(&j, text, sizeof text - 1);
    assert_int_equal(json_read(&j).type, JSON_OBJECT);
    struct json_value v = json_key(&j, key, sizeof key);
    assert_string_equal(key, "a");
    assert_true(json_skip(&j, v));
    v = json_key(&j, key, sizeof key);
    assert_string_equal(key, "b");
    assert_int_equal(v.integer, 7);
    assert_true(json_skip(&j, v)); /* a scalar is already passed */
    v = json_key(&j, key, sizeof key);
    assert_true(json_skip(&j, v));
    assert_int_equal(json_key(&j, key, sizeof key).type, JSON_END);
    assert_int_equal(json_read(&j).type, JSON_END);
    assert_int_equal(json_next(&j).type, JSON_ERROR); /* nothing is open */
}

/* Counts members; ends the walk at "stop". */
static bool count_member(struct json *j, const char *key, struct json_value v, void *to)
{
    ++*(int *)to;
    return strcmp(key, "stop") != 0 && json_skip(j, v);
}

TEST(test_members)
{
    static const struct {
        const char *text;
        int members;
        bool whole;
    } rows[] = {{"{\"a\":1,\"b\":{\"c\":2},\"d\":[3,{\"e\":4}]}", 3, true},
                {"{\"a\":1,\"stop\":2,\"b\":3}", 2, false},
                {"{\"a\":1,\"b\"", 1, false},
                {"{}", 0, true},
                {"[1]", 0, false},
                {"", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int members = 0;
        assert_int_equal(json_document(rows[i].text, strlen(rows[i].text), count_member, &members),
                         rows[i].whole);
        assert_int_equal(members, rows[i].members);
    }
}

TEST(test_text_is_cut_at_a_character)
{
    static const char text[] = "\"ab\\u20ac\xf0\x9f\x98\x80z\"";
    struct json j;
    json_init(&j, text, sizeof text - 1);
    struct json_value v = json_read(&j);
    static const char *const want[] = {
        "", "", "a", "ab", "ab", "ab", "ab\xe2\x82\xac", "ab\xe2\x82\xac"};
    char out[16];
    for (size_t size = 1; size < sizeof want / sizeof want[0]; size++) {
        assert_int_equal(json_text(v, out, size), 10);
        assert_string_equal(out, want[size]);
    }
    assert_int_equal(json_text(v, NULL, 0), 10);
    assert_int_equal(json_text(v, out, 11), 10);
    assert_string_equal(out, "ab\xe2\x82\xac\xf0\x9f\x98\x80z");
}

TEST(test_error_sticks_with_its_place)
{
    static const char text[] = "[1, x, 2]";
    struct json j;
    json_init(&j, text, sizeof text - 1);
    json_read(&j);
    json_next(&j);
    assert_int_equal(json_next(&j).type, JSON_ERROR);
    assert_ptr_equal(j.error_at, text + 4);
    assert_non_null(j.error);
    assert_int_equal(json_next(&j).type, JSON_ERROR);
    assert_int_equal(json_read(&j).type, JSON_ERROR);
}

TEST(test_long_number)
{
    char text[700], out[64];
    memset(text, '1', sizeof text);
    assert_false(read_text(text, sizeof text, out, sizeof out));
    assert_true(read_text(text, 300, out, sizeof out));
}

/* A text that no json_read has checked, because other readers pass it on: an invalid escape
 * becomes U+FFFD, and what follows it is kept. */
TEST(test_broken_escapes)
{
    static const char *const texts[][2] = {
        {"\\u12", "\xef\xbf\xbd"
                  "12"},
        {"a\\u", "a\xef\xbf\xbd"},
        {"\\u12g4b", "\xef\xbf\xbd"
                     "12g4b"},
        {"\\ud83d\\u", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\\u0041", "A"},
        {"a\\", "a\\"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = strlen(texts[i][0]);
        char *raw = malloc(n), out[32]; /* ends where the heap block ends */
        memcpy(raw, texts[i][0], n);
        struct json_value v = {.type = JSON_STRING, .raw = raw, .raw_len = n};
        assert_int_equal(json_text(v, out, sizeof out), strlen(texts[i][1]));
        assert_string_equal(out, texts[i][1]);
        free(raw);
    }
}

/* Every text is cut everywhere, and has every byte replaced: the reader does not crash (the copy
 * is exact, so sanitizers see each byte read too far), and it ends. */
TEST(test_mutilated_texts)
{
    static const char *const corpus[] = {
        "{\"a\":{\"x\":[1,{\"y\":[]}],\"z\":\"}\"},\"b\":-7.5e+3,\"c\":[[true],null]}",
        "[\"\\u0041\\ud83d\\ude00\\n\",\"\xf0\x9f\x98\x80\",-0.0,12345678901234567890]",
        "{\"type\":\"header\",\"format\":1,\"session\":\"0\",\"clock\":[1,2,3]}"};
    char out[2048], text[256];
    long accepted = 0;
    for (size_t c = 0; c < sizeof corpus / sizeof corpus[0]; c++) {
        size_t n = strlen(corpus[c]);
        for (size_t cut = 0; cut < n; cut++)
            assert_false(read_text(corpus[c], cut, out, sizeof out));
        for (size_t at = 0; at < n; at++)
            for (int byte = 0; byte < 256; byte++) {
                memcpy(text, corpus[c], n);
                text[at] = (char)byte;
                accepted += read_text(text, n, out, sizeof out);
            }
        for (size_t at = 0; at + 1 < n; at++) { /* a byte left out, one doubled */
            memcpy(text, corpus[c], at);
            memcpy(text + at, corpus[c] + at + 1, n - at - 1);
            accepted += read_text(text, n - 1, out, sizeof out);
            memcpy(text, corpus[c], at + 1);
            memcpy(text + at + 1, corpus[c] + at, n - at);
            accepted += read_text(text, n + 1, out, sizeof out);
        }
    }
    assert_true(accepted > 1000); /* most bytes of strings may be anything */
}

/* NULs of a text are replaced, so that a reader of C strings gets all of it. */
TEST(test_no_nul)
{
    char text[] = "\0a\0\0b\0";
    json_text_no_nul(text, sizeof text - 1);
    assert_string_equal(text, "?a??b?");
    json_text_no_nul(text, 0);
    json_text_no_nul(text, 6);
    assert_string_equal(text, "?a??b?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_text_is_cut_at_a_character),
        cmocka_unit_test(test_error_sticks_with_its_place),
        cmocka_unit_test(test_long_number),
        cmocka_unit_test(test_broken_escapes),
        cmocka_unit_test(test_mutilated_texts),
        cmocka_unit_test(test_no_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
