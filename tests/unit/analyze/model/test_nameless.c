/* test_nameless.c - tests files of code that could not name their frames: which, why, and how
 * many. */
#include "analyze/model/nameless.h"
#include "tests/test.h"

#include "analyze/model/model.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct program program;

static void frames(const char *module, int count, enum stacks_status status)
{
    static int64_t offset = 0x100;
    for (int i = 0; i < count; i++) {
        int64_t frame, stack = program_native(&program, 0, module, offset += 16, &frame);
        bool line = status == STACKS_LINE || status == STACKS_SPLIT_MISSING;
        program_symbol(&program, frame, 0, NULL, line ? "/src/a.c" : NULL, line ? 12 : CELL_NULL,
                       status);
        program_sync(&program, WAIT_STREAM, stack, 1);
    }
}

static void check(const struct model *m, const struct nameless *n, const char *text)
{
    struct buf out;
    buf_init(&out, 4096);
    nameless_put(m, n, &out);
    assert_string_equal(buf_cstr(&out), text);
    buf_fini(&out);
}

TEST(reasons)
{
    struct nameless list[NAMELESS_MOST];
    struct model m;
    size_t more;
    program_init(&program, "nameless");
    frames("/srv/known", 4, STACKS_LINE);
    frames("/srv/stripped.so", 4, STACKS_NOTHING_THERE); /* there is nothing to be done */
    frames("/srv/run/gone", 3, STACKS_FILE_MISSING);
    frames("/srv/run/new", 1, STACKS_FILE_REPLACED);
    frames("/srv/run/split", 1200, STACKS_SPLIT_MISSING);
    frames("/srv/run/locked", 2, STACKS_FILE_UNREADABLE);
    program_end(&program);
    model_init(&m, names);
    program_read(&program, &m);
    assert_int_equal(nameless_find(&m, list, &more), 4);
    assert_int_equal(more, 0);
    check(&m, &list[0],
          "split: its split debug information is missing: 1,200 places in it have a line but no "
          "function. Keep the .dwo files where the compiler wrote them (a .dwp file is not read), "
          "or build without -gsplit-dwarf");
    check(&m, &list[1],
          "gone: the file is gone, and the session has no copy of it: 3 places in it "
          "have no name");
    check(&m, &list[2],
          "locked: the file cannot be read or is damaged: 2 places in it have no name");
    check(&m, &list[3], "new: the file is another one now: 1 place in it has no name");
    model_fini(&m);
    program_fini(&program);
}

TEST(more_than_are_reported)
{
    struct nameless list[NAMELESS_MOST];
    struct model m;
    size_t more;
    char path[32];
    program_init(&program, "many");
    for (int i = 0; i < NAMELESS_MOST + 5; i++) {
        snprintf(path, sizeof path, "/srv/l%d.so", i);
        frames(path, 1, STACKS_FILE_MISSING);
    }
    program_end(&program);
    model_init(&m, names);
    program_read(&program, &m);
    assert_int_equal(nameless_find(&m, list, &more), NAMELESS_MOST);
    assert_int_equal(more, 5);
    model_fini(&m);
    program_fini(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(more_than_are_reported),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
