/* test_trace_passes.c - tests the command run once per engine: the session and environment of each
 * pass, the end of passes, and that all passes get equal input. */
#include "child.h"
#include "sessions.h"
#include "tests/test.h"

#include <jansson.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSES "Trace,PcSampling,SassMetrics"

static const char *const folders[] = {"1-Trace", "2-PcSampling", "3-SassMetrics"};

/* The sessions of a pass; false if its directory is not there. */
static bool pass_of(const struct world *w, unsigned i, struct sessions *s)
{
    char dir[PATH_MAX + 32];
    snprintf(dir, sizeof dir, "%s/logs/%s", w->dir, folders[i]);
    sessions_of(s, dir);
    return access(dir, F_OK) == 0;
}

static void check_head(const struct session *s, int pass)
{
    char path[PATH_MAX + 16];
    struct part_head head;
    snprintf(path, sizeof path, "%s/system.log", s->dir);
    assert_int_equal(part_head_read(path, &head, NULL), 0);
    assert_int_equal(head.pass, pass);
    assert_int_equal(head.passes, 3);
}

/* Passes run one after the other, in directories of their own, with one run id, and have a session
 * of each process. */
TEST(each_pass_leaves_its_sessions)
{
    struct world w;
    struct child c;
    char run[PART_ID_MAX] = "";
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", "-o", "logs", "--no-report", "--passes", PASSES,
                           "--option", "log_compress=false", path_program(), "fork", "0"),
                     0);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: pass 1 of 3: Trace\n"
                                                   "gpufl: pass 2 of 3: PcSampling\n"
                                                   "gpufl: pass 3 of 3: SassMetrics\n"));
    assert_non_null(strstr(c.text[CHILD_ERR].data, "gpufl: 12 sessions in logs\n"));
    for (unsigned i = 0; i < 3; i++) {
        struct sessions s;
        assert_true(pass_of(&w, i, &s));
        assert_int_equal(s.count, 4);
        for (size_t k = 0; k < s.count; k++) {
            if (!*run)
                memcpy(run, s.items[k].run, sizeof run);
            assert_string_equal(s.items[k].run, run);
            check_head(&s.items[k], (int)i + 1);
        }
        sessions_fini(&s);
    }
    assert_int_equal(strlen(run), 36);
    child_free(&c);

    /* A directory with passes of another run is refused. */
    assert_int_equal(
        gpufl(&w, &c, "trace", "-o", "logs", "--passes", PASSES, path_program(), "exit", "0"), 3);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "with passes of another run; name another "
                                                   "directory with -o DIR; nothing was run"));
    child_free(&c);
    world_close(&w);
}

static json_int_t int_of(json_t *at, const char *a, const char *b)
{
    json_t *v = json_object_get(json_object_get(at, a), b);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

/* The report at the end covers all passes, and stderr has nothing else if a program is to read it:
 * kernels are those of the first pass, samples those of the second. */
TEST(one_report_over_all)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "trace", "-o", "logs", "--json", "--passes", PASSES,
                           path_program(), "exit", "0"),
                     0);
    json_t *root = json_loads(c.text[CHILD_ERR].data, 0, NULL);
    assert_non_null(root);
    json_t *group = json_array_get(json_object_get(root, "groups"), 0);
    json_t *passes = json_object_get(group, "passes"), *first = json_array_get(passes, 0);
    assert_int_equal(json_array_size(passes), 3);
    assert_int_equal(int_of(root, "kernels", "count"),
                     json_integer_value(json_object_get(first, "kernels_recorded")));
    assert_true(int_of(root, "samples", "samples") > 0);
    assert_true(int_of(root, "instructions", "rows") > 0);
    json_decref(root);
    child_free(&c);

    /* Only the pass of the times is compared. */
    assert_int_equal(gpufl(&w, &c, "compare", "--json", "logs", "logs/1-Trace"), 0);
    root = json_loads(c.text[CHILD_OUT].data, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "a")), 1);
    json_decref(root);
    child_free(&c);
    world_close(&w);
}

/* The first pass that fails is the last one, with its exit code and what it left. */
TEST(a_failing_pass_is_the_last)
{
    static const struct {
        const char *mode, *number, *says;
        int code;
        bool left;
    } rows[] = {
        {"exit", "7", "gpufl: pass 1 of 3 ended with exit code 7: none is run after it\n", 7, true},
        {"raise", "11", "gpufl: pass 1 of 3 ended with exit code 139: none is run after it\n", 139,
         true},
        {"plain", "0", "gpufl: pass 1 of 3 captured nothing: none is run after it\n", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        struct child c;
        struct sessions s;
        world_open(&w);
        assert_int_equal(gpufl(&w, &c, "trace", "-o", "logs", "--passes", PASSES, path_program(),
                               rows[i].mode, rows[i].number),
                         rows[i].code);
        assert_non_null(strstr(c.text[CHILD_ERR].data, rows[i].says));
        assert_null(strstr(c.text[CHILD_ERR].data, "pass 2 of 3"));
        assert_int_equal(pass_of(&w, 0, &s), rows[i].left);
        assert_int_equal(s.count, rows[i].left);
        sessions_fini(&s);
        assert_false(pass_of(&w, 1, &s)); /* empty directories are taken away */
        child_free(&c);
        world_close(&w);
    }
}

/* If the program leaves a process behind, the next pass does not start. */
TEST(a_process_that_runs_on)
{
    struct world w;
    struct child c;
    const char *argv[] = {path_gpufl(),
                          "trace",
                          "-o",
                          "logs",
                          "--no-report",
                          "--passes",
                          PASSES,
                          "--",
                          "/bin/sh",
                          "-c",
                          "mkfifo said; \"$0\" stubborn 0 >said 2>&1 & read -r ready pid <said; "
                          "echo \"left $pid\"",
                          path_program(),
                          NULL};
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 0);
    kill((pid_t)atoi(strstr(c.text[CHILD_OUT].data, "left ") + 5), SIGKILL);
    assert_non_null(strstr(c.text[CHILD_ERR].data,
                           "gpufl: pass 1 of 3 has a process that still runs, and would be "
                           "captured together with the next: none is run after it\n"));
    child_free(&c);
    world_close(&w);
}

/* A signal that asks for the end ends all passes, even if the program ends with success. */
TEST(a_signal_ends_all)
{
    struct world w;
    struct child c;
    struct sessions s;
    const char *argv[] = {path_gpufl(),  "trace",    "-o",   "logs",
                          "--no-report", "--passes", PASSES, path_program(),
                          "signals",     "0",        NULL};
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    child_expect(&c, CHILD_OUT, "ready ");
    kill(c.pid, SIGINT);
    child_expect(&c, CHILD_OUT, "got 2\n");
    kill(c.pid, SIGTERM);
    assert_int_equal(child_end(&c), 128 + SIGTERM);
    assert_null(strstr(c.text[CHILD_ERR].data, "pass 2 of 3"));
    assert_true(pass_of(&w, 0, &s));
    assert_int_equal(s.count, 1);
    sessions_fini(&s);
    child_free(&c);
    world_close(&w);
}

/* Every pass reads a file again, from where its descriptor was; from a pipe no pass reads anything.
 * Each pass's output is the program's. */
TEST(all_passes_read_the_same)
{
    struct world w;
    struct child c;
    world_open(&w);
    const char *argv[] = {
        "/bin/sh",
        "-c",
        "printf 'head\\nbody\\n' >in; { read line; \"$0\" trace --no-report -o logs "
        "--passes " PASSES " \"$1\" cat 0; } <in",
        path_gpufl(),
        path_program(),
        NULL};
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 0);
    assert_string_equal(c.text[CHILD_OUT].data, "body\nbody\nbody\n");
    child_free(&c);
    const char *const args[] = {"trace",        "--no-report", "--passes", PASSES,
                                path_program(), "cat",         "0",        NULL};
    assert_int_equal(gpufl_run(&w, &c, NULL, "line\n", args), 0);
    assert_int_equal(c.text[CHILD_OUT].len, 0);
    child_free(&c);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pass_leaves_its_sessions),
        cmocka_unit_test(one_report_over_all),
        cmocka_unit_test(a_failing_pass_is_the_last),
        cmocka_unit_test(a_process_that_runs_on),
        cmocka_unit_test(a_signal_ends_all),
        cmocka_unit_test(all_passes_read_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
