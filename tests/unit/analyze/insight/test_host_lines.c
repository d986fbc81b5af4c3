/* test_host_lines.c - tests findings about the host: one card for each state, the line that owns
 * the time, and a next step that depends on what the thread did there. */
#include "analyze/insight/answer.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"
#include "tests/unit/support/make_log.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define MS 1000000ll

/* A sample of the launching thread, which is blocked in a system call; CELL_NULL: it runs. */
static void look(int64_t time, int64_t stack, int64_t state, int64_t call)
{
    struct host_sample_row row = {
        .start = time, .thread = 42, .stack = stack, .state = state, .syscall = call, .quality = 0};
    make_log_rows(&finder.p.log, RECORD_host_sample, &row, 1);
}

/* n gaps of 3 ms that the host spends at a line, until a launch elsewhere. */
static void gaps_at(int n, int64_t stack, int64_t launch, int64_t state, int64_t call)
{
    for (int i = 0; i < n; i++) {
        finder.p.now = finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now;
        for (int k = 0; k < 3; k++)
            look(finder.p.now + (2 * k + 1) * MS / 2, stack, state, call);
        program_work(&finder.p, 3 * MS);
        program_capture(&finder.p, 1, 42, launch);
        program_launch(&finder.p, (struct program_kernel){.ns = 2 * MS, .thread = 42});
    }
}

static int64_t begin(const char *name)
{
    finder_begin(name);
    int64_t step = finder_python("a.py", "step", 9);
    program_launch(&finder.p, (struct program_kernel){.ns = 2 * MS, .thread = 42});
    return step;
}

static const struct insight *titled(const char *title, bool with_line)
{
    for (size_t i = 0; i < finder.found.count; i++)
        if (strstr(finder.found.items[i].title, title) &&
            (finder.found.items[i].place != 0) == with_line)
            return &finder.found.items[i];
    return NULL;
}

/* A state of the thread is one card: its lines are parts of it, and it names the line with most. */
TEST(test_one_card_a_state)
{
    static const struct {
        int64_t state;
        const char *title;
    } states[] = {{2, "No core for the thread that launches"}, {4, "interpreter's lock (GIL)"}};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
        int64_t step = begin("state");
        gaps_at(30, finder_python("a.py", "f", 7), step, states[k].state, CELL_NULL);
        gaps_at(10, finder_python("b.py", "g", 8), step, states[k].state, CELL_NULL);
        finder_look();
        const struct insight *all = titled(states[k].title, false),
                             *line = titled(states[k].title, true);
        assert_non_null(all);
        assert_non_null(line);
        assert_int_equal(all->part_of, 0);
        for (size_t i = 0; i < finder.found.count; i++) {
            const struct insight *f = &finder.found.items[i];
            if (strstr(f->title, states[k].title) && f->place)
                assert_int_equal(f->part_of, all - finder.found.items + 1);
        }
        assert_in_range(all->gives_back, 40 * 3 * MS * 9 / 10, 40 * 3 * MS * 11 / 10);
        assert_non_null(
            strstr(all->text, " The waiting thread was at a.py:7 in f() for 75.0 % of that time."));
        if (states[k].state == 2)
            assert_string_equal(all->inside, "75 % of it at a.py:7");
        finder_without_memory();
        finder_end();
    }
}

/* A line at which the thread works keeps its card next to the card of a state at other lines. */
TEST(test_work_is_no_part_of_a_state)
{
    int64_t step = begin("both");
    gaps_at(20, finder_python("a.py", "f", 7), step, 2, CELL_NULL);
    gaps_at(20, finder_python("b.py", "g", 8), step, 1, CELL_NULL);
    finder_look();
    const struct insight *work = finder_find("late_launch", "b.py:8");
    assert_non_null(work);
    assert_int_equal(work->part_of, 0);
    assert_string_equal(work->title, "Late launches");
    assert_int_equal(titled("No core", true)->part_of,
                     titled("No core", false) - finder.found.items + 1);
    finder_end();
}

/* The thread that has the lock is where to look first, with its share of the samples. */
TEST(test_holder_comes_first)
{
    int64_t step = begin("holder"), parse = finder_python("load.py", "parse", 6);
    for (int i = 0; i < 30; i++) {
        int64_t from = finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now;
        for (int k = 0; k < 3; k++) /* samples are in order of time: one round each */
            program_look(&finder.p, from + (2 * k + 1) * MS / 2, 43, parse, 1);
        gaps_at(1, finder_python("a.py", "f", 7), step, 4, CELL_NULL);
    }
    finder_look();
    const struct insight *all = titled("GIL", false);
    assert_non_null(all);
    assert_string_equal(all->inside, "100 % of it held at load.py:6");
    finder_end();
}

/* What a thread waits for is elsewhere. A thread that sleeps may wait for the event itself. Python
 * that runs concurrently with the launching thread takes its lock. */
TEST(test_step_of_a_line)
{
    static const struct {
        int64_t state, call;
        const char *file, *step, *inside;
    } cases[] = {
        {3, SYS_clock_nanosleep, "a.py", "Sleep for less", "blocked (sleep)"},
        {3, SYS_futex, "a.py", "Find what it waits for", "blocked (futex)"},
        {3, SYS_epoll_wait, "a.py", "Find what it waits for", "blocked (epoll)"},
        {1, CELL_NULL, "a.py", "use another process", NULL},
        {1, CELL_NULL, "a.cu", "or move this work to another thread", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t step = begin("step");
        gaps_at(30, finder_python(cases[k].file, "f", 7), step, cases[k].state, cases[k].call);
        finder_look();
        char place[32];
        snprintf(place, sizeof place, "%s:7", cases[k].file);
        const struct insight *i = finder_find("late_launch", place);
        assert_non_null(i);
        assert_non_null(strstr(i->next, cases[k].step));
        assert_int_equal(i->inside != NULL, cases[k].inside != NULL);
        if (i->inside)
            assert_string_equal(i->inside, cases[k].inside);
        finder_without_memory();
        finder_end();
    }
}

/* A line below a DataLoader without workers. */
static int64_t input_line(int64_t line)
{
    int64_t main = finder_python("train.py", "main", 4),
            fetch = program_python(&finder.p, main, "/usr/lib/torch/utils/data/_utils/fetch.py",
                                   "_MapDatasetFetcher.fetch", 52);
    return program_python(&finder.p, fetch, "/srv/data.py", "parse", line);
}

/* An activity is at several small lines. The finding has the line with half of the time, and no
 * more than that line's time. If no line has half, the finding has no line, and says which has
 * most. */
TEST(test_activity_at_several_lines)
{
    for (int most = 0; most < 2; most++) {
        int64_t step = begin("input");
        gaps_at(most ? 6 : 4, input_line(18), step, 1, CELL_NULL);
        gaps_at(most ? 2 : 3, input_line(19), step, 1, CELL_NULL);
        gaps_at(most ? 1 : 3, input_line(20), step, 1, CELL_NULL);
        for (int i = 0; i < 45; i++) /* lines with less than 5 % each */
            gaps_at(2, finder_python("wide.py", "f", 100 + i), step, 1, CELL_NULL);
        finder_look();
        const struct insight *i = titled("Input prepared", most);
        assert_non_null(i);
        assert_null(titled("Input prepared", !most));
        assert_int_equal(finder_fact(i, "lines"), 3);
        int64_t idle = finder_fact(i, "gpu_idle_ns");
        assert_int_equal(i->gives_back, idle);
        assert_in_range(idle, (most ? 17 : 29) * MS, (most ? 19 : 32) * MS);
        if (most) {
            assert_non_null(strstr(i->text, " at data.py:18 in parse(). Other lines (2) have "));
        } else {
            assert_non_null(strstr(i->text, " at 3 lines together, for 40.0 % of it at "
                                            "data.py:18 in parse()."));
            assert_string_equal(i->inside, "40 % of it at data.py:18");
        }
        finder_without_memory();
        finder_end();
    }
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, finder_open, finder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_one_card_a_state),          CASE(test_work_is_no_part_of_a_state),
        CASE(test_holder_comes_first),        CASE(test_step_of_a_line),
        CASE(test_activity_at_several_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
