/* test_trace_session.c - tests the process of a session and whether the session ended, from logs in
 * every state that a run can leave. */
#include "cli/trace/outcome/session.h"
#include "tests/test.h"

#include "cli/trace/outcome/compress.h"

#include "base/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

#define HEADER(id, run)                                                                            \
    "{\"type\":\"header\",\"format\":1,\"session\":\"" id "\",\"channel\":\"system\",\"part\":3,"  \
    "\"offset\":9,\"app\":\"a\",\"pid\":77,\"host\":\"h\",\"run\":\"" run "\"}\n"
#define ROW "{\"type\":\"clock\",\"rows\":1,\"monotonic\":[1],\"real\":[2],\"uncertainty\":3}\n"
#define END "{\"type\":\"end\",\"rows\":1,\"time\":[5],\"reason\":1}\n"

static void write_log(const char *session, const char *name, const char *text)
{
    char path[128];
    mkdir(tmpdir_path(session), 0700);
    snprintf(path, sizeof path, "%s/%s", session, name);
    tmpdir_write(path, text, strlen(text));
}

static const struct session *find(const struct sessions *s, const char *id)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].id, id) == 0)
            return &s->items[i];
    fail_msg("no session %s", id);
    return NULL;
}

TEST(runs_are_distinguished)
{
    struct sessions s;
    write_log("one", "system.log", HEADER("id-1", "run-a") ROW END);
    write_log("two", "system.log", HEADER("id-2", "run-a") ROW);
    write_log("three", "system.log", HEADER("id-3", "run-b") ROW END);
    write_log("other", "notes.txt", "not a log");
    write_log("empty", "system.log", "");
    tmpdir_write("file", "x", 1);
    assert_int_equal(sessions_read(&s, tmpdir, "run-a"), 0);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.blank, 1); /* its process ended before its first record */
    assert_int_equal(s.ours, 2);
    assert_int_equal(s.ended, 1);
    assert_int_equal(s.open, 1);
    assert_int_equal(s.foreign, 1);
    assert_true(find(&s, "id-1")->ended);
    assert_false(find(&s, "id-2")->ended);
    assert_false(find(&s, "id-3")->ours);
    assert_int_equal(find(&s, "id-1")->pid, 77);
    assert_string_equal(find(&s, "id-1")->run, "run-a");
    sessions_fini(&s);

    assert_int_equal(sessions_read(&s, tmpdir, NULL), 0);
    assert_int_equal(s.ours, 3);
    sessions_fini(&s);
    assert_int_equal(sessions_read(&s, tmpdir_path("not-there"), NULL), 0);
    assert_int_equal(s.count, 0);
    sessions_fini(&s);
}

/* A session is closed if all its parts are compressed, whatever its lines say. */
TEST(packed_sessions)
{
    struct sessions s;
    write_log("s", "system.log", HEADER("id-1", "run-a") ROW);
    assert_int_equal(
        file_gzip(tmpdir_path("s/system.log"), tmpdir_path("s/system.1.log.gz"), 1, NULL), 0);
    assert_int_equal(sessions_read(&s, tmpdir, "run-a"), 0);
    assert_int_equal(s.open, 1);
    sessions_fini(&s);
    unlink(tmpdir_path("s/system.log"));
    assert_int_equal(sessions_read(&s, tmpdir, "run-a"), 0);
    assert_int_equal(s.ours, 1);
    assert_int_equal(s.open, 0);
    sessions_fini(&s);
}

/* The end counts when its line is complete, wherever the tail begins. */
TEST(ends)
{
    static const struct {
        const char *tail;
        bool ended;
    } cases[] = {
        {HEADER("i", "r"), false},
        {HEADER("i", "r") END, true},
        {HEADER("i", "r") END ROW, true},
        {HEADER("i", "r") "{\"type\":\"end\",\"rows\":1,\"time\":[5]", false},
        {HEADER("i", "r") "{\"type\":\"names\",\"text\":[\"\\\"type\\\":\\\"end\\\"\"]}\n", false},
        {HEADER("i", "r") "{\"rows\":{\"type\":\"end\"},\"type\":\"clock\"}\n", false},
        {"{\"type\":\"shutdown\",\"pid\":7,\"app\":\"toy\"}\n", true},
        {"garbage\n\n{\n" END, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_log("s", "system.log", cases[i].tail);
        if (session_ended(tmpdir_path("s")) != cases[i].ended)
            fail_msg("case %zu: %s", i, cases[i].tail);
    }
    assert_false(session_ended(tmpdir_path("nothing")));
}

/* The log is much longer than the tail that is read. */
TEST(long_logs)
{
    size_t rows = 4000, len = strlen(HEADER("i", "r"));
    char *text = malloc(len + (rows + 2) * 256);
    memcpy(text, HEADER("i", "r"), len);
    for (size_t i = 0; i < rows; i++, len += strlen(ROW))
        memcpy(text + len, ROW, strlen(ROW));
    text[len] = '\0';
    write_log("s", "system.log", text);
    assert_false(session_ended(tmpdir_path("s")));
    strcpy(text + len, END);
    write_log("s", "system.log", text);
    assert_true(session_ended(tmpdir_path("s")));
    free(text);
}

TEST(parts_are_numbered_by_their_header)
{
    write_log("s", "device.log", HEADER("i", "r"));
    write_log("s", "torn.log", "{\"type\":\"hea");
    assert_int_equal(session_part(tmpdir_path("s/device.log")), 3);
    assert_int_equal(session_part(tmpdir_path("s/torn.log")), 0);
    assert_int_equal(session_part(tmpdir_path("s/none.log")), 0);
}

/* The row of the end filled its part. */
TEST(rotated_after_the_end)
{
    write_log("s", "system.9.log", HEADER("i", "r") ROW);
    write_log("s", "system.10.log", HEADER("i", "r") ROW END);
    write_log("s", "system.11.log.part", "");
    assert_true(session_ended(tmpdir_path("s")));
    write_log("s", "system.11.log", HEADER("i", "r") ROW);
    assert_false(session_ended(tmpdir_path("s")));
    write_log("s", "system.log", HEADER("i", "r") END);
    assert_true(session_ended(tmpdir_path("s")));
}

/* A pipe without a writer where a log should be: opening it would wait without end. */
TEST(pipes_are_passed_over)
{
    struct sessions s;
    struct err e;
    alarm(20);
    write_log("s", "device.log", HEADER("i", "r"));
    assert_int_equal(mkfifo(tmpdir_path("s/system.log"), 0600), 0);
    assert_int_equal(mkfifo(tmpdir_path("s/device.1.log"), 0600), 0);
    assert_int_equal(sessions_read(&s, tmpdir, "r"), 0);
    assert_int_equal(s.ours, 1);
    assert_int_equal(s.ended, 0);
    assert_int_equal(session_part(tmpdir_path("s/system.log")), 0);
    assert_int_equal(compress_session(tmpdir_path("s"), &e), 0);
    sessions_fini(&s);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_distinguished, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(packed_sessions, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(ends, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(rotated_after_the_end, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(pipes_are_passed_over, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(long_logs, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(parts_are_numbered_by_their_header, tmpdir_open,
                                        tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
