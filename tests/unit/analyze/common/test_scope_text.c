/* Scopes as text: a path means one scope, whatever letters the names have. */
#include "analyze/common/scope_text.h"

#include "tests/test.h"

#include <string.h>

/* Each path, with its names as they are. */
static const struct {
    const char *path, *names[4];
} paths[] = {
    {"epoch|step", {"epoch", "step"}},   {"epoch\\|step", {"epoch|step"}},
    {"a\\\\|b", {"a\\", "b"}},           {"a\\\\\\|b|c", {"a\\|b", "c"}},
    {"a;b c/d|e:f", {"a;b c/d", "e:f"}}, {"|x", {"", "x"}},
};

TEST(test_names_to_paths_and_back)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char made[64], *end = made, name[64];
        size_t at = 0, len = strlen(paths[i].path);
        for (size_t n = 0; n < 4 && paths[i].names[n]; n++) {
            const char *want = paths[i].names[n];
            if (n)
                *end++ = '|';
            assert_int_equal(scope_text_put(end, want) - end, scope_text_size(want));
            end += scope_text_size(want);
            size_t one = scope_text_first(paths[i].path + at, len - at);
            assert_true(scope_text_is(paths[i].path + at, one, want));
            assert_int_equal(scope_text_plain(name, paths[i].path + at, one), strlen(want));
            assert_memory_equal(name, want, strlen(want));
            at += one + 1;
        }
        assert_int_equal(at, len + 1);
        assert_int_equal(end - made, len);
        assert_memory_equal(made, paths[i].path, len);
    }
}

TEST(test_is_the_whole_name)
{
    assert_false(scope_text_is("ab", 2, "a"));
    assert_false(scope_text_is("a", 1, "ab"));
    assert_false(scope_text_is("a\\|b", 4, "a\\"));
    assert_true(scope_text_is("", 0, ""));
}

TEST(test_the_scope_around)
{
    assert_int_equal(scope_text_outer("a|b|c", 5), 3);
    assert_int_equal(scope_text_outer("a|b\\|c", 6), 1);
    assert_int_equal(scope_text_outer("a\\|b", 4), 0);
    assert_int_equal(scope_text_outer("a\\\\|b", 5), 3);
    assert_int_equal(scope_text_outer("", 0), 0);
}

/* In paths from before names were escaped, a backslash before any other letter is a backslash. */
TEST(test_older_paths)
{
    char name[16];
    assert_int_equal(scope_text_plain(name, "C:\\dir\\", 7), 7);
    assert_memory_equal(name, "C:\\dir\\", 7);
    assert_int_equal(scope_text_first("C:\\dir|x", 8), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_to_paths_and_back),
        cmocka_unit_test(test_is_the_whole_name),
        cmocka_unit_test(test_the_scope_around),
        cmocka_unit_test(test_older_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
