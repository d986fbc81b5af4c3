/* test_trace_place.c - names and directories of runs. */
#include "cli/trace/program/place.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

TEST(names_of_commands)
{
    static const struct {
        const char *argv[6];
        const char *name;
    } cases[] = {
        {{"./train"}, "train"},
        {{"/opt/x/train.bin", "--epochs"}, "train.bin"},
        {{"python", "dir/train.py", "x.py"}, "train"},
        {{"python3.11", "-u", "train.py"}, "train"},
        {{"python3", "-m", "torch.distributed.run", "t.py"}, "torch.distributed.run"},
        {{"python3", "-W", "ignore", "t.py"}, "t"},
        {{"python3", "-c", "import torch"}, "python3"},
        {{"python3"}, "python3"},
        {{"python3", "-m"}, "python3"},
        {{"bash", "run.sh"}, "run"},
        {{"pythonic", "a.py"}, "pythonic"},
        {{"dir/"}, "program"},
        {{"a\nb"}, "a b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[PLACE_NAME_SIZE];
        place_name_command((char *const *)cases[i].argv, name, sizeof name);
        assert_string_equal(name, cases[i].name);
    }
}

static void identify(struct place *p, const char *name)
{
    struct err e = {0};
    char *const command[] = {(char *)"prog", NULL};
    assert_int_equal(place_identify(p, name, command, &e), 0);
}

/* A run gets a UUID of version 4, a different one each time. */
TEST(run_ids)
{
    struct place a, b;
    identify(&a, NULL);
    identify(&b, NULL);
    assert_int_equal(strlen(a.run), 36);
    assert_int_equal(strspn(a.run, "0123456789abcdef-"), 36);
    assert_int_equal(a.run[14], '4');
    assert_non_null(strchr("89ab", a.run[19]));
    assert_string_not_equal(a.run, b.run);
    assert_string_equal(a.name, "prog");
}

/* The default directory's name has the program, the time and the run, and no character that a shell
 * treats specially. The directory is removed if it is empty. */
TEST(default_directory)
{
    struct place p;
    struct err e = {0};
    assert_int_equal(chdir(tmpdir), 0);
    identify(&p, "my/na me\303\244$");
    assert_int_equal(place_make_dir(&p, NULL, &e), 0);
    assert_int_equal(strncmp(p.shown, "./gpufl-my_na_me___-", 20), 0);
    assert_int_equal(strspn(p.shown + 20, "0123456789"), 8);
    assert_int_equal(p.dir[0], '/');
    assert_non_null(strstr(p.shown, (char[9]){p.run[0], p.run[1], p.run[2], p.run[3], p.run[4],
                                              p.run[5], p.run[6], p.run[7], 0}));
    assert_int_equal(access(p.dir, W_OK), 0);
    char dir[PATH_MAX];
    memcpy(dir, p.dir, sizeof dir);
    place_drop_empty(&p);
    assert_int_not_equal(access(dir, F_OK), 0);
}

/* A directory that existed before stays, even if it is empty; one with files in it stays, too. */
TEST(given_directory)
{
    struct place p;
    struct err e = {0};
    assert_int_equal(chdir(tmpdir), 0);
    assert_int_equal(mkdir("there", 0700), 0);
    identify(&p, NULL);
    assert_int_equal(place_make_dir(&p, "there", &e), 0);
    assert_false(p.created);
    place_drop_empty(&p);
    assert_int_equal(access("there", F_OK), 0);

    identify(&p, NULL);
    assert_int_equal(place_make_dir(&p, "a/b/c", &e), 0);
    assert_true(p.created);
    assert_int_equal(mkdir("a/b/c/session", 0700), 0);
    place_drop_empty(&p);
    assert_int_equal(access("a/b/c/session", F_OK), 0);
}

TEST(impossible_directories)
{
    struct place p;
    struct err e = {0};
    assert_int_equal(chdir(tmpdir), 0);
    FILE *f = fopen("file", "w");
    assert_non_null(f);
    fclose(f);
    identify(&p, NULL);
    assert_int_not_equal(place_make_dir(&p, "file", &e), 0);
    assert_int_not_equal(place_make_dir(&p, "file/x", &e), 0);
    assert_int_not_equal(place_make_dir(&p, "/proc/x", &e), 0);
    assert_int_not_equal(place_make_dir(&p, "new\nline", &e), 0);
    assert_string_equal(p.dir, "");
}

TEST(library_by_name)
{
    struct place p = {0};
    struct err e = {0};
    setenv("GPUFL_LIBRARY", "/not/there.so", 1);
    assert_int_equal(place_find_library(&p, &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "/not/there.so"));
    setenv("GPUFL_LIBRARY", "/proc/../etc/passwd", 1);
    assert_int_equal(place_find_library(&p, &e), 0);
    assert_string_equal(p.library, "/etc/passwd");
    unsetenv("GPUFL_LIBRARY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_commands),
        cmocka_unit_test(run_ids),
        cmocka_unit_test_setup_teardown(default_directory, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(given_directory, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(impossible_directories, tmpdir_open, tmpdir_close),
        cmocka_unit_test(library_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
