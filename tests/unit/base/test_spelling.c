/* test_spelling.c - tests paths that are not UTF-8 as text, and back. */
#include "base/file/spelling.h"
#include "tests/test.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *path, *text;
} rows[] = {
    {"/srv/train", "/srv/train"},
    {"/srv/\xc3\xa9t\xc3\xa9/w", "/srv/\xc3\xa9t\xc3\xa9/w"},
    {"/b\xff\xfe/w", "/b\\xff\\xfe/w"},
    {"/latin\xe9", "/latin\\xe9"},
    {"/cut\xc3", "/cut\\xc3"},
    {"/over\xc0\xaf", "/over\\xc0\\xaf"},
    {"/a\\xff", "/a\\x5cxff"},                /* a name that looks like such a text */
    {"/a\\x5cxff\xff", "/a\\x5cx5cxff\\xff"}, /* a name that looks like the text of such a name */
    {"/a\\xFF\\xg0\\x", "/a\\xFF\\xg0\\x"},   /* no spellings */
    {"", ""},
};

TEST(known_paths)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[SPELLING_ROOM], path[PATH_MAX];
        const char *got = spelling_of(rows[i].path, text);
        assert_string_equal(got, rows[i].text);
        assert_string_equal(spelling_path(got, path), rows[i].path);
        if (!strcmp(rows[i].path, rows[i].text))
            assert_ptr_equal(got, rows[i].path);
    }
}

static bool is_utf8(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n;) {
        size_t len =
            (unsigned char)s[i] < 0x80 ? 1 : utf8_sequence((const unsigned char *)s + i, n - i);
        if (!len)
            return false;
        i += len;
    }
    return true;
}

/* Every path is the same after both conversions, and its text is UTF-8. */
TEST(any_path)
{
    static const char alphabet[] = "/\\x5cf0\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x80z";
    unsigned seed = 7;
    for (int i = 0; i < 20000; i++) {
        char path[24] = "", text[SPELLING_ROOM], back[PATH_MAX];
        size_t n = (size_t)rand_r(&seed) % (sizeof path - 1);
        for (size_t k = 0; k < n; k++)
            path[k] = alphabet[(size_t)rand_r(&seed) % (sizeof alphabet - 1)];
        const char *got = spelling_of(path, text);
        assert_true(is_utf8(got));
        assert_string_equal(spelling_path(got, back), path);
    }
}

TEST(long_paths_are_cut)
{
    static char path[2 * PATH_MAX], text[SPELLING_ROOM], back[PATH_MAX];
    memset(path, 0xff, sizeof path - 1);
    assert_int_equal(strlen(spelling_of(path, text)), (SPELLING_ROOM - 1) / 4 * 4);
    assert_int_equal(strlen(spelling_path(text, back)), PATH_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_paths),
        cmocka_unit_test(any_path),
        cmocka_unit_test(long_paths_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
