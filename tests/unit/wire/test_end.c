/* test_end.c - tests lines that end a session, and those that only look like it. */
#include "tests/test.h"
#include "wire/end.h"

#include <stdio.h>
#include <string.h>

static bool ends(const char *line)
{
    return wire_line_ends(line, strlen(line));
}

TEST(test_both_formats)
{
    assert_true(ends("{\"type\":\"end\",\"ts\":5,\"reason\":\"exit\"}"));
    assert_true(ends("{\"version\":1,\"ts_ns\":[\"}\"],\"type\":\"shutdown\",\"pid\":3}"));
    assert_true(ends(" { \"type\" : \"end\" } "));
}

TEST(test_what_only_looks_like_it)
{
    static const char *const lines[] = {
        "",
        "\"end\"",
        "[\"type\",\"end\"]",
        "{\"type\":\"header\",\"app\":\"end\"}",
        "{\"of\":{\"type\":\"end\"},\"type\":\"scope\"}",
        "{\"type\":[\"end\"]}",
        "{\"type\":\"endless\",\"name\":\"end\"}",
        "{\"name\":\"end\",\"type\"",
        "{\"kind\":\"end\"}",
        "{\"name\":\"end\" \"type\":\"end\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(ends(lines[i]));
    assert_false(wire_line_ends("{\"type\":\"end\"}", 9)); /* the rest is not written yet */
}

TEST(test_a_long_line_is_none)
{
    char line[8192];
    int n = snprintf(line, sizeof line, "{\"type\":\"end\",\"reason\":\"%*s\"}", 5000, "");
    assert_false(wire_line_ends(line, (size_t)n));
    n = snprintf(line, sizeof line, "{\"type\":\"end\",\"reason\":\"%*s\"}", 4000, "");
    assert_true(wire_line_ends(line, (size_t)n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_formats),
        cmocka_unit_test(test_what_only_looks_like_it),
        cmocka_unit_test(test_a_long_line_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
