/* test_trace_exit.c - however the traced program ends, its exit code and
 * stdout do not change, and its work is on disk. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <jansson.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A way to end: the program's mode and number, and what follows. */
struct ending {
    const char *mode, *number;
    int code;     /* exit code of gpufl */
    int sessions; /* left on disk */
    bool clean;   /* every one of them says that it ended */
};

static const struct ending endings[] = {
    {"exit", "0", 0, 1, true},
    {"exit", "7", 7, 1, true},
    {"exit", "255", 255, 1, true},
    {"quick-exit", "3", 3, 1, false},
    {"abort", "0", 128 + SIGABRT, 1, false},
    {"raise", "11", 128 + SIGSEGV, 1, false},
    {"raise", "9", 128 + SIGKILL, 1, false},
    {"raise", "15", 128 + SIGTERM, 1, false},
    {"fork", "4", 4, 4, true},
    {"fork-after", "5", 5, 1, true},
    {"exec", "6", 6, 2, false},
    {"threads", "8", 8, 1, true},
    {"close-fds", "9", 9, 1, false},
    {"reuse-fds", "10", 10, 1, false},
    {"chdir", "2", 2, 1, true},
    {"lose-cwd", "1", 1, 1, true},
};

/* Every session has an id of its own, and all have one run id. */
static void check_ids(const struct sessions *s)
{
    for (size_t i = 0; i < s->count; i++) {
        assert_int_equal(strlen(s->items[i].id), 36);
        assert_int_equal(strlen(s->items[i].run), 36);
        assert_string_equal(s->items[i].run, s->items[0].run);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(s->items[i].id, s->items[j].id);
    }
}

static void check_ending(const struct ending *e)
{
    struct world w;
    struct child c;
    struct sessions s;
    world_open(&w);
    print_message("%s %s\n", e->mode, e->number);
    int code = gpufl(&w, &c, "trace", "-o", "logs", "--option", "log_compress=false", "--",
                     path_program(), e->mode, e->number);
    char dir[PATH_MAX + 8];
    snprintf(dir, sizeof dir, "%s/logs", w.dir);
    sessions_of(&s, dir);
    if (code != e->code || (int)s.ours != e->sessions)
        fail_msg("%s %s: code %d, %zu sessions\n%s", e->mode, e->number, code, s.ours,
                 c.text[CHILD_ERR].data);
    check_ids(&s);
    if (e->clean)
        assert_int_equal(s.ended, s.ours);
    assert_int_equal(c.text[CHILD_OUT].len, 0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, " in logs\n"));
    sessions_fini(&s);
    child_free(&c);
    world_close(&w);
}

TEST(exit_codes)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        check_ending(&endings[i]);
}

/* stdin reaches the program and its stdout is unchanged; the report is on stderr only. */
TEST(streams_are_the_programs)
{
    struct world w;
    struct child c;
    world_open(&w);
    const char *input = "line one\nline two\n";
    const char *const args[] = {"trace", path_program(), "cat", "0", NULL};
    assert_int_equal(gpufl_run(&w, &c, NULL, input, args), 0);
    assert_string_equal(c.text[CHILD_OUT].data, input);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in ./gpufl-e2e-program-"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl report ./gpufl-e2e-program-"));
    child_free(&c);

    assert_int_equal(gpufl(&w, &c, "trace", "-q", path_program(), "binary", "0"), 0);
    assert_int_equal(c.text[CHILD_OUT].len, 1 << 20);
    unsigned x = 1;
    for (size_t i = 0; i < c.text[CHILD_OUT].len; i++)
        assert_int_equal((unsigned char)c.text[CHILD_OUT].data[i],
                         (unsigned char)((x = x * 1103515245u + 12345u) >> 16));
    assert_string_equal(c.text[CHILD_ERR].data, "");
    child_free(&c);
    world_close(&w);
}

/* What the capture itself cost is in every report. */
TEST(cost_is_stated)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", path_program(), "exit", "0"), 0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "our cost"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "SIMULATED"));
    child_free(&c);
    world_close(&w);
}

/* The program finds the descriptors and signal state that gpufl was started with. */
TEST(nothing_is_inherited)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", "-q", path_program(), "show", "0"), 0);
    assert_string_equal(c.text[CHILD_OUT].data, "fd 0\nfd 1\nfd 2\ninjection set\n");
    child_free(&c);

    const char *const argv[] = {path_gpufl(), "trace", "-q", path_program(), "show", "0", NULL};
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .nohup = true});
    assert_int_equal(child_end(&c), 0);
    assert_non_null(strstr(c.text[CHILD_OUT].data, "signal 1 ignored\n"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "signal 17 ignored\n"));
    assert_null(strstr(c.text[CHILD_OUT].data, "blocked"));
    assert_null(strstr(c.text[CHILD_OUT].data, "fd 0\n"));
    child_free(&c);
    world_close(&w);
}

/* The program has the stack that it was given, the report what it needs. option: of ulimit. */
static void run_with_little_stack(const char *option)
{
    struct world w;
    struct child c;
    char script[3 * PATH_MAX];
    world_open(&w);
    snprintf(
        script, sizeof script,
        "ulimit %s -s 64 && %s trace -o logs %s exit 0 && %s trace -q -o none sh -c 'ulimit -s'",
        option, path_gpufl(), path_program(), path_gpufl());
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 0);
    assert_string_equal(c.text[CHILD_OUT].data, "64\n");
    assert_non_null(strstr(c.text[CHILD_ERR].data, "our cost"));
    child_free(&c);
    world_close(&w);
}

TEST(little_stack)
{
    run_with_little_stack("-S");
}

TEST(little_stack_for_ever)
{
    if (SANITIZED)
        skip(); /* sanitizers need more before main */
    run_with_little_stack("");
}

/* Finished logs are compressed, unless the user does not want that. */
TEST(logs_are_compressed)
{
    struct world w;
    struct child c;
    char dir[PATH_MAX];
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", path_program(), "exit", "0"), 0);
    child_free(&c);
    default_dir(w.dir, dir);
    assert_int_equal(count_files(dir, ".log"), 0);
    assert_true(count_files(dir, ".1.log.gz") >= 2);
    world_close(&w);

    world_open(&w);
    assert_int_equal(
        gpufl(&w, &c, "trace", "--option", "log_compress=no", path_program(), "exit", "0"), 0);
    child_free(&c);
    assert_int_equal(count_files(w.dir, ".gz"), 0);
    assert_true(count_files(w.dir, ".log") >= 2);
    world_close(&w);
}

/* A killed program's log is compressed, too: it is known that nobody writes to it. */
TEST(logs_of_the_killed_are_compressed)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", path_program(), "raise", "9"), 128 + SIGKILL);
    assert_int_equal(count_files(w.dir, ".log"), 0);
    assert_true(count_files(w.dir, ".log.gz") >= 2);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "signal 9 (Killed)"));
    assert_non_null(
        strstr(c.text[CHILD_ERR].data, "what the program did in its last moments may be missing"));
    child_free(&c);
    world_close(&w);
}

/* The sessions of a run are one report: what its processes did, complete. */
static void check_report(const char *path)
{
    json_error_t error;
    json_t *report = json_load_file(path, 0, &error);
    if (!report)
        fail_msg("%s: %s", path, error.text);
    json_t *ledger = json_object_get(report, "ledger");
    json_int_t written = json_integer_value(json_object_get(ledger, "kernels_written"));
    assert_true(json_is_true(json_object_get(report, "simulated")));
    assert_int_equal(json_array_size(json_object_get(report, "sessions")), 4);
    assert_string_equal(json_string_value(json_object_get(ledger, "verdict")), "complete");
    assert_true(written > 0);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(report, "kernels"), "count")), written);
    json_decref(report);
}

/* The report goes where it is asked for; the rest stays on stderr. */
TEST(report_to_a_file)
{
    struct world w;
    struct child c;
    char path[PATH_MAX + 16];
    world_open(&w);
    assert_int_equal(
        gpufl(&w, &c, "trace", "--json", "--report", "r.json", path_program(), "fork", "0"), 0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "the report is in r.json"));
    assert_null(strchr(c.text[CHILD_ERR].data, '{'));
    child_free(&c);
    snprintf(path, sizeof path, "%s/r.json", w.dir);
    check_report(path);

    assert_int_equal(gpufl(&w, &c, "trace", "--no-report", path_program(), "exit", "0"), 0);
    assert_int_equal(strncmp(c.text[CHILD_ERR].data, "gpufl: 1 session in ", 20), 0);
    child_free(&c);
    world_close(&w);
}

/* Neither the log nor stderr, a file, takes more: the report is lost, the exit code is not. If
 * stderr is a pipe, gpufl says that the log could not be written, and claims no other cause. */
TEST(stderr_at_its_limit)
{
    struct world w;
    struct child c;
    char command[3 * PATH_MAX];
    world_open(&w);
    snprintf(command, sizeof command,
             "ulimit -f 1; '%s' trace -o logs '%s' exit 7 2>err; echo code $?", path_gpufl(),
             path_program());
    child_start(
        &c, &(struct child_setup){.dir = w.dir,
                                  .argv = (const char *const[]){"/bin/sh", "-c", command, NULL}});
    assert_int_equal(child_end(&c), 0);
    assert_string_equal(c.text[CHILD_OUT].data, "code 7\n");
    child_free(&c);

    *strstr(command, "2>err") = '\0';
    child_start(
        &c, &(struct child_setup){.dir = w.dir,
                                  .argv = (const char *const[]){"/bin/sh", "-c", command, NULL}});
    assert_int_equal(child_end(&c), 7);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "raise the file size limit (ulimit -f)"));
    assert_non_null(
        strstr(c.text[CHILD_ERR].data, "1 session began, and the log could not be written"));
    assert_null(strstr(c.text[CHILD_ERR].data, "removed or moved"));
    child_free(&c);
    world_close(&w);
}

int main(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),          cmocka_unit_test(streams_are_the_programs),
        cmocka_unit_test(cost_is_stated),      cmocka_unit_test(nothing_is_inherited),
        cmocka_unit_test(logs_are_compressed), cmocka_unit_test(logs_of_the_killed_are_compressed),
        cmocka_unit_test(report_to_a_file),    cmocka_unit_test(stderr_at_its_limit),
        cmocka_unit_test(little_stack),        cmocka_unit_test(little_stack_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
