/* test_files.c - stacks of programs whose files are gone when the session is read, or have odd
 * names: the report still has functions and lines. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *library(void)
{
    return built_file("fake/libfiles_plug.so");
}

/* The line of a source of these tests that has this mark in it. */
static int64_t line_of(const char *source, const char *mark)
{
    char path[PATH_MAX], text[256];
    snprintf(path, sizeof path, "%s/%s", FAKE_SOURCES, source);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int64_t line = 1;
    for (; fgets(text, sizeof text, f) && !strstr(text, mark); line++)
        continue;
    fclose(f);
    return line;
}

static void run_files(struct run *r, const char *mode, const char *plug)
{
    run_all(r, &(struct run_setup){.binary = "fake/fake_files", .program = LIST(mode, plug)});
    assert_int_equal(r->code, 0);
    assert_non_null(r->report);
    assert_int_equal(int_at(r->report, "synchronization_lines.calls"), 20);
}

/* All waits are at that line. */
static void check_line(const struct run *r, const char *function, const char *source,
                       const char *mark)
{
    json_t *line = at(r->report, "synchronization_lines.lines.0");
    assert_int_equal(json_array_size(at(r->report, "synchronization_lines.lines")), 1);
    assert_string_equal(text_at(line, "function"), function);
    assert_non_null(strstr(text_at(line, "file"), source));
    assert_int_equal(int_at(line, "line"), line_of(source, mark));
    assert_int_equal(json_array_size(at(r->report, "synchronization_lines.nameless")), 0);
}

static void check_plug(const struct run *r)
{
    check_line(r, "plug_inner", "files_plug.c", "PLUG_LINE");
}

/* The program and its library are removed as soon as the program has ended. */
TEST(a_bundle)
{
    struct run r;
    run_files(&r, "bundle", library());
    check_plug(&r);
    assert_false(json_is_true(at(r.report, "synchronization_lines.lines.0.in_library")));
    run_free(&r);
}

TEST(a_library_in_memory)
{
    struct run r;
    run_files(&r, "memory", library());
    check_plug(&r);
    run_free(&r);
}

/* A library that was loaded after chroot has a path that is wrong outside of that root. */
TEST(a_library_in_a_new_root)
{
    struct run r;
    if (geteuid() != 0)
        skip();
    /* The search for leaks needs /proc. */
    run_all(&r, &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"),
                                    .binary = "fake/fake_files",
                                    .program = LIST("rooted", library())});
    assert_int_equal(r.code, 0);
    assert_non_null(r.report);
    check_plug(&r);
    run_free(&r);
}

TEST(a_program_that_removes_itself)
{
    struct run r;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_files", .program = LIST("self")});
    assert_int_equal(r.code, 0);
    check_line(&r, "wait_here", "files.c", "FILES_LINE");
    run_free(&r);
}

/* If the kernel lets nobody open what is mapped, only the exported function is known. */
TEST(a_library_that_is_removed_at_once)
{
    struct run r;
    run_files(&r, "deleted", library());
    size_t i;
    json_t *frame;
    bool found = false;
    json_array_foreach(at(r.report, "synchronization_lines.lines.0.stacks.0.frames"), i, frame)
    {
        const char *function = json_string_value(json_object_get(frame, "function"));
        found |= function && !strcmp(function, "plug_wait");
    }
    assert_true(found);
    run_free(&r);
}

/* A path that is no UTF-8, and one that looks like the spelling of such a path. */
TEST(a_folder_that_is_no_text)
{
    struct run r;
    run_files(&r, "bytes", library());
    check_plug(&r);
    bool found = false;
    size_t i;
    json_t *frame;
    json_array_foreach(at(r.report, "synchronization_lines.lines.0.stacks.0.frames"), i, frame)
    {
        const char *module = json_string_value(json_object_get(frame, "module"));
        found |= module && strstr(module, "/b\\xff\\xfe\\x5cx41/libplug.so");
    }
    assert_true(found);
    run_free(&r);
}

/* Parts that somebody packed with zstd are read like any others, by every reader. */
TEST(logs_packed_with_zstd)
{
    struct run r;
    struct child c;
    if (system("command -v zstd >/dev/null") != 0)
        skip();
    run_all(&r, &(struct run_setup){.binary = "fake/fake_files", .program = LIST("wait")});
    check_line(&r, "wait_here", "files.c", "FILES_LINE");
    char command[2 * PATH_MAX];
    snprintf(
        command, sizeof command,
        "cd '%s' && gunzip -q */*.gz; zstd -q --rm */*.log && ls */*.zst && ! ls */*.gz */*.log",
        r.logs);
    assert_int_equal(system(command), 0);
    json_decref(r.report);
    r.report = run_report(&r);
    assert_non_null(r.report);
    assert_int_equal(int_at(r.report, "kernels.count"), 20);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    check_line(&r, "wait_here", "files.c", "FILES_LINE");
    assert_int_equal(gpufl(&r.w, &c, "export", "--format", "gpuflight", "-o", "peer", r.logs), 0);
    child_free(&c);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle),
        cmocka_unit_test(a_library_in_memory),
        cmocka_unit_test(a_library_in_a_new_root),
        cmocka_unit_test(a_program_that_removes_itself),
        cmocka_unit_test(a_library_that_is_removed_at_once),
        cmocka_unit_test(a_folder_that_is_no_text),
        cmocka_unit_test(logs_packed_with_zstd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
