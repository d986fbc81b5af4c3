/* test_peer_stacks_back.c - our stacks are written as texts of the public client's format, and read
 * back. */
#include "tests/test.h"
#include "tests/unit/support/peer_ours.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 100 }; /* id of this test's first name */

enum {
    MAIN_PY = FIRST,
    MODULE,
    TRAIN_PY,
    STEP,
    LIBFOO,
    RUN,
    RUN_CPP,
    INLINED,
    BARS,
    MARK,
    CELL,
};

static const char *const texts[] = {"/srv/main.py", "<module>",       "/srv/train.py",
                                    "step",         "/opt/libfoo.so", "ns::run(int)",
                                    "/src/run.cpp", "twice<int>",     "a|b::operator||",
                                    "<truncated>",  "<stdin>"};

/* Puts the stack main.py:1 <module> -> train.py:90 step -> run.cpp:5 run, with twice at run.cpp:7
 * inlined into it; then native code without a name, like the driver's; and others. */
static struct peer_encoder *stacks(void)
{
    struct peer_encoder *e = peer_ours_running();
    peer_ours_drain(e);
    NAMES(e, FIRST, texts);
    ROWS(e, module, {.id = 1, .path = LIBFOO, .kind = 1});
    ROWS(e, frame, {.id = 1, .kind = 2, .function = MODULE, .file = MAIN_PY, .line = 1},
         {.id = 2, .kind = 2, .function = STEP, .file = TRAIN_PY, .line = 90},
         {.id = 3, .kind = 1, .module = 1, .offset = 0x100},
         {.id = 4, .kind = 1, .module = 1, .offset = 0x1a2b},
         {.id = 5, .kind = 3, .function = MARK}, {.id = 6, .kind = 1, .function = BARS},
         {.id = 7, .kind = 2, .function = STEP, .file = CELL, .line = 3});
    const struct symbol_row symbols[] = {
        {.frame = 3, .level = 0, .function = INLINED, .file = RUN_CPP, .line = 7},
        {.frame = 3, .level = 1, .function = RUN, .file = RUN_CPP, .line = 5}};
    assert_int_equal(peer_encoder_learn_rows(e, RECORD_symbol, (const int64_t *)symbols, 2), 0);
    ROWS(e, stack, {.id = 1, .frame = 1, .depth = 1},
         {.id = 2, .parent = 1, .frame = 2, .depth = 2},
         {.id = 3, .parent = 2, .frame = 3, .depth = 3},
         {.id = 4, .parent = 3, .frame = 4, .depth = 4}, {.id = 5, .frame = 5, .depth = 1},
         {.id = 6, .parent = 5, .frame = 6, .depth = 2}, {.id = 7, .frame = 4, .depth = 1},
         {.id = 8, .parent = 7, .frame = 7, .depth = 2},
         {.id = 9, .parent = 9, .frame = 2, .depth = 1});
    return e;
}

#define DEEP                                                                                       \
    "<module> (/srv/main.py:1)|step (/srv/train.py:90)|ns::run(int) (/src/run.cpp:5)|"             \
    "twice<int> (/src/run.cpp:7)"

static const char *stack_text(int64_t stack)
{
    static char text[512];
    struct peer_encoder *e = stacks();
    ROWS(e, sync,
         {.start = 100, .duration = 5, .kind = 3, .stream = 1, .correlation = 9, .stack = stack});
    const char *lines = peer_ours_lines(e, PEER_SCOPE),
               *at = strstr(lines, "\"function_dict\":{\"1\":\"");
    *text = '\0';
    if (at) {
        at += strlen("\"function_dict\":{\"1\":\"");
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\""), at);
    }
    assert_int_equal(strstr(lines, ",9,1]") != NULL, *text != '\0');
    assert_int_equal(strstr(lines, ",9,0]") != NULL, *text == '\0');
    peer_encoder_close(e);
    return text;
}

/* Bars in names do not cut a stack, marks and unknown stacks have no text, and frames below the
 * last name are left out. */
TEST(test_texts)
{
    assert_string_equal(stack_text(4), DEEP);
    assert_string_equal(stack_text(3), DEEP);
    assert_string_equal(stack_text(5), "");
    assert_string_equal(stack_text(6), "a/b::operator||");
    assert_string_equal(stack_text(7), "libfoo.so+0x1a2b");
    assert_string_equal(stack_text(8), "libfoo.so+0x1a2b|step");
    assert_string_equal(stack_text(9), "step (/srv/train.py:90)");
    assert_string_equal(stack_text(77), "");
    assert_string_equal(stack_text(CELL_NULL), "");
}

/* A stack's text is written once; rows of kernels contain the text itself. */
TEST(test_once)
{
    struct peer_encoder *e = stacks();
    ROWS(e, sync,
         {.start = 100, .duration = 5, .kind = 3, .stream = 1, .correlation = 9, .stack = 2},
         {.start = 200, .duration = 5, .kind = 3, .stream = 1, .correlation = 10, .stack = 2});
    const char *lines = peer_ours_lines(e, PEER_SCOPE), *first = strstr(lines, "function_dict");
    assert_non_null(first);
    assert_null(strstr(first + 1, "function_dict"));
    ROWS(e, kernel,
         {.start = 300, .duration = 5, .config = 1, .stream = 1, .correlation = 11, .stack = 2});
    assert_non_null(
        strstr(peer_ours_lines(e, PEER_DEVICE),
               "\"stack_trace\":\"<module> (/srv/main.py:1)|step (/srv/train.py:90)\""));
    peer_encoder_close(e);
}

/* Our reader gives the same functions, files and lines again, innermost last. */
TEST(test_back)
{
    struct peer_encoder *e = stacks();
    struct run r;
    ROWS(e, sync,
         {.start = 100, .duration = 5, .kind = 3, .stream = 1, .correlation = 9, .stack = 4});
    ROWS(e, kernel,
         {.start = 300, .duration = 5, .config = 1, .stream = 1, .correlation = 11, .stack = 2});
    run_begin(&r, 1000);
    for (int c = 0; c < 2; c++) {
        char *copy = strdup(peer_ours_lines(e, c ? PEER_DEVICE : PEER_SCOPE)), *at = copy;
        for (char *end; (end = strchr(at, '\n')); at = end + 1) {
            *end = '\0';
            run_line(&r, at);
        }
        free(copy);
    }
    run_finish(&r);
    const char *seen = buf_cstr(&r.seen.text);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    assert_non_null(strstr(
        seen, "frame id=1 kind=2 module=0 function='<module>' file='/srv/main.py' line=1\n"));
    assert_non_null(
        strstr(seen, "frame id=2 kind=2 module=0 function='step' file='/srv/train.py' line=90\n"));
    assert_non_null(strstr(
        seen, "frame id=3 kind=1 module=0 function='ns::run(int)' file='/src/run.cpp' line=5\n"));
    assert_non_null(strstr(
        seen, "frame id=4 kind=1 module=0 function='twice<int>' file='/src/run.cpp' line=7\n"));
    assert_non_null(strstr(seen, "stack id=4 parent=3 frame=4 depth=4\n"));
    assert_non_null(strstr(seen, "correlation=9 stack=4\n"));
    assert_non_null(strstr(seen, " stack=2"));
    run_end(&r);
    peer_encoder_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_once),
                                       cmocka_unit_test(test_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
