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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
