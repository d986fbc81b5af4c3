/* test_peer_stacks.c - call stacks of the public client's format become frames and
 * stacks, whatever their texts contain, and memory grows only with distinct stacks. */
#include "tests/test.h"
#include "tests/unit/support/peer_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(texts)                                                                           \
    "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"s\",\"function_dict\":{" texts \
    "}}"
#define SYNCS(rows) BATCH("synchronization_event_batch", "\"base_time_ns\":100,\"rows\":[" rows "]")
#define HEADER      "header s app= pid=0 host= run= engine= backend= start=100\n"

/* Checks what lines give after decoder_finish. */
static void expect(const char *const *lines, const char *want)
{
    struct run r;
    run_begin(&r, 0);
    for (; *lines; lines++)
        run_line(&r, *lines);
    run_finish(&r);
    assert_string_equal(buf_cstr(&r.seen.text), want);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    run_end(&r);
}

#define EXPECT(want, ...) expect((const char *const[]){__VA_ARGS__, NULL}, want)

TEST(test_shared_callers)
{
    EXPECT(
        "stream id=1 device=0 number=7\n"
        "frame id=1 kind=1 module=0 function='main' file=''\n"
        "frame id=2 kind=1 module=0 function='step(float*, int)' file=''\n"
        "frame id=3 kind=1 module=0 function='load()' file=''\n"
        "stack id=1 parent=0 frame=1 depth=1\n"
        "stack id=2 parent=1 frame=2 depth=2\n"
        "stack id=3 parent=1 frame=3 depth=2\n"
        "sync start=100 duration=5 kind=3 stream=1 event=0 correlation=9 stack=2\n"
        "sync start=101 duration=5 kind=3 stream=1 event=0 correlation=10 stack=3\n"
        "sync start=102 duration=5 kind=3 stream=1 event=0 correlation=11 stack=2\n" HEADER,
        FUNCTIONS("\"4\":\"main|step(float*, int)\",\"5\":\"main|load()\",\"6\":\"unused@/x.cu\""),
        SYNCS("[0,5,3,7,0,1,9,4],[1,5,3,7,0,1,10,5],[2,5,3,7,0,1,11,4]"));
}

/* Checks which frames the visitor gets for a stack's text. */
static void expect_frames(const char *text, const char *want)
{
    struct run r;
    char line[4096], *at, *end;
    size_t from = strlen("stream id=1 device=0 number=7\n");
    snprintf(line, sizeof line, FUNCTIONS("\"1\":\"%s\""), text);
    run_begin(&r, 0);
    run_line(&r, line);
    run_line(&r, SYNCS("[0,5,3,7,0,1,9,1]"));
    at = r.seen.text.len > from ? r.seen.text.data + from : NULL;
    assert_non_null(buf_cstr(&r.seen.text));
    end = strstr(at, "stack id=");
    end = end ? end : strstr(at, "sync ");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(at, want);
    assert_int_equal(decoder_stats(r.d)->damaged, 0);
    run_end(&r);
}

#define FRAME(id, kind, function, file)                                                            \
    "frame id=" id " kind=" kind " module=0 function='" function "' file='" file "'"

/* Files and lines are found if the text has them, and not if it only looks so. */
TEST(test_places)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"run (train.py:90)", FRAME("1", "2", "run", "train.py") " line=90\n"},
        {"run@/src/train.py:90", FRAME("1", "2", "run", "/src/train.py") " line=90\n"},
        {"train.py:7", FRAME("1", "2", "", "train.py") " line=7\n"},
        {"/a@b/train.py:7", FRAME("1", "2", "", "/a@b/train.py") " line=7\n"},
        {"/a b/train.py:7", FRAME("1", "2", "", "/a b/train.py") " line=7\n"},
        {"ns::f(int)@/src/a.cpp", FRAME("1", "1", "ns::f(int)", "/src/a.cpp") "\n"},
        {"f(int)@/src/a.cpp:12", FRAME("1", "1", "f(int)", "/src/a.cpp") " line=12\n"},
        {"f(int)@", FRAME("1", "1", "f(int)", "") "\n"},
        {"memcpy@@GLIBC_2.14", FRAME("1", "1", "memcpy@@GLIBC_2.14", "") "\n"},
        {"f(ns::a)", FRAME("1", "1", "f(ns::a)", "") "\n"},
        {"f (a.h:0)", FRAME("1", "1", "f", "a.h") "\n"},
        {"f (a.h:99999999999999999999)", FRAME("1", "1", "f (a.h:99999999999999999999)", "") "\n"},
        {"lambda", FRAME("1", "1", "lambda", "") "\n"},
        {"a::operator|(a, a)|b::operator||(b)|operator|=(c)",
         FRAME("1", "1", "a::operator|(a, a)", "") "\n" FRAME(
             "2", "1", "b::operator||(b)", "") "\n" FRAME("3", "1", "operator|=(c)", "") "\n"},
        {"|a||b|", FRAME("1", "1", "a", "") "\n" FRAME("2", "1", "b", "") "\n"},
        {"a|gpufl::CuptiBackend::X()|cuCtxSynchronize", FRAME("1", "1", "a", "") "\n"},
        {"cuCtxSynchronize", FRAME("1", "1", "cuCtxSynchronize", "") "\n"},
        {"\\u0061\\\"b\\\"", FRAME("1", "1", "a\"b\"", "") "\n"},
        {":", FRAME("1", "1", ":", "") "\n"},
        {"@", FRAME("1", "1", "@", "") "\n"},
        {"(", FRAME("1", "1", "(", "") "\n"},
        {"global", ""},
        {"unknown", ""},
        {"|||", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_frames(cases[i].text, cases[i].want);
}

/* A kernel's text is a stack, too. */
TEST(test_kernels)
{
    struct run r;
    run_begin(&r, 0);
    run_line(&r,
             BATCH("kernel_event_batch",
                   "\"base_time_ns\":0,\"rows\":[[1,1,0,1,5,0,0,1,0,0],[2,1,0,1,6,0,0,1,0,0]]"));
    run_line(&r, "{\"type\":\"kernel_detail\",\"session_id\":\"s\",\"corr_id\":5,"
                 "\"stack_trace\":\"main|step\"}");
    run_line(&r, "{\"type\":\"kernel_detail\",\"session_id\":\"s\",\"corr_id\":6,"
                 "\"stack_trace\":\"global\"}");
    run_line(&r, SYNCS("[0,5,3,0,0,1,9,1],[0,5,3,0,0,1,9,-1],[0,5,3,0,0,1,9,4000000000]"));
    run_finish(&r);
    const char *text = buf_cstr(&r.seen.text);
    assert_non_null(strstr(text, "stack id=2 parent=1 frame=2 depth=2\n"));
    assert_non_null(strstr(text, " correlation=5 external_kind=0 external_id=0 stack=2\n"));
    assert_non_null(strstr(text, " correlation=6 external_kind=0 external_id=0 stack=0\n"));
    /* If no dictionary has the id, the stack is unknown, not missing. */
    assert_null(strstr(strstr(text, "sync "), "stack="));
    run_end(&r);
}

/* An id gets another text, and several ids have one text. */
TEST(test_redefined)
{
    struct run r;
    run_begin(&r, 0);
    run_line(&r, FUNCTIONS("\"1\":\"a\",\"2\":\"a\",\"x\":\"b\",\"3\":7,\"0\":\"c\",\"-1\":\"d\""));
    run_line(&r, SYNCS("[0,5,3,0,0,1,9,1],[0,5,3,0,0,1,9,2],[0,5,3,0,0,1,9,3]"));
    run_line(&r, FUNCTIONS("\"1\":\"b\""));
    run_line(&r, SYNCS("[1,5,3,0,0,1,9,1],[1,5,3,0,0,1,9,2]"));
    run_finish(&r);
    const char *text = buf_cstr(&r.seen.text);
    assert_non_null(
        strstr(text, "sync start=101 duration=5 kind=3 stream=1 event=0 correlation=9 stack=2\n"
                     "sync start=101 duration=5 kind=3 stream=1 event=0 correlation=9 stack=1\n"));
    assert_null(strstr(text, "frame id=3"));
    run_end(&r);
}

/* If a stack is too deep, its innermost frames are kept. */
TEST(test_depth)
{
    enum { DEEP = 5000, KEPT = 256 };
    struct run r;
    struct buf line;
    char want[64];
    buf_init(&line, 1 << 20);
    buf_str(&line,
            "{\"type\":\"dictionary_update\",\"session_id\":\"s\",\"function_dict\":{\"1\":\"");
    for (int i = 0; i < DEEP; i++)
        buf_printf(&line, "%sf%d", i ? "|" : "", i);
    buf_str(&line, "\"}}");
    run_begin(&r, 0);
    run_line(&r, buf_cstr(&line));
    run_line(&r, SYNCS("[0,5,3,0,0,1,9,1]"));
    run_finish(&r);
    snprintf(want, sizeof want, "function='f%d' ", DEEP - KEPT);
    assert_non_null(strstr(buf_cstr(&r.seen.text), want));
    assert_null(strstr(buf_cstr(&r.seen.text), "function='f0' "));
    assert_non_null(strstr(buf_cstr(&r.seen.text), " depth=256\n"));
    assert_non_null(strstr(buf_cstr(&r.seen.text), " correlation=9 stack=256\n"));
    buf_fini(&line);
    run_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_callers), cmocka_unit_test(test_places),
        cmocka_unit_test(test_kernels),        cmocka_unit_test(test_redefined),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
