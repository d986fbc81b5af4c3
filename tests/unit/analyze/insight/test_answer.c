/* test_answer.c - tests the report's answer: the line that owns the time, or that there is nothing
 * to win. */
#include "analyze/insight/answer.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdio.h>
#include <string.h>

static struct answer answer;
static char said[1 << 12];

static void ask(void)
{
    struct buf text;
    finder_look();
    buf_init(&text, sizeof said);
    answer_find(&finder.m, &finder.found, &answer, &text);
    snprintf(said, sizeof said, "%s", buf_cstr(&text));
    assert_int_equal(buf_error(&text), 0);
    buf_fini(&text);
}

/* The loop's wait is the answer; what wait_line says of the line is a part of that card. */
TEST(test_line)
{
    finder_begin("line");
    finder_steps(50, 4, finder_python("/srv/app/train.py", "train_step", 90), true);
    ask();
    assert_string_equal(answer.cause, "sync_loop");
    assert_ptr_equal(answer.insight, &finder.found.items[0]);
    assert_int_equal(answer.place, answer.insight->place);
    assert_int_equal(answer.half_width, 0);
    const struct insight *line = finder_find("sync_line", "train.py:90");
    assert_ptr_equal(&finder.found.items[line->part_of - 1], finder_find("sync_loop", ""));
    assert_int_equal(answer.insight->part_of, 0);
    finder_end();
}

/* A long wait that delays nothing is no answer, however long it is. */
TEST(test_nothing_to_win)
{
    finder_begin("busy");
    for (int i = 0; i < 300; i++)
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    program_sync(&finder.p, WAIT_CONTEXT, finder_python("a.py", "main", 50), 1);
    ask();
    assert_int_equal(finder_find("sync_line", "a.py:50")->severity, INSIGHT_HIGH);
    assert_null(answer.insight);
    assert_string_equal(answer.cause, "nothing_to_win");
    assert_int_equal(answer.gives_back, 0);
    assert_int_equal(answer.place, 0);
    assert_ptr_equal(strstr(said, "Nothing to win here: the GPU was busy for "), said);
    assert_non_null(strstr(said, " Most of the kernel time is in "));
    finder_end();
}

/* Conversions take 5 ms, other kernels `busy` us, and then the GPU is idle for `idle` us. */
static void convert(int64_t busy, int64_t idle)
{
    finder_begin("theory");
    finder_kernels_of("_ZN5cudnn3ops16nchwToNhwcKernelIfffLb0ELb1EEEvPf",
                      (struct config_row){.grid_x = 1320,
                                          .grid_y = 1,
                                          .grid_z = 1,
                                          .block_x = 128,
                                          .block_y = 1,
                                          .block_z = 1,
                                          .occ_warps = CELL_NULL,
                                          .occ_max_warps = CELL_NULL},
                      CELL_NULL);
    for (int64_t i = 0; i < busy; i += 400)
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    finder.p.now = finder.p.gpu;
    program_work(&finder.p, idle * 1000);
    program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    ask();
}

/* A small bound by theory is no answer for a busy GPU, but is named. A bound above what varies from
 * run to run is an answer, and so is any bound if the GPU could have done more. */
TEST(test_theory)
{
    convert(120000, 0);
    assert_int_equal(finder_find("layout_conversions", "")->severity, INSIGHT_LOW);
    assert_null(answer.insight);
    assert_string_equal(answer.cause, "nothing_to_win");
    assert_non_null(strstr(said, "no measured finding gives back 1 % of it. In theory 3.9 % more "
                                 "could be won at most: Conversions between NCHW and NHWC, "));
    finder_end();
    convert(60000, 0);
    assert_string_equal(answer.cause, "layout_conversions");
    assert_ptr_equal(answer.insight, finder_find("layout_conversions", ""));
    finder_end();
    convert(120000, 19000);
    assert_string_not_equal(answer.cause, "nothing_to_win");
    finder_end();
}

/* Each step has so many kernels of 300 us, a wait, and 400 us of the host's work. */
static void wait_in_steps(int kernels)
{
    int64_t stack = finder_python("a.py", "step", 9);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < kernels; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 300000, .thread = 1});
        program_sync(&finder.p, WAIT_STREAM, stack, 1);
        program_work(&finder.p, 400000);
    }
    ask();
}

/* A measured gain below what varies from run to run is no answer for a busy GPU either. */
TEST(test_little)
{
    finder_begin("little");
    wait_in_steps(40);
    const struct insight *i = finder_find("sync_loop", "a.py:9");
    assert_true(insight_is_share(&finder.m, i->gives_back, 3, 100));
    assert_int_equal(i->band, INSIGHT_BAND_WORTH);
    assert_null(answer.insight);
    assert_string_equal(answer.cause, "nothing_to_win");
    assert_non_null(strstr(said, ", and no finding gives back 5 % of it. At most 3."));
    assert_non_null(strstr(
        said, " % more could be won: In-loop sync × 50 — likely blocking GPU pipelining at "));
    finder_end();
    finder_begin("much");
    wait_in_steps(4);
    assert_string_equal(answer.cause, "sync_loop");
    finder_end();
}

/* Makes a gap of 300 ms at a line, with samples there, after so many of 400 kernels. */
static void gap_after(int kernels)
{
    struct program *p = &finder.p;
    finder_begin("start");
    int64_t line = finder_python("a.py", "main", 22);
    program_work(p, 1000000);
    for (int k = 0; k < 400; k++) {
        if (k == kernels) {
            p->now = p->gpu > p->now ? p->gpu : p->now;
            for (int n = 0; n < 60; n++)
                program_look(p, p->now + 5000000 * n + 2500000, 42, line, IDLE_RUNNING);
            program_work(p, 300000000);
            program_capture(p, 1, 42, line);
        }
        program_launch(p, (struct program_kernel){.ns = 400000, .thread = 42});
    }
    ask();
}

/* A gap before the GPU had done 1 % of its work is part of the start, which a run has once. */
TEST(test_start)
{
    gap_after(2);
    const struct insight *i = finder_find("idle_cause", "a.py:22");
    assert_true(i->once);
    assert_int_equal(i->severity, INSIGHT_LOW);
    assert_non_null(strstr(i->text, "before the GPU had done 1 % of its work"));
    assert_string_equal(answer.cause, "nothing_to_win");
    assert_non_null(strstr(said, "between the first 1 % of its work and the last work, "));
    finder_end();
    gap_after(20); /* 5 % were done */
    i = finder_find("idle_cause", "a.py:22");
    assert_false(i->once);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    assert_ptr_equal(answer.insight, i);
    finder_end();
}

/* Idle time without a line: the answer says which cause has most of it. */
TEST(test_no_line)
{
    finder_begin("start");
    program_work(&finder.p, 5100000000);
    finder_gaps(5, 0, 2000000);
    ask();
    assert_null(answer.insight);
    assert_string_equal(answer.cause, "before_first");
    assert_non_null(
        strstr(said, "No line is known that gives back 1 % of the run. The GPU was idle"));
    finder_end();
    finder_begin("edges");
    program_work(&finder.p, 20000000);
    finder_gaps(20, 0, 2000000);
    ask();
    assert_string_equal(answer.cause, "nothing_to_win");
    assert_ptr_equal(strstr(said, "Nothing to win here: between the first and the last work, "),
                     said);
    assert_non_null(strstr(said, " of the run lies before and after."));
    finder_end();
    finder_begin("empty");
    ask();
    assert_string_equal(answer.cause, "unknown");
    finder_end();
}

/* The line whose launches ended the idle time does not own the time. */
TEST(test_ended_by)
{
    finder_begin("ended");
    finder_gaps(20, 3000000, 2000000);
    ask();
    assert_string_equal(answer.cause, "late_launch");
    assert_true(answer.insight->ended_by);
    assert_int_equal(answer.place, 0);
    finder_end();
}

/* A line is named for its own part, and not at all if it has less than half. */
TEST(test_own)
{
    static const struct {
        int64_t part;
        bool named;
        int64_t gives_back;
    } cases[] = {{100, true, 4000}, {75, true, 3000}, {50, true, 2000}, {49, false, 4000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct insight f = {.gives_back = 4000};
        insight_own(&f, &(struct insight_heaviest){.place = 7, .part = cases[i].part, .all = 100});
        assert_int_equal(f.place, cases[i].named ? 7 : 0);
        assert_int_equal(f.gives_back, cases[i].gives_back);
    }
    struct insight f = {.gives_back = 4000};
    insight_own(&f, &(struct insight_heaviest){0});
    assert_int_equal(f.gives_back, 4000);
}

static void put_window(bool opens)
{
    struct window_row w;
    MAKE_UNKNOWN(w);
    w.time = finder.p.now;
    w.name = program_name(&finder.p, "window");
    w.phase = !opens;
    w.capture = 1;
    make_log_rows(&finder.p.log, RECORD_window, &w, 1);
}

/* Most of a window lies before its first work and after its last. Whether the GPU was busy there is
 * unknown, so that the time is neither busy nor idle. */
TEST(test_edges_of_windows)
{
    finder_begin("edges");
    program_work(&finder.p, 50000000);
    put_window(true);
    program_work(&finder.p, 6000000);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
    program_work(&finder.p, 8000000);
    put_window(false);
    program_work(&finder.p, 50000000);
    ask();
    assert_null(answer.insight);
    assert_string_equal(answer.cause, "unknown");
    assert_ptr_equal(strstr(said, "Too little was recorded: what the GPU did for 8"), said);
    struct idle_sum sums[IDLE_CAUSES];
    struct idle_busy busy;
    int64_t idle;
    assert_int_equal(sum_idle_steady(&finder.m, sums, &idle), 1);
    sum_idle_busy(&finder.m, idle, &busy);
    assert_int_equal(busy.any, 2000000);
    assert_int_equal(busy.kernels, 2000000);
    assert_in_range(busy.unknown, 11000000, 13000000);
    assert_int_equal(busy.any + busy.unknown + idle, sum_idle_watched(&finder.m));
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
                                       cmocka_unit_test(test_nothing_to_win),
                                       cmocka_unit_test(test_theory),
                                       cmocka_unit_test(test_little),
                                       cmocka_unit_test(test_start),
                                       cmocka_unit_test(test_no_line),
                                       cmocka_unit_test(test_ended_by),
                                       cmocka_unit_test(test_own),
                                       cmocka_unit_test(test_edges_of_windows)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
