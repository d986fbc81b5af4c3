/* test_launch.c - tests storms of launches, late ones, and nothing to launch. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdlib.h>
#include <string.h>

static void storm(int kernels, int64_t ns, int64_t host, int64_t sync)
{
    int64_t name = program_name(&finder.p, "tiny");
    make_log_config(&finder.p.log, 1, name);
    for (int i = 0; i < kernels; i++) {
        program_launch(&finder.p, (struct program_kernel){.ns = ns, .config = 1});
        program_work(&finder.p, host);
        if (sync)
            program_sync(&finder.p, WAIT_STREAM, sync, 1);
    }
}

TEST(test_storm)
{
    finder_begin("storm");
    storm(4000, 2500, 5000, 0);
    finder_look();
    const struct insight *i = finder_find("launch_storm", "");
    assert_int_equal(finder_fact(i, "launches"), 4000);
    /* fused kernels save their gaps, and the time of the shortest kernel each */
    assert_int_equal(finder_fact(i, "gpu_floor_ns"), 4000 * 2500);
    assert_int_equal(i->gives_back, finder_fact(i, "gpu_idle_ns") + 4000 * 2500);
    assert_true(finder_fact(i, "gpu_idle_ns") > 3900 * 4000);
    assert_non_null(strstr(i->text, "kernels' own time 10.0 ms is what any kernel takes"));
    assert_true(finder_fact(i, "longest_ns") >= 2500);
    finder_only("launch_storm", "");
    finder_end();
    finder_begin("few");
    storm(500, 2500, 5000, 0);
    finder_look();
    assert_null(finder_find("launch_storm", ""));
    finder_end();
    finder_begin("long kernels");
    storm(4000, 40000, 5000, 0);
    finder_look();
    finder_only("", "");
    finder_end();
    finder_begin("dense"); /* launches keep up */
    storm(4000, 9000, 1000, 0);
    finder_look();
    finder_only("", "");
    finder_end();
    finder_begin("synchronized"); /* the waits are to blame, not the launches */
    storm(4000, 2500, 0, finder_python("a.py", "f", 7));
    finder_look();
    assert_null(finder_find("launch_storm", ""));
    assert_non_null(finder_find("sync_line", "a.py:7"));
    finder_end();
}

/* Batches of tiny kernels at two lines in turns; of `of` batches the first line has `first`. */
static void storm_at(int64_t first_line, int64_t other_line, int first, int of, bool looks)
{
    enum { BATCHES = 120, BATCH = 20 };
    struct program *p = &finder.p;
    make_log_config(&p->log, 1, program_name(p, "tiny"));
    for (int i = 0; i < BATCHES; i++) {
        int64_t line = i % of < first ? first_line : other_line;
        for (int k = 0; k < BATCH; k++) {
            p->now = p->gpu > p->now ? p->gpu : p->now;
            if (looks && k == BATCH / 2)
                program_look(p, p->now + 10000, 1, line, IDLE_RUNNING);
            program_work(p, 30000);
            if (k == BATCH - 1)
                program_capture(p, 2, 1, line);
            program_launch(p, (struct program_kernel){.ns = 2500, .config = 1});
        }
    }
    finder_look();
}

/* A storm names its lines with share and error, and is placed at the line that has half. */
TEST(test_storm_of_lines)
{
    finder_begin("two lines");
    int64_t a = finder_python("a.py", "f", 10), b = finder_python("b.py", "g", 20);
    storm_at(a, b, 2, 5, true);
    const struct insight *i = finder_find("launch_storm", "b.py:20");
    assert_non_null(i);
    assert_true(i->half_width > 0);
    assert_non_null(strstr(i->text, "of the time before slow launches the host spent 60 % (± "));
    assert_non_null(strstr(i->text, " points) at b.py:20 in g() and 40 % (± "));
    assert_non_null(strstr(i->text, " points) at a.py:10 in f(), by 120 samples"));
    finder_end();

    finder_begin("all of it at one line");
    storm_at(finder_python("a.py", "f", 10), 0, 5, 5, true);
    i = finder_find("launch_storm", "a.py:10");
    assert_non_null(i);
    assert_non_null(strstr(i->text, "the host spent 100 % at a.py:10 in f(), by 120 samples"));
    finder_end();

    finder_begin("nearly all of it at one line");
    a = finder_python("a.py", "f", 10);
    storm_at(finder_python("b.py", "g", 20), a, 1, 120, true);
    i = finder_find("launch_storm", "a.py:10");
    assert_non_null(i);
    assert_non_null(strstr(i->text, "the host spent 99 % (at least 9"));
    finder_end();

    finder_begin("stacks alone"); /* what ended the time has no error */
    a = finder_python("a.py", "f", 10);
    b = finder_python("b.py", "g", 20);
    storm_at(a, b, 4, 5, false);
    i = finder_find("launch_storm", "a.py:10");
    assert_non_null(i);
    assert_true(i->half_width == CELL_NULL);
    assert_non_null(strstr(i->text, "the host spent 80 % at a.py:10 in f() and 20 % at b.py:20 in "
                                    "g(), by the launches that have a stack"));
    finder_end();
}

/* Batches at four lines, none of which has half of the time. launcher: whether kernels have
 * a stack, that of one line. */
static void storm_at_four(bool launcher)
{
    struct program *p = &finder.p;
    finder_begin("four lines");
    int64_t lines[4] = {finder_python("a.py", "f", 10), finder_python("b.py", "g", 20),
                        finder_python("c.py", "h", 30), finder_python("d.py", "i", 40)},
            from = launcher ? finder_python("e.py", "j", 50) : 0;
    make_log_config(&p->log, 1, program_name(p, "tiny"));
    for (int i = 0; i < 120; i++) {
        int64_t line = lines[i % 10 < 4 ? 0 : i % 10 < 7 ? 1 : i % 10 < 9 ? 2 : 3];
        for (int k = 0; k < 20; k++) {
            p->now = p->gpu > p->now ? p->gpu : p->now;
            if (k == 10)
                program_look(p, p->now + 10000, 1, line, IDLE_RUNNING);
            program_work(p, 30000);
            program_launch(
                p, (struct program_kernel){.ns = 2500, .config = 1, .thread = 1, .stack = from});
        }
        program_capture(p, 2, 1, line);
    }
    finder_look();
}

/* The first screen names the line with most; the finding has the line that launched most, if
 * kernels have stacks. */
TEST(test_storm_without_a_line)
{
    storm_at_four(false);
    const struct insight *i = finder_find("launch_storm", "");
    assert_non_null(i);
    assert_int_equal(i->place, 0);
    assert_non_null(strstr(i->text, "the host spent 40 % (± "));
    assert_non_null(strstr(i->text, " points) at a.py:10 in f(), 30 % (± "));
    assert_null(strstr(i->text, "d.py")); /* three are named */
    assert_non_null(i->inside);
    assert_int_equal(strncmp(i->inside, "40 % ± ", strlen("40 % ± ")), 0);
    assert_non_null(strstr(i->inside, " at a.py:10"));
    finder_end();
    storm_at_four(true);
    i = finder_find("launch_storm", "e.py:50");
    assert_non_null(i);
    assert_non_null(strstr(i->text, "; 100.0 % of all launches at e.py:50 in j()"));
    assert_non_null(strstr(i->text, "the host spent 40 % (± "));
    assert_null(i->inside);
    finder_end();
}

TEST(test_late)
{
    finder_begin("late");
    finder_gaps(20, 3000000, 2000000);
    finder_look();
    const struct insight *i = finder_find("late_launch", "late.py:33");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "gaps"), 19);
    assert_in_range(finder_fact(i, "longest_ns"), 3000000, 3100000);
    finder_only("late_launch", "");
    finder_end();
    finder_begin("a clock that jumps"); /* idle time longer than the run is no evidence */
    finder_gaps(20, 3000000, 2000000);
    finder.p.now = finder.p.gpu = 10000000;
    finder_look();
    assert_null(finder_find("late_launch", ""));
    finder_end();
    finder_begin("in time");
    finder_gaps(20, 0, 2000000);
    finder_look();
    finder_only("", "");
    finder_end();
}

TEST(test_idle)
{
    finder_begin("idle");
    finder_gaps(5, 50000000, 2000000);
    finder_look();
    assert_non_null(finder_find("idle_cause", "late.py:33"));
    finder_only("idle_cause", "");
    finder_end();
    finder_begin("once"); /* a long start is no fault of what follows */
    program_work(&finder.p, 900000000);
    finder_gaps(5, 0, 2000000);
    finder_look();
    finder_only("", "");
    finder_end();
}

/* n gaps that the main thread spends at a line, by samples, until a launch elsewhere. */
static void at_line(int n, int64_t stack, int64_t launch, int64_t ns, int looks, int64_t state)
{
    for (int i = 0; i < n; i++) {
        finder.p.now = finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now;
        for (int k = 0; k < looks; k++)
            program_look(&finder.p, finder.p.now + (2 * k + 1) * ns / (2 * looks), 42, stack,
                         state);
        program_work(&finder.p, ns);
        program_capture(&finder.p, 1, 42, launch);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    }
}

/* One finding a line, for the time that is the line's; none for a line with less than 5 %. */
TEST(test_lines)
{
    finder_begin("lines");
    int64_t parse = finder_python("data.py", "parse", 41), step = finder_python("a.py", "step", 9),
            load = finder_python("io.py", "load", 7), tiny = finder_python("t.py", "t", 2);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    at_line(40, parse, step, 3000000, 3, 1);
    at_line(9, load, step, 11500000, 5, 3);
    int64_t longest = finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now;
    at_line(1, load, step, 16500000, 5, 3);
    at_line(1, tiny, step, 2000000, 5, 1);
    finder_look();
    const struct insight *i = finder_find("late_launch", "data.py:41"),
                         *k = finder_find("idle_cause", "io.py:7");
    assert_int_equal(finder.found.count, 2);
    assert_int_equal(finder_fact(i, "samples"), 120);
    assert_in_range(i->gives_back, 115000000, 120000000);
    assert_int_equal(finder_fact(i, "gpu_idle_ns"), i->gives_back);
    assert_non_null(strstr(i->text, "while the host was at data.py:41 in parse(), by 120 samples"));
    assert_int_equal(k->gives_back, 120000000);
    assert_int_equal(finder_fact(k, "longest_ns"), 16505000); /* of that line, with its launch */
    assert_int_equal(finder_fact(k, "longest_start_ns"), longest - finder.m.facts.start);
    assert_in_range(finder_fact(i, "longest_ns"), 3000000, 3100000);
    assert_string_equal(k->title, "Nothing submitted");
    assert_null(i->inside); /* the line itself has the time */
    assert_non_null(strstr(k->text, " It was blocked ("));
    finder_without_memory();
    finder_end();
}

/* The finding says what a library does inside the line, and the first screen does if it is
 * certain. */
TEST(test_inside)
{
    finder_begin("inside");
    int64_t fit = finder_python("fit.py", "main", 4), step = finder_python("a.py", "step", 9),
            loop = program_python(&finder.p, fit, "/usr/lib/python3/site-packages/l/loop.py",
                                  "Loop.run", 30),
            next = program_python(&finder.p, loop, "/usr/lib/python3/site-packages/l/fetch.py",
                                  "Fetcher.next", 12),
            log = program_python(&finder.p, loop, "/usr/lib/python3/site-packages/l/log.py",
                                 "write", 8);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    at_line(30, next, step, 3000000, 3, 1);
    at_line(10, log, step, 3000000, 3, 1);
    finder_look();
    const struct insight *i = finder_find("late_launch", "fit.py:4");
    assert_string_equal(i->inside, "75 % of it in Fetcher.next()");
    assert_non_null(strstr(i->text, " Inside it: 75 % (± 8 points) in fetch.py:12 Fetcher.next(), "
                                    "25 % (± 8 points) in log.py:8 write()."));
    finder_without_memory();
    finder_end();
}

/* A storm says which operators of the framework its launches were of. */
TEST(test_operators)
{
    static const char *const functions[] = {"_ZN2at4_ops2mm4callEv",
                                            "_ZN2at4_ops11add__Tensor4callEv"};
    finder_begin("operators");
    int64_t step = finder_python("a.py", "step", 9), stacks[2], frame;
    for (int i = 0; i < 2; i++) {
        stacks[i] = program_native(&finder.p, step, "/usr/lib/libtorch.so", 4096 + i, &frame);
        program_symbol(&finder.p, frame, 0, functions[i], NULL, 0, STACKS_FUNCTION_ONLY);
    }
    make_log_config(&finder.p.log, 1, program_name(&finder.p, "tiny"));
    for (int i = 0; i < 4000; i++) {
        finder.p.now = finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now;
        program_work(&finder.p, 20000);
        program_capture(&finder.p, 1, 1, stacks[i % 4 == 3]);
        program_launch(&finder.p, (struct program_kernel){.ns = 2500, .config = 1, .thread = 1});
    }
    finder_look();
    const struct insight *i = finder_find("launch_storm", "a.py:9");
    assert_non_null(strstr(i->text, " The launches were of aten::mm (75 % of the time), "
                                    "aten::add_.Tensor (25 %)."));
    finder_without_memory();
    finder_end();
}

/* A thread that could not run is a finding of its own, at whatever lines that was. */
TEST(test_states)
{
    finder_begin("states");
    int64_t step = finder_python("a.py", "step", 9), stacks[30];
    for (int i = 0; i < 30; i++)
        stacks[i] = finder_python("wide.py", "f", 100 + i);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    for (int i = 0; i < 30; i++)
        at_line(2, stacks[i], step, 3000000, 1, i < 20 ? 4 : 2);
    finder_look();
    const struct insight *gil = NULL, *core = NULL;
    for (size_t i = 0; i < finder.found.count; i++) {
        gil = strstr(finder.found.items[i].title, "GIL") ? &finder.found.items[i] : gil;
        core = strstr(finder.found.items[i].title, "No core") ? &finder.found.items[i] : core;
    }
    assert_int_equal(finder_fact(gil, "samples"), 40);
    assert_int_equal(gil->gives_back, 2 * core->gives_back);
    assert_int_equal(core->gives_back, 20 * 3000000);
    assert_non_null(strstr(core->next, "OMP_NUM_THREADS"));
    finder_only("idle_cause", "late_launch"); /* late: no line has 5 % of the run */
    finder_end();
}

/* A thread has no core for part of its time at a line. If that is most of it, the finding has that
 * part alone, with what helps; else the line has all of it. */
TEST(test_state_of_a_line)
{
    for (int most = 0; most < 2; most++) {
        int without = most ? 20 : 10;
        finder_begin("line");
        int64_t step = finder_python("a.py", "step", 9), line = finder_python("a.py", "f", 7);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
        for (int i = 0; i < 30; i++)
            at_line(2, line, step, 3000000, 1, i < without ? 2 : 1);
        finder_look();
        const struct insight *i = finder_find("late_launch", "a.py:7");
        assert_non_null(i);
        int64_t idle = finder_fact(i, "gpu_idle_ns");
        assert_true(idle >= 30 * 3000000);
        assert_int_equal(!!strstr(i->text, "no core was free"), most);
        assert_int_equal(!!strstr(i->next, "OMP_NUM_THREADS"), most);
        assert_string_equal(i->title,
                            most ? "No core for the thread that launches" : "Late launches");
        if (most) {
            assert_int_equal(i->gives_back, finder_fact(i, "stuck_ns"));
            assert_in_range(i->gives_back, idle * 65 / 100, idle * 68 / 100);
            assert_true(i->half_width > 0);
        } else {
            assert_int_equal(i->gives_back, idle);
        }
        finder_end();
    }
}

static const struct insight *find_title(const char *title)
{
    for (size_t i = 0; i < finder.found.count; i++)
        if (strstr(finder.found.items[i].title, title))
            return &finder.found.items[i];
    return NULL;
}

enum holder { NOBODY, ONE, TWO, BLOCKED_ONE };

/* Steps in which the launching thread waits for the lock at many lines. Other threads with samples
 * in the same rounds have the lock, or do not. */
static void wait_for_lock(enum holder who)
{
    finder_begin("holder");
    int64_t step = finder_python("a.py", "step", 9), parse = finder_python("load.py", "parse", 6),
            other = finder_python("log.py", "emit", 3);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    for (int i = 0; i < 30; i++) {
        int64_t line = finder_python("wide.py", "f", 100 + i), from = finder.p.now;
        at_line(2, line, step, 3000000, 1, 4);
        for (int64_t t = from; who != NOBODY && t < finder.p.now; t += 500000)
            program_look(&finder.p, t, 43, parse, who == BLOCKED_ONE ? 3 : 1);
        for (int64_t t = from; who == TWO && t < finder.p.now; t += 500000)
            program_look(&finder.p, t, 44, other, 1);
    }
    finder_look();
}

/* The lock's holder is named if only one thread can have had it. */
TEST(test_lock_holder)
{
    for (enum holder who = NOBODY; who <= BLOCKED_ONE; who++) {
        wait_for_lock(who);
        const struct insight *gil = find_title("GIL");
        assert_non_null(gil);
        assert_int_equal(
            strstr(gil->text, "The thread that had the lock was at load.py:6 in parse() in ") !=
                NULL,
            who == ONE);
        assert_int_equal(strstr(gil->text, "Which thread had the lock is mostly not known") != NULL,
                         who != ONE);
        finder_without_memory();
        finder_end();
    }
}

/* The finding says whether the machine is full, or the process may use only a part of it. */
TEST(test_cores)
{
    for (int full = 0; full < 2; full++) {
        finder_begin("cores");
        int64_t step = finder_python("a.py", "step", 9);
        struct host_metric_row host;
        MAKE_UNKNOWN(host);
        host.time = finder.p.now;
        host.cpu = full ? 9700 : 3100;
        make_log_rows(&finder.p.log, RECORD_host_metric, &host, 1);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
        for (int i = 0; i < 30; i++)
            at_line(2, finder_python("wide.py", "f", 100 + i), step, 3000000, 1, 2);
        finder_look();
        const struct insight *core = find_title("No core");
        assert_non_null(strstr(core->text, full ? "The host's cores were 97 % busy: all of its"
                                                : "The host's cores were 31 % busy: this process "
                                                  "may use fewer"));
        finder_end();
    }
}

/* Blocked in a system call is not blocked in a page fault. */
TEST(test_pages)
{
    for (int fault = 0; fault < 2; fault++) {
        finder_begin("pages");
        int64_t step = finder_python("a.py", "step", 9);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
        for (int i = 0; i < 30; i++) {
            int64_t line = finder_python("wide.py", "f", 100 + i), from = finder.p.now;
            at_line(2, line, step, 3000000, 0, 3);
            for (int64_t t = from + 100000; t < finder.p.now - 100000; t += 1000000)
                if (fault)
                    program_look_fault(&finder.p, t, 42, line);
                else
                    program_look(&finder.p, t, 42, line, 3);
        }
        finder_look();
        assert_int_equal(find_title("Waiting for pages of memory") != NULL, fault);
        finder_end();
    }
}

/* What was launched before the gap is another process's on a shared GPU, never the host's. */
TEST(test_shared)
{
    for (int timed = 0; timed < 2; timed++) {
        finder_begin("shared");
        if (!timed)
            program_arch(&finder.p, 1, "gfx942");
        int64_t step = finder_python("a.py", "step", 9);
        program_processes(&finder.p, 2);
        for (int i = 0; i < 20; i++) {
            if (timed)
                program_capture(&finder.p, 2, 42, step);
            for (int n = 0; n < 20; n++)
                program_launch(&finder.p, (struct program_kernel){.ns = 6000, .thread = 42});
            finder.p.now = timed ? finder.p.now : finder.p.gpu + 3000000;
            finder.p.gpu += 3000000;
        }
        finder_look();
        assert_null(finder_find("late_launch", ""));
        const struct insight *i = finder_find("idle_cause", "");
        assert_string_equal(i->title, "Other processes on the GPU");
        assert_int_equal(i->of[IDLE_OTHER], finder_fact(i, "gpu_idle_ns"));
        assert_int_equal(!strstr(i->text, "probably another process"), timed);
        assert_non_null(strstr(i->next, timed ? "(CUDA_" : "(HIP_"));
        finder_only("idle_cause", "");
        finder_end();
    }
    finder_begin("not known"); /* nobody knows when the work was launched: nothing is claimed */
    program_processes(&finder.p, 2);
    finder_gaps(20, 3000000, 2000000);
    finder_look();
    finder_only("", "");
    finder_end();
}

/* 400 launches of one kernel, one in `every` of which lasts as long as long_ns says. */
static void interrupted(int64_t processes, int64_t every, int64_t (*long_ns)(int))
{
    int64_t config = program_config(&finder.p, "gemm", 1320);
    if (processes)
        program_processes(&finder.p, processes);
    for (int i = 0; i < 400; i++)
        program_launch(&finder.p,
                       (struct program_kernel){.ns = i % every ? 190000 + i % 7 * 1000 : long_ns(i),
                                               .config = config,
                                               .thread = 42});
    finder_look();
}

static void interrupt(int64_t processes, int64_t every, int64_t (*long_ns)(int))
{
    finder_begin("slices");
    interrupted(processes, every, long_ns);
}

static int64_t a_slice(int i)
{
    return 2700000 + i % 3 * 30000;
}

static int64_t more_work(int i)
{
    return 1000000 + i * 60000;
}

/* Another process has its time slices in the middle of kernels: the kernels last longer, without a
 * gap. */
TEST(test_slices)
{
    interrupt(2, 10, a_slice);
    const struct insight *i = finder_find("idle_cause", "");
    assert_non_null(i);
    assert_string_equal(i->title, "Other processes on the GPU");
    assert_int_equal(finder_fact(i, "interrupted_launches"), 40);
    assert_true(i->of[INSIGHT_OF_KERNELS] > i->of[IDLE_OTHER]);
    int64_t truth = 40 * (2730000ll - 193000);
    assert_in_range(i->gives_back, truth - truth / 50, truth + truth / 50);
    assert_in_range(finder_fact(i, "interrupted_ns"), truth - truth / 50, truth + truth / 50);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    assert_non_null(strstr(i->text, "used the GPU during 40 launches"));
    assert_non_null(strstr(i->next, "(CUDA_VISIBLE_DEVICES)"));
    finder_without_memory();
    finder_end();
    finder_begin("slices on AMD");
    program_arch(&finder.p, 1, "gfx942");
    interrupted(2, 10, a_slice);
    i = finder_find("idle_cause", "");
    assert_non_null(i);
    assert_non_null(strstr(i->next, "(HIP_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES)"));
    finder_end();
    interrupt(0, 10, a_slice); /* nobody saw another process */
    assert_null(finder_find("idle_cause", ""));
    finder_end();
    interrupt(1, 10, a_slice);
    assert_null(finder_find("idle_cause", ""));
    finder_end();
    interrupt(2, 3, a_slice); /* a third of the launches: their work differs */
    assert_null(finder_find("idle_cause", ""));
    finder_end();
    interrupt(2, 10, more_work); /* no length that repeats */
    assert_null(finder_find("idle_cause", ""));
    finder_end();
    interrupt(2, 100, a_slice); /* four launches are too few */
    assert_null(finder_find("idle_cause", ""));
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storm),
                                       cmocka_unit_test(test_storm_of_lines),
                                       cmocka_unit_test(test_storm_without_a_line),
                                       cmocka_unit_test(test_late),
                                       cmocka_unit_test(test_idle),
                                       cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_inside),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_states),
                                       cmocka_unit_test(test_state_of_a_line),
                                       cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_slices),
                                       cmocka_unit_test(test_lock_holder),
                                       cmocka_unit_test(test_cores),
                                       cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
