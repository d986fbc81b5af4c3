/* test_traced.c - the session that a process writes, from the links of its open files. */
#include "monitor/traced.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "01234567-89ab-cdef-0123-456789abcdef"

static const struct {
    const char *link;
    bool found;
} cases[] = {
    {"/logs/" ID "/scope.log", true},
    {"/logs/" ID "/system.log", true},
    {"/a b/\x1b[31m/" ID "/code.log", true},
    /* Paths that only look like a session's. */
    {"/logs/" ID "/other.log", false},
    {"/logs/" ID "/device.1.log.gz", false},
    {"/logs/x" ID "/device.log", false},
    {"/logs/01234567-89AB-cdef-0123-456789abcdef/device.log", false},
    {"/logs/01234567_89ab_cdef_0123_456789abcdef/device.log", false},
    {ID "/device.log", false},
    {"/device.log", false},
    {"socket:[12345]", false},
};

static void link_to(const char *target)
{
    const char *path = tmpdir_path("7/fd/5");
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

TEST(open_logs_name_the_session)
{
    char session[TRACED_SESSION], folder[256];
    mkdir(tmpdir_path("7"), 0700);
    mkdir(tmpdir_path("7/fd"), 0700);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        link_to(cases[i].link);
        assert_int_equal(traced_session(tmpdir, 7, session, folder, sizeof folder), cases[i].found);
        assert_string_equal(session, cases[i].found ? ID : "");
        if (cases[i].found)
            assert_memory_equal(folder, cases[i].link, strlen(folder));
    }
}

/* The session's files are in one thread's table: only the table of gpufl's own thread counts. */
TEST(the_thread_that_has_the_files)
{
    char session[TRACED_SESSION];
    link_to("socket:[12345]");
    mkdir(tmpdir_path("7/task"), 0700);
    mkdir(tmpdir_path("7/task/8"), 0700);
    mkdir(tmpdir_path("7/task/8/fd"), 0700);
    assert_int_equal(symlink("/logs/" ID "/scope.log", tmpdir_path("7/task/8/fd/0")), 0);
    tmpdir_write("7/task/8/comm", "python\n", 7);
    assert_false(traced_session(tmpdir, 7, session, NULL, 0));
    tmpdir_write("7/task/8/comm", "gpufl-files\n", 12);
    assert_true(traced_session(tmpdir, 7, session, NULL, 0));
    assert_string_equal(session, ID);
}

TEST(a_folder_that_does_not_fit)
{
    char session[TRACED_SESSION], folder[8] = "?";
    link_to("/logs/" ID "/scope.log");
    assert_true(traced_session(tmpdir, 7, session, folder, sizeof folder));
    assert_string_equal(session, ID);
    assert_string_equal(folder, "");
    assert_true(traced_session(tmpdir, 7, session, NULL, 0));
}

TEST(a_process_that_is_gone)
{
    char session[TRACED_SESSION] = "?";
    assert_false(traced_session(tmpdir, 8, session, NULL, 0));
    assert_string_equal(session, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_logs_name_the_session),
                                       cmocka_unit_test(the_thread_that_has_the_files),
                                       cmocka_unit_test(a_folder_that_does_not_fit),
                                       cmocka_unit_test(a_process_that_is_gone)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
