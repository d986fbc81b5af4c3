/* test_trace_duration.c - --duration ends the capture, and the program
 * only with --kill. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void start(struct world *w, struct child *c, const char *mode, const char *kill_option)
{
    const char *argv[] = {path_gpufl(), "trace",        "--no-report", "--duration",
                          "400ms",      kill_option,    "--option",    "log_compress=false",
                          "--",         path_program(), mode,          "11",
                          NULL};
    world_open(w);
    child_start(c, &(struct child_setup){.dir = w->dir, .argv = argv});
}

/* The report is printed when the session has ended, the program runs on, and nothing is reported
 * twice. */
TEST(program_runs_on)
{
    struct world w;
    struct child c;
    struct sessions s;
    char dir[PATH_MAX];
    start(&w, &c, "signals", "--no-report");
    child_expect(&c, CHILD_ERR, "gpufl: 1 session in ");
    default_dir(w.dir, dir);
    sessions_of(&s, dir);
    assert_int_equal(s.ours, 1);
    assert_int_equal(s.ended, 1);
    sessions_fini(&s);
    child_expect(&c, CHILD_OUT, "ready ");
    kill(c.pid, SIGUSR1);
    child_expect(&c, CHILD_OUT, "got 10\n");
    kill(c.pid, SIGTERM);
    assert_int_equal(child_end(&c), 11);
    const char *first = strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in ");
    assert_null(strstr(first + 1, "gpufl: 1 session in "));
    child_free(&c);
    world_close(&w);
}

/* --kill: SIGTERM ends the program, which may end in its own way. */
TEST(kill_ends_the_program)
{
    struct world w;
    struct child c;
    start(&w, &c, "signals", "--kill");
    assert_int_equal(child_end(&c), 11);
    assert_non_null(strstr(c.text[CHILD_OUT].data, "got 15\n"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in "));
    child_free(&c);
    world_close(&w);
}

/* A program that ignores SIGTERM gets SIGKILL ten seconds later. */
TEST(kill_insists)
{
    struct world w;
    struct child c;
    double begin = seconds();
    start(&w, &c, "immortal", "--kill");
    assert_int_equal(child_end(&c), 128 + SIGKILL);
    assert_true(seconds() - begin >= 10);
    child_free(&c);
    world_close(&w);
}

/* A program that ends first is reported as without --duration. */
TEST(program_ends_first)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(
        gpufl(&w, &c, "trace", "--no-report", "--duration", "1h", path_program(), "exit", "5"), 5);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 1 session in "));
    assert_int_equal(count_files(w.dir, ".log"), 0);
    child_free(&c);
    world_close(&w);
}

int main(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_runs_on),
        cmocka_unit_test(kill_ends_the_program),
        cmocka_unit_test(kill_insists),
        cmocka_unit_test(program_ends_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
