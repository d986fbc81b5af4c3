/* test_trace_compress.c - a session's parts are compressed without losing a byte. */
#include "cli/trace/outcome/compress.h"
#include "tests/test.h"

#include "base/file/file.h"
#include "base/packed/lines.h"

#include <string.h>
#include <sys/stat.h>

#include "tests/unit/support/tmpdir.h"

#define HEADER(part)                                                                               \
    "{\"type\":\"header\",\"format\":1,\"session\":\"id\",\"channel\":\"device\",\"part\":" part   \
    ",\"offset\":0,\"app\":\"a\",\"pid\":1,\"host\":\"h\",\"run\":\"r\"}\n"

static void put(const char *name, const char *text)
{
    tmpdir_write(name, text, strlen(text));
}

/* Checks the second line of a file, plain or packed. */
static void check_second_line(const char *name, const char *expected)
{
    struct lines *l;
    char *line;
    size_t len;
    bool complete;
    assert_int_equal(lines_open(&l, tmpdir_path(name), 1 << 20, NULL), 0);
    assert_true(lines_next(l, &line, &len, &complete));
    assert_true(lines_next(l, &line, &len, &complete));
    assert_string_equal(line, expected);
    assert_false(lines_truncated(l));
    lines_close(l);
}

TEST(every_part_is_compressed)
{
    struct err e = {0};
    put("device.1.log", HEADER("1") "first");
    put("device.log", HEADER("2") "second");
    put("system.log", HEADER("1") "system");
    put("notes.txt", "kept");
    assert_int_equal(compress_session(tmpdir, &e), 0);
    check_second_line("device.1.log.gz", "first");
    check_second_line("device.2.log.gz", "second");
    check_second_line("system.1.log.gz", "system");
    assert_false(file_exists(tmpdir_path("device.1.log")));
    assert_false(file_exists(tmpdir_path("device.log")));
    assert_false(file_exists(tmpdir_path("system.log")));
    assert_true(file_exists(tmpdir_path("notes.txt")));
    assert_int_equal(compress_session(tmpdir, &e), 0); /* again: nothing left to do */
}

/* The library was killed between the two steps of its own compression: the packed part is complete
 * under its name, and is made again from the plain one. */
TEST(part_there_twice)
{
    struct err e = {0};
    put("device.1.log", HEADER("1") "right");
    put("device.1.log.gz", "half a fi");
    assert_int_equal(compress_session(tmpdir, &e), 0);
    check_second_line("device.1.log.gz", "right");
    assert_false(file_exists(tmpdir_path("device.1.log")));
}

/* A part whose number is in use overwrites nothing. A file without a header stays, and an empty
 * file is removed. */
TEST(doubtful_files_stay)
{
    struct err e = {0};
    put("device.2.log.gz", HEADER("2") "other");
    put("device.log", HEADER("2") "mine");
    put("scope.log", "no header here\n");
    put("code.log", "");
    put(".log", HEADER("1"));
    assert_int_equal(compress_session(tmpdir, &e), 0);
    check_second_line("device.2.log.gz", "other");
    check_second_line("device.log", "mine");
    assert_true(file_exists(tmpdir_path("scope.log")));
    assert_false(file_exists(tmpdir_path("code.log"))); /* nothing was written to it */
}

TEST(failure_is_reported)
{
    struct err e = {0};
    assert_int_not_equal(compress_session(tmpdir_path("none"), &e), 0);
    assert_non_null(strstr(e.text, "none"));
    put("device.1.log", HEADER("1") "kept");
    mkdir(tmpdir_path("device.1.log.gz"), 0700);
    mkdir(tmpdir_path("device.1.log.gz/x"), 0700);
    assert_int_not_equal(compress_session(tmpdir, &e), 0);
    check_second_line("device.1.log", "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_part_is_compressed, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(part_there_twice, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(doubtful_files_stay, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(failure_is_reported, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
