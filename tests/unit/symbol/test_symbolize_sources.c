/* test_symbolize_sources.c - tests the files whose source a session gets. */
#include "tests/test.h"
#include "tests/unit/support/symbolize_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

enum {
    LIBRARIES = 5,
    COMPILED = 4,
    NAME_LIBRARY = 60,
    FRAME_LIBRARY = CALLS + 10,
    STACK_LIBRARY = 20
};

/* The stacks, outermost first: passed, shown; train.py, passed; train.py, second; third, passed,
 * shown; train.py, one of torch.compile. Only train.py is the user's; the others are files of
 * libraries. */
static void write_libraries(char paths[LIBRARIES][PATH_MAX])
{
    static const char *const files[LIBRARIES] = {
        "site-packages/shown.py", "site-packages/passed.py", "site-packages/second.py",
        "site-packages/third.py", "torchinductor_u/compiled.py"};
    static const struct stack_row stacks[] = {
        {STACK_LIBRARY, 0, FRAME_LIBRARY + 1, 1},
        {STACK_LIBRARY + 1, STACK_LIBRARY, FRAME_LIBRARY, 2},
        {STACK_LIBRARY + 2, 0, CALLS + 4, 1},
        {STACK_LIBRARY + 3, STACK_LIBRARY + 2, FRAME_LIBRARY + 1, 2},
        {STACK_LIBRARY + 4, STACK_LIBRARY + 2, FRAME_LIBRARY + 2, 2},
        {STACK_LIBRARY + 5, 0, FRAME_LIBRARY + 3, 1},
        {STACK_LIBRARY + 6, STACK_LIBRARY + 5, FRAME_LIBRARY + 1, 2},
        {STACK_LIBRARY + 7, STACK_LIBRARY + 6, FRAME_LIBRARY, 3},
        {STACK_LIBRARY + 9, STACK_LIBRARY + 2, FRAME_LIBRARY + COMPILED, 2},
        {STACK_LIBRARY + 8, STACK_LIBRARY + 8, FRAME_LIBRARY + 99, 3}, /* with an unknown frame */
    };
    struct make_log l;
    mkdir(tmpdir_path("site-packages"), 0755);
    mkdir(tmpdir_path("torchinductor_u"), 0755);
    make_log_init(&l, SESSION);
    l.host = symbolize_fix.host;
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    for (uint32_t i = 0; i < LIBRARIES; i++) {
        snprintf(paths[i], PATH_MAX, "%s", tmpdir_write(files[i], "pass\n", 5));
        uint32_t id = NAME_LIBRARY + i;
        const char *text = paths[i];
        size_t len = strlen(text);
        encode_names(&l.lines, &id, &text, &len, 1);
        struct frame_row frame = {.id = FRAME_LIBRARY + i,
                                  .kind = 2,
                                  .function = NAME_PYTHON_FUNCTION,
                                  .file = id,
                                  .line = 1,
                                  .first_line = 1};
        make_log_rows(&l, RECORD_frame, &frame, 1);
    }
    make_log_rows(&l, RECORD_stack, stacks, sizeof stacks / sizeof *stacks);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
}

/* A library's file is kept only if a report shows a line of it: for a stack without a line of the
 * user's. The code that torch.compile has made is kept, because it defines kernels. */
TEST(test_libraries)
{
    char paths[LIBRARIES][PATH_MAX];
    struct read_back r;
    write_session(&(struct how){0});
    write_libraries(paths);
    assert_int_equal(symbolize(0).sources, 4); /* train.py, cases.cc, shown.py, compiled.py */
    read_file(&r, "code.log");
    check_source(&r, symbolize_fix.script);
    check_source(&r, paths[0]);
    check_source(&r, paths[COMPILED]);
    for (size_t i = 0; i < r.source_count; i++)
        for (int k = 1; k < COMPILED; k++)
            assert_string_not_equal(r.names[r.sources[i].path], paths[k]);
    /* Files of the user come first. */
    assert_string_equal(r.names[r.sources[r.source_count - 2].path], paths[0]);
    forget(&r);
    assert_int_equal(symbolize(0).sources, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_libraries, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
