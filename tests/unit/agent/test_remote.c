/* Answers of servers, also of hostile ones. */
#include "agent/remote.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

static struct remote_answer read_text(const char *json)
{
    struct remote_answer a = {0};
    a.sound = remote_read_answer(json, strlen(json), &a);
    return a;
}

TEST(test_an_answer)
{
    struct remote_answer a = read_text(
        "{\"accepted\":12,\"rejected\":2,\"errors\":[{\"line\":3,\"type\":\"kernel\",\"reason\":"
        "\"no JSON\"},{\"reason\":\"x\",\"more\":[1,{}],\"line\":9}],\"session\":\"s\",\"offset\":"
        "4096,\"repeated\":true,\"window_acknowledged\":false}");
    assert_int_equal(a.accepted, 12);
    assert_int_equal(a.rejected, 2);
    assert_int_equal(a.error_count, 2);
    assert_int_equal(a.errors[0].line, 3);
    assert_string_equal(a.errors[0].type, "kernel");
    assert_string_equal(a.errors[0].reason, "no JSON");
    assert_int_equal(a.errors[1].line, 9);
    assert_int_equal(a.offset, 4096);
    assert_true(a.repeated);
    assert_false(a.acknowledged);
    assert_true(a.sound);
    assert_true(read_text("{\"accepted_for_processing\":true}").sound);
}

TEST(test_a_problem)
{
    struct remote_answer a =
        read_text("{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":"
                  "409,\"detail\":\"a gap\\u001b[2J\",\"expected_offset\":0}");
    assert_string_equal(a.detail, "a gap [2J"); /* nothing that a terminal acts on */
    assert_int_equal(a.offset, 0);
}

TEST(test_what_is_no_answer)
{
    static const char *const texts[] = {"",
                                        "<html>",
                                        "[]",
                                        "{",
                                        "{\"accepted\":",
                                        "{\"errors\":[{\"line\":",
                                        "{\"errors\":[[[[[[",
                                        "{\"offset\":\"7\",\"accepted\":-4,\"detail\":7}",
                                        "null"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct remote_answer a = read_text(texts[i]);
        assert_int_equal(a.offset, -1);
        assert_int_equal(a.accepted, 0);
        assert_string_equal(a.detail, "");
        assert_int_equal(a.sound, i == 7); /* text 7 is an object, though a strange one */
    }
}

TEST(test_more_errors_than_are_wanted)
{
    static char text[1 << 16] = "{\"errors\":[";
    size_t n = strlen(text);
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"line\":%d}", i ? "," : "", i);
    strcpy(text + n, "],\"offset\":5}");
    struct remote_answer a = read_text(text);
    assert_int_equal(a.error_count, REMOTE_ERRORS);
    assert_int_equal(a.errors[REMOTE_ERRORS - 1].line, REMOTE_ERRORS - 1);
    assert_int_equal(a.offset, 5);
}

TEST(test_positions)
{
    const char *json = "{\"session\":\"s\",\"channels\":[{\"channel\":\"device\",\"offset\":70},"
                       "{\"offset\":8,\"channel\":\"a name that is much too long for one\"}]}";
    struct remote_positions p;
    assert_true(remote_read_positions(json, strlen(json), &p));
    assert_int_equal(p.count, 2);
    assert_string_equal(p.items[0].channel, "device");
    assert_int_equal(p.items[0].offset, 70);
    assert_true(remote_read_positions("{\"channels\":[]}", 15, &p));
    static const char *const others[] = {"{\"channels\":7}", "{\"status\":\"ok\"}", "", "<html>",
                                         "{\"channels\":[{\"chan"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(remote_read_positions(others[i], strlen(others[i]), &p));
        assert_int_equal(p.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer),
        cmocka_unit_test(test_a_problem),
        cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_more_errors_than_are_wanted),
        cmocka_unit_test(test_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
