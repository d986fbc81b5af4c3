/* test_idle.c - tests idle time by line in the report: text, JSON, and the fork below one line. */
#include "tests/test.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD = 42, LONG = 1 };

static void gap(struct program *p, int64_t stack, int64_t ns, int looks, int64_t launch,
                int64_t state)
{
    p->now = p->gpu > p->now ? p->gpu : p->now;
    for (int i = 0; i < looks; i++)
        program_look(p, p->now + (2 * i + 1) * ns / (2 * looks), THREAD, stack, state);
    program_work(p, ns);
    program_capture(p, LONG, THREAD, launch);
    program_launch(p, (struct program_kernel){.ns = 1000, .thread = THREAD});
}

static char *text_of(const char *session)
{
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    o.width = 120;
    return report_with(tmpdir_path(session), &o, 0);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("missing: %s\nin: %s", part, text);
}

/* late: samples that came late. */
static void write_lines(int64_t late)
{
    struct program p;
    program_init(&p, "lines");
    int64_t step = program_python(&p, 0, "/srv/train.py", "step", 90),
            parse = program_python(&p, step, "/srv/data.py", "parse", 41),
            json = program_python(&p, parse, "/usr/lib/python3.11/json/decoder.py", "decode", 337);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    for (int i = 0; i < 20; i++) {
        gap(&p, json, 3000000, 4, step, 1);
        gap(&p, step, 500000, i % 2, step, 3);
    }
    struct ledger_row ledger;
    MAKE_UNKNOWN(ledger);
    ledger.time = p.now;
    ledger.host_samples = 90;
    ledger.host_samples_late = late;
    make_log_rows(&p.log, RECORD_ledger, &ledger, 1);
    program_write(&p);
}

TEST(test_text)
{
    write_lines(4);
    char *text = text_of("lines");
    assert_null(strstr(text, "ms late"));
    expect(
        text,
        "Idle time by line\n"
        "   share     idle        ±  cause        line                inside\n"
        "  86.2 %  62.2 ms  4.59 ms  late_launch  data.py:41 parse()  decoder.py:337 decode()\n"
        "  11.0 %  7.98 ms  4.59 ms  late_launch  train.py:90 step()  (blocked: futex)\n"
        "  No line is known for 2.00 ms (2.8 %): 2.00 ms the host's own time, with too few samples "
        "of its thread or none.\n"
        "  By 90 samples of threads and 40 launches with a stack; ± is at 95 %.\n");
    assert_null(strstr(text, "Below"));
    free(text);
    write_lines(18);
    text = text_of("lines");
    expect(text, "  20.0 % of the samples came more than 1 ms late");
    free(text);
    /* A session without any of these rows has no such table. */
    report_session("plain", false, true, 10);
    text = text_of("plain");
    assert_null(strstr(text, "Idle time by line"));
    free(text);
}

TEST(test_json)
{
    write_lines(0);
    json_t *root = report_parse(report_ok(tmpdir_path("lines"), GPUFL_REPORT_JSON, 0, false));
    json_t *idle = json_object_get(root, "idle"), *rows = json_object_get(idle, "lines"), *row;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        sum += report_number(row, "idle_ns");
        assert_int_equal(report_number(row, "idle_ns"),
                         report_number(row, "exact_ns") + report_number(row, "estimated_ns"));
        assert_int_equal(json_is_null(json_object_get(row, "place")),
                         !json_is_null(json_object_get(row, "reason")));
    }
    assert_int_equal(sum, report_number(idle, "idle_ns"));
    row = json_array_get(rows, 0);
    assert_string_equal(json_string_value(json_object_get(row, "cause")), "late_launch");
    assert_string_equal(json_string_value(json_object_get(row, "place")), "data.py:41");
    assert_string_equal(json_string_value(json_object_get(row, "file")), "/srv/data.py");
    assert_string_equal(json_string_value(json_object_get(row, "function")), "parse");
    assert_string_equal(json_string_value(json_object_get(row, "state")), "running");
    assert_int_equal(report_number(row, "line"), 41);
    assert_int_equal(report_number(row, "samples"), 80);
    assert_int_equal(report_number(row, "exact_ns"), 0);
    assert_in_range(report_number(row, "half_width_ns"), 4500000, 4700000);
    assert_true(json_is_false(json_object_get(row, "ended_by")));
    assert_int_equal(report_number(idle, "samples"), 90);
    assert_int_equal(report_number(idle, "launches"), 40);
    row = json_array_get(rows, json_array_size(rows) - 1);
    assert_string_equal(json_string_value(json_object_get(row, "reason")), "no_samples");
    json_decref(root);
}

/* Adds a native function with its source line. */
static int64_t native(struct program *p, int64_t parent, const char *function, const char *file,
                      int64_t line)
{
    int64_t frame, stack = program_native(p, parent, file ? "/srv/app" : "/lib/libc.so.6",
                                          0x1000 + 16 * line, &frame);
    program_symbol(p, frame, 0, function, file ? file : "", line, file ? 0 : 1);
    return stack;
}

/* Adds 10 gaps of 4 ms, in each of which the thread is blocked in two samples and runs in two. */
static void native_gaps(struct program *p, int64_t blocked, int64_t launch)
{
    for (int i = 0; i < 10; i++) {
        p->now = p->gpu > p->now ? p->gpu : p->now;
        for (int k = 0; k < 4; k++)
            program_look_native(p, p->now + (2 * k + 1) * 500000, THREAD, k % 2 ? blocked : 0);
        program_work(p, 4000000);
        program_capture(p, LONG, THREAD, launch);
        program_launch(p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    }
}

/* What the line leaves of the cause is as uncertain as the line's part. */
static void check_left(json_t *insights)
{
    json_t *row, *left = NULL;
    size_t i;
    json_array_foreach(insights, i, row)
    {
        const char *text = json_string_value(json_object_get(row, "text"));
        left = strstr(text, "of it ended with launches at app.c:40") ? row : left;
    }
    assert_non_null(left);
    assert_non_null(strstr(json_string_value(json_object_get(left, "text")), " ± 6.3"));
}

/* Without Python, the native frames of a blocked thread name its lines. While it ran, only the
 * launch that ended the time is known. */
TEST(test_native)
{
    struct program p;
    program_init(&p, "native");
    int64_t main = native(&p, 0, "main", "/srv/app.c", 50),
            load = native(&p, main, "load_batch", "/srv/app.c", 12),
            sleep = native(&p, load, "clock_nanosleep", NULL, 1),
            step = native(&p, main, "step", "/srv/app.c", 40);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    native_gaps(&p, sleep, step);
    /* A sample that failed, and one of a wait whose stack is not known, are no running thread. */
    for (int i = 0; i < 2; i++) {
        p.now = p.gpu > p.now ? p.gpu : p.now;
        if (i == 0)
            program_look_torn(&p, p.now + 1000000, THREAD);
        else
            program_look(&p, p.now + 1000000, THREAD, 0, 3);
        program_work(&p, 2000000);
        program_capture(&p, LONG, THREAD, step);
        program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    }
    program_write(&p);
    json_t *root = report_parse(report_ok(tmpdir_path("native"), GPUFL_REPORT_JSON, 0, false));
    json_t *idle = json_object_get(root, "idle"), *rows = json_object_get(idle, "lines"), *row;
    int64_t sum = 0, lost = 0, unknown = 0;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        sum += report_number(row, "idle_ns");
    }
    assert_int_equal(sum, report_number(idle, "idle_ns"));
    bool seen[2] = {false, false};
    for (i = 0; i < 2; i++) {
        row = json_array_get(rows, i);
        bool ended = json_is_true(json_object_get(row, "ended_by"));
        assert_string_equal(json_string_value(json_object_get(row, "place")),
                            ended ? "app.c:40" : "app.c:12");
        assert_string_equal(json_string_value(json_object_get(row, "function")),
                            ended ? "step" : "load_batch");
        if (!ended)
            assert_string_equal(json_string_value(json_object_get(row, "state")), "blocked");
        assert_int_equal(report_number(row, "samples"), 20);
        assert_in_range(report_number(row, "estimated_ns"), 20800000, 21100000); /* 20 of 42 */
        assert_in_range(report_number(row, "half_width_ns"), 6300000, 6450000);  /* Wilson's */
        seen[ended] = true;
    }
    json_array_foreach(rows, i, row)
    {
        const char *reason = json_string_value(json_object_get(row, "reason"));
        lost += reason && !strcmp(reason, "lost") ? report_number(row, "samples") : 0;
        unknown += reason && !strcmp(reason, "no_stack") ? report_number(row, "samples") : 0;
    }
    assert_int_equal(lost, 1);
    assert_int_equal(unknown, 1);
    assert_true(seen[0] && seen[1]);
    check_left(json_object_get(root, "insights"));
    json_decref(root);
}

/* The thread is blocked at the line that launches, too: that line has two rows, each with its own
 * interval. */
TEST(test_native_one_line)
{
    struct program p;
    program_init(&p, "one_line");
    int64_t main = native(&p, 0, "main", "/srv/app.c", 50),
            step = native(&p, main, "step", "/srv/app.c", 40),
            wait = native(&p, step, "poll", NULL, 1);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    native_gaps(&p, wait, step);
    program_write(&p);
    json_t *root = report_parse(report_ok(tmpdir_path("one_line"), GPUFL_REPORT_JSON, 0, false));
    json_t *rows = json_object_get(json_object_get(root, "idle"), "lines"), *row;
    for (size_t i = 0; i < 2; i++) {
        row = json_array_get(rows, i);
        assert_string_equal(json_string_value(json_object_get(row, "place")), "app.c:40");
        assert_int_equal(report_number(row, "samples"), 20);
        assert_in_range(report_number(row, "half_width_ns"), 5900000, 6200000); /* 20 of 40 */
    }
    json_decref(root);
}

/* In a process with Python they do not count: the lines of Python say more. */
TEST(test_native_and_python)
{
    struct program p;
    program_init(&p, "native");
    int64_t main = native(&p, 0, "worker", "/srv/lib.c", 50),
            wait = native(&p, main, "wait_for_work", "/srv/lib.c", 12),
            run = native(&p, main, "run", "/srv/lib.c", 40),
            step = program_python(&p, 0, "/srv/train.py", "step", 90);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    program_look(&p, p.now + 100, THREAD + 1, step, 1);
    native_gaps(&p, wait, run);
    program_write(&p);
    json_t *root = report_parse(report_ok(tmpdir_path("native"), GPUFL_REPORT_JSON, 0, false));
    json_t *rows = json_object_get(json_object_get(root, "idle"), "lines"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *function = json_string_value(json_object_get(row, "function"));
        assert_false(function && strcmp(function, "wait_for_work") == 0);
    }
    json_decref(root);
}

/* One line of the user's has all the time: what a framework does below the line is shown from where
 * it divides. */
TEST(test_fork)
{
#define SITE "/usr/lib/python3/site-packages/lightning/"
    struct program p;
    program_init(&p, "fork");
    int64_t main = program_python(&p, 0, "/srv/lit.py", "<module>", 9),
            fit = program_python(&p, main, SITE "trainer.py", "Trainer.fit", 500),
            run = program_python(&p, fit, SITE "loop.py", "Loop.advance", 136),
            later = program_python(&p, fit, SITE "loop.py", "Loop.advance", 140),
            next = program_python(&p, run, SITE "fetch.py", "DataFetcher.__next__", 134),
            read = program_python(&p, next, SITE "fetch.py", "read", 12),
            step = program_python(&p, later, SITE "optimizer.py", "step", 80),
            log = program_python(&p, later, SITE "logger.py", "log", 33);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = THREAD});
    for (int i = 0; i < 10; i++) {
        gap(&p, i % 2 ? read : next, 5000000, 5, step, 1);
        gap(&p, step, 4000000, 4, step, 1);
        gap(&p, log, 1500000, i % 2 ? 1 : 2, step, 1);
    }
    program_write(&p);
    char *text = text_of("fork");
    expect(text, "█ kernels <0.1 %"); /* 31 us of 107 ms: little, but not zero */
    expect(text, "  Below lit.py:9 > Loop.advance():\n"
                 "    47.6 % fetch.py:134 DataFetcher.__next__()\n"
                 "    38.2 % optimizer.py:80 step()\n"
                 "    14.3 % logger.py:33 log()\n");
    expect(text, " Inside it: ");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_native),
                                       cmocka_unit_test(test_native_one_line),
                                       cmocka_unit_test(test_native_and_python),
                                       cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
