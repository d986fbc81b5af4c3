/* test_folders.c - tests relative names of files, and a program that changes its folder. */
#include "capture/stacks/folders.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <string.h>
#include <sys/stat.h>

static char room[PATH_MAX], wanted[PATH_MAX];

/* Makes a file in a folder below the test's; returns its path. */
static const char *put(const char *folder, const char *name)
{
    char inside[256];
    mkdir(tmpdir_path(folder), 0755);
    snprintf(inside, sizeof inside, "%s/%s", folder, name);
    tmpdir_write(inside, "x", 1);
    snprintf(wanted, sizeof wanted, "%s", tmpdir_path(inside));
    return wanted;
}

static void begin_in(const char *folder, const char *started)
{
    assert_int_equal(chdir(tmpdir_path(folder)), 0);
    assert_int_equal(setenv("PWD", started, 1), 0);
    folders_begin();
    assert_int_equal(chdir("/"), 0); /* a later change does not matter */
}

TEST(test_where_the_session_began)
{
    put("work", "train.py");
    begin_in("work", "");
    assert_string_equal(folders_find("train.py", room), wanted);
    assert_string_equal(folders_find("./train.py", room), wanted);
    assert_string_equal(folders_find("././train.py", room), wanted);
}

/* The program changed its folder before the session began: PWD still has the shell's. */
TEST(test_where_the_program_was_started)
{
    char started[PATH_MAX];
    put("start", "train.py");
    mkdir(tmpdir_path("outputs"), 0755);
    snprintf(started, sizeof started, "%s", tmpdir_path("start"));
    begin_in("outputs", started);
    assert_string_equal(folders_find("train.py", room), wanted);
}

/* If two files have that name, it is unknown which one it was, unless both are the same file. */
TEST(test_two_files)
{
    char one[PATH_MAX];
    put("one", "train.py");
    snprintf(one, sizeof one, "%s", tmpdir_path("one"));
    put("other", "train.py");
    begin_in("other", one);
    assert_string_equal(folders_find("train.py", room), "train.py");
    begin_in("one", one);
    put("one", "train.py");
    assert_string_equal(folders_find("train.py", room), wanted);
}

TEST(test_what_stays)
{
    put("work", "train.py");
    mkdir(tmpdir_path("work/folder.py"), 0755);
    begin_in("work", "relative");
    assert_string_equal(folders_find("/a/train.py", room), "/a/train.py");
    assert_string_equal(folders_find("<string>", room), "<string>");
    assert_string_equal(folders_find("", room), "");
    assert_string_equal(folders_find("none.py", room), "none.py");
    assert_string_equal(folders_find("folder.py", room), "folder.py");
    char longest[PATH_MAX + 8];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_ptr_equal(folders_find(longest, room), longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_where_the_session_began, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_where_the_program_was_started, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(test_two_files, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_what_stays, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
