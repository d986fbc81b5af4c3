/* test_printable.c - control characters for a terminal are removed, all others are kept. */
#include "base/printable.h"
#include "tests/test.h"

#include <string.h>

TEST(test_clean)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"plain name<int>", "plain name<int>"},
        {"\033]0;title\a\n\t\r\177", " ]0;title     "},
        {"Gr\xc3\xbc\xc3\x9f\x65 \xe6\xbc\xa2 \xf0\x9f\x8c\xb1",
         "Gr\xc3\xbc\xc3\x9f\x65 \xe6\xbc\xa2 \xf0\x9f\x8c\xb1"},
        {"csi \xc2\x9b"
         "31m",
         "csi ??31m"},
        {"no-break\xc2\xa0space", "no-break\xc2\xa0space"},
        {"not utf-8 \x9b"
         "31m \xff\xc3",
         "not utf-8 ?31m ??"},
        {"turn \xe2\x80\xae back \xe2\x81\xa6", "turn ??? back ???"},
        {"\xe2\x80\xa6 \xe2\x81\xa5", "\xe2\x80\xa6 \xe2\x81\xa5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        strcpy(text, cases[i].from);
        printable_clean(text, strlen(text));
        assert_string_equal(text, cases[i].to);
    }
}

/* Bytes after n are neither changed nor read. */
TEST(test_ends_at_n)
{
    char text[] = "ab\xc3\xbc\n";
    printable_clean(text, 3);
    assert_string_equal(text, "ab?\xbc\n");
}

/* A text is cut between characters, whatever their length; invalid UTF-8 may be cut anywhere. */
TEST(test_cut_and_copied)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1, 2, 3, 4, 1 bytes */
    static const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    char out[8];
    for (size_t most = 0; most < sizeof ends / sizeof *ends; most++)
        assert_int_equal(printable_cut(text, sizeof text - 1, most), ends[most]);
    assert_int_equal(printable_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 2);
    assert_int_equal(printable_copy(out, sizeof out, text, sizeof text - 1), 6);
    assert_string_equal(out, "a\xc3\xa4\xe2\x82\xac");
    assert_int_equal(printable_copy(out, sizeof out,
                                    "\n\xff"
                                    "b",
                                    3),
                     3);
    assert_string_equal(out, " ?b");
    assert_int_equal(printable_copy(out, 1, text, sizeof text - 1), 0);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_and_copied),
                                       cmocka_unit_test(test_clean),
                                       cmocka_unit_test(test_ends_at_n)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
