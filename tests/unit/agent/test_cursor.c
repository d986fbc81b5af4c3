/* Tests what the agent remembers on disk: marks and sessions that are done, over restarts and
 * crashes. */
#include "agent/send/cursor.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct cursor *open_cursor(const char *folder)
{
    struct cursor *c;
    struct err e = {0};
    if (cursor_open(&c, folder, &e))
        fail_msg("%s", e.text);
    return c;
}

TEST(test_what_was_set_is_there_after_a_restart)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", tmpdir_path("state"));
    struct cursor *c = open_cursor(folder);
    assert_int_equal(cursor_mark(c, "one", "device"), -1);
    assert_int_equal(cursor_set_mark(c, "one", "device", 100, true, NULL), 0);
    assert_int_equal(cursor_set_mark(c, "one", "scope", 7, false, NULL), 0);
    assert_int_equal(cursor_set_mark(c, "one", "device", 200, false, NULL), 0);
    assert_int_equal(cursor_set_mark(c, "one", "scope", -1, false, NULL), 0);
    assert_int_equal(cursor_set_done(c, "two", 1234567890123456789, 77, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cursor_mark(c, "one", "device"), 200);
        assert_int_equal(cursor_mark(c, "one", "scope"), -1);
        assert_true(cursor_is_done(c, "two", 1234567890123456789));
        assert_int_equal(cursor_done_sum(c, "two"), 77);
        assert_int_equal(cursor_done_sum(c, "one"), -1);
        assert_false(cursor_is_done(c, "two", 1234567890123456788));
        assert_false(cursor_is_done(c, "one", 0));
        assert_int_equal(cursor_done_count(c), 1);
        cursor_close(c);
        c = open_cursor(folder);
    }
    cursor_forget(c, "two");
    cursor_close(c);
    c = open_cursor(folder);
    assert_int_equal(cursor_done_count(c), 0);
    cursor_close(c);
}

TEST(test_a_line_that_a_crash_cut_off)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", tmpdir_path("torn"));
    struct cursor *c = open_cursor(folder);
    assert_int_equal(cursor_set_mark(c, "one", "device", 100, true, NULL), 0);
    cursor_close(c);
    char path[300];
    snprintf(path, sizeof path, "%s/cursor", folder);
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "m one device 9999", 17), 17); /* cut off: 99990, perhaps */
    close(fd);
    c = open_cursor(folder);
    assert_int_equal(cursor_mark(c, "one", "device"), 100);
    cursor_close(c);
}

TEST(test_the_file_does_not_grow_without_end)
{
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", tmpdir_path("grows"));
    snprintf(path, sizeof path, "%s/cursor", folder);
    struct cursor *c = open_cursor(folder);
    for (int64_t i = 0; i < 100000; i++)
        assert_int_equal(cursor_set_mark(c, "one", "device", i, false, NULL), 0);
    assert_int_equal(cursor_mark(c, "one", "device"), 99999);
    assert_in_range(file_size(path), 1, 25000 * 30);
    cursor_close(c);
}

TEST(test_one_agent_a_folder)
{
    struct cursor *c = open_cursor(tmpdir_path("mine")), *other;
    struct err e = {0};
    assert_int_equal(cursor_open(&other, tmpdir_path("mine"), &e), GPUFL_E_STATE);
    assert_non_null(strstr(e.text, "another gpufl-agent works with"));
    assert_null(other);
    cursor_close(c);
    cursor_close(open_cursor(tmpdir_path("mine")));
}

TEST(test_a_file_of_another_program)
{
    struct cursor *c;
    struct err e = {0};
    assert_int_equal(file_mkdirs(tmpdir_path("other"), 0700, NULL), 0);
    tmpdir_write("other/cursor", "{\"streams\":{}}\n", 15);
    assert_int_equal(cursor_open(&c, tmpdir_path("other"), &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "is no cursor of gpufl-agent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_set_is_there_after_a_restart),
        cmocka_unit_test(test_a_line_that_a_crash_cut_off),
        cmocka_unit_test(test_the_file_does_not_grow_without_end),
        cmocka_unit_test(test_one_agent_a_folder),
        cmocka_unit_test(test_a_file_of_another_program),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
