/* test_sum_idle.c - why the GPU was idle: every gap has a cause, and the shares sum up. */
#include "analyze/model/idle/idle.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdlib.h>
#include <string.h>

static struct idle_sum sums[IDLE_CAUSES];

/* Reads, checks that causes sum up to what was idle, and leaves the causes in sums. */
static void read_program(struct program *p, struct model *m, unsigned seed)
{
    struct busy_result busy;
    int64_t all;
    program_end(p);
    model_init(m, names);
    program_read_shuffled(p, m, seed);
    sum_idle_total(m, sums, &all);
    busy_result(&m->devices.any, &busy);
    assert_int_equal(all, sum_facts_duration(m) - busy.busy);
    assert_int_equal(m->idle.doubtful, 0);
    rows_check_idle(m);
    program_fini(p);
}

static int64_t blamed(const struct model *m)
{
    int64_t ns = 0;
    for (size_t i = 0; i < m->wait_lines.lines.count; i++)
        ns += sum_wait_lines_at(&m->wait_lines, i)->idle;
    return ns;
}

/* Waits that are long enough are to blame for the gap after them, including its launches. */
TEST(test_sync)
{
    struct program p;
    struct model m;
    program_init(&p, "sync");
    int64_t stack = program_python(&p, 0, "a.py", "f", 5);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 5; k++)
            program_launch(&p, (struct program_kernel){.ns = 200000});
        program_sync(&p, WAIT_STREAM, stack, 1);
        program_work(&p, 40000); /* the host's own work, in the shadow of the wait */
    }
    read_program(&p, &m, 0);
    /* 9 gaps of 5 us return, 40 us work, 2 us launch, 3 us start */
    assert_int_equal(sums[IDLE_SYNC].time, 9 * 50000);
    assert_int_equal(sums[IDLE_SLOW].time, 0);
    assert_int_equal(blamed(&m), 9 * 50000);
    model_fini(&m);
}

/* A wait that had nothing to wait for explains no more than its own length. */
TEST(test_short_sync)
{
    struct program p;
    struct model m;
    program_init(&p, "short");
    int64_t stack = program_python(&p, 0, "a.py", "f", 5);
    for (int i = 0; i < 10; i++) {
        program_launch(&p, (struct program_kernel){.ns = 20000});
        program_work(&p, 500000);
        program_sync(&p, WAIT_STREAM, stack, 1); /* 1 us */
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_SYNC].time, 9 * 1000);
    assert_true(sums[IDLE_LATE].time > 9 * 450000);
    model_fini(&m);
}

TEST(test_no_sync)
{
    struct program p;
    struct model m;
    program_init(&p, "late");
    for (int i = 0; i < 10; i++) {
        program_launch(&p, (struct program_kernel){.ns = 1000});
        program_work(&p, 30000); /* 31 us of idle: slow launches */
        program_launch(&p, (struct program_kernel){.ns = 1000});
        program_work(&p, 2000000); /* late */
        program_launch(&p, (struct program_kernel){.ns = 1000});
        program_work(&p, 20000000); /* nothing submitted */
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_SYNC].time, 0);
    assert_int_equal(sums[IDLE_SLOW].gaps, 10);
    assert_int_equal(sums[IDLE_LATE].gaps, 10);
    assert_int_equal(sums[IDLE_NOTHING].gaps, 9);
    model_fini(&m);
}

/* Calls inside a gap take their own part of it. */
TEST(test_calls_in_gap)
{
    struct program p;
    struct model m;
    program_init(&p, "calls");
    int64_t stack = program_python(&p, 0, "a.py", "f", 5);
    program_launch(&p, (struct program_kernel){.ns = 10000});
    program_work(&p, 20000);
    program_call(&p, (struct wait_row){.duration = 300000, .call = WAIT_FREE, .stack = stack});
    program_work(&p, 20000);
    program_call(&p, (struct wait_row){.duration = 200000, .call = WAIT_MODULE, .stack = stack});
    program_call(&p, (struct wait_row){.duration = 100000, .call = WAIT_COPY, .stack = stack});
    program_launch(&p, (struct program_kernel){.ns = 10000});
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_MEMORY].time, 300000);
    assert_int_equal(sums[IDLE_CODE].time, 200000);
    assert_int_equal(sums[IDLE_COPY].time, 100000);
    assert_int_equal(sums[IDLE_SLOW].time, 7000 + 20000 + 5000);
    model_fini(&m);
}

/* A thread that only watches, and waits all the time, delays nobody. */
static void check_watcher(bool reported)
{
    struct program p;
    struct model m;
    program_init(&p, "watcher");
    p.reported = reported;
    int64_t stack = program_python(&p, 0, "w.py", "watch", 5);
    for (int i = 0; i < 20; i++) {
        program_launch(&p, (struct program_kernel){.ns = 1000, .thread = 1});
        program_work(&p, 300000);
    }
    int64_t now = p.now;
    p.now = 1000000;
    program_call(
        &p, (struct wait_row){.duration = now, .call = WAIT_EVENT, .stack = stack, .thread = 7});
    p.now = now;
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_SYNC].time, 0);
    assert_true(sums[IDLE_LATE].time > 19 * 290000);
    model_fini(&m);
}

TEST(test_watcher)
{
    check_watcher(true);
    check_watcher(false);
}

/* Two threads: the one that did not wait launched late; the other's wait is not to blame. */
TEST(test_two_threads)
{
    struct program p;
    struct model m;
    program_init(&p, "two");
    int64_t a = program_python(&p, 0, "a.py", "f", 5), b = program_python(&p, 0, "b.py", "g", 6);
    for (int i = 0; i < 10; i++) {
        program_launch(&p, (struct program_kernel){.ns = 100000, .thread = 1});
        program_sync(&p, WAIT_STREAM, a, 1);
        program_work(&p, 30000);
        program_launch(&p, (struct program_kernel){.ns = 100000, .thread = 2});
        program_sync(&p, WAIT_STREAM, b, 2);
        program_work(&p, 30000);
    }
    read_program(&p, &m, 0);
    /* Each gap begins in the wait of one thread and is ended by the other one: no call of the
     * latter lies in it, so that the wait in which it began counts. */
    assert_int_equal(sums[IDLE_SYNC].time, 19 * 40000);
    model_fini(&m);
}

/* Work that had been launched before the gap began was delayed by something else. */
TEST(test_queued)
{
    struct program p;
    struct model m;
    program_init(&p, "queued");
    int64_t stack = program_python(&p, 0, "a.py", "f", 5);
    program_launch(&p, (struct program_kernel){.ns = 100000});
    p.gpu += 700000; /* the second one waits for an event of another device */
    program_launch(&p, (struct program_kernel){.ns = 100000});
    program_sync(&p, WAIT_STREAM, stack, 1);
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_QUEUED].time, 700000);
    assert_int_equal(sums[IDLE_SYNC].time, 0);
    model_fini(&m);
}

TEST(test_back_to_back)
{
    struct program p;
    struct model m;
    program_init(&p, "dense");
    for (int i = 0; i < 100; i++) {
        program_launch(&p, (struct program_kernel){.ns = 50000});
        p.gpu += 1200;
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_BETWEEN].time, 99 * 1200);
    for (int c = 0; c < IDLE_BETWEEN; c++)
        assert_int_equal(sums[c].time, 0);
    model_fini(&m);
}

/* Few spans are kept, and gaps are reported early: the sums stay equal. */
TEST(test_bounded)
{
    struct idle_sum all[IDLE_CAUSES];
    for (int bound = 0; bound < 2; bound++) {
        struct program p;
        struct model m;
        int64_t total;
        program_init(&p, "bounded");
        int64_t stack = program_python(&p, 0, "a.py", "f", 5);
        for (int i = 0; i < 3000; i++) {
            for (int k = 0; k <= i % 3; k++)
                program_launch(&p, (struct program_kernel){.ns = 3000 + i % 7 * 1000});
            if (i % 2)
                program_sync(&p, WAIT_STREAM, stack, 1);
            program_work(&p, i % 5 * 20000);
        }
        program_end(&p);
        model_init(&m, names);
        if (bound)
            m.idle.max_spans = 64; /* spans are passed on early, many times */
        program_read(&p, &m);
        sum_idle_total(&m, bound ? sums : all, &total);
        assert_int_equal(m.idle.doubtful, 0);
        if (bound)
            for (int c = 0; c < IDLE_CAUSES; c++)
                assert_int_equal(sums[c].time, all[c].time);
        model_fini(&m);
        program_fini(&p);
    }
}

TEST(test_any_order)
{
    struct idle_sum first[IDLE_CAUSES];
    for (unsigned seed = 0; seed < 8; seed++) {
        struct program p;
        struct model m;
        program_init(&p, "order");
        int64_t stack = program_python(&p, 0, "a.py", "f", 5);
        for (int i = 0; i < 40; i++) {
            for (int k = 0; k < 3; k++)
                program_launch(&p, (struct program_kernel){.ns = 30000 + i * 1000});
            if (i % 3)
                program_sync(&p, WAIT_CONTEXT, stack, 1);
            program_work(&p, i * 9000);
        }
        read_program(&p, &m, seed);
        if (!seed)
            memcpy(first, sums, sizeof first);
        assert_memory_equal(first, sums, sizeof first);
        model_fini(&m);
    }
}

/* Random programs: idle time is never reported twice, whatever the threads do. */
TEST(test_sums)
{
    unsigned seed = 7;
    for (int round = 0; round < 40; round++) {
        struct program p;
        struct model m;
        program_init(&p, "random");
        int64_t stack = program_python(&p, 0, "a.py", "f", 5);
        for (int i = 0; i < 200; i++) {
            seed = seed * 1103515245 + 12345;
            int64_t thread = 1 + (seed >> 16 & 1), ns = seed >> 18 & 0x1ffff;
            switch (seed >> 8 & 3) {
            case 0:
                program_launch(&p, (struct program_kernel){.ns = ns, .thread = thread});
                break;
            case 1:
                program_sync(&p, 1 + (seed >> 12 & 7), stack, thread);
                break;
            case 2:
                program_work(&p, ns);
                break;
            default:
                program_call(&p, (struct wait_row){.duration = ns,
                                                   .call = seed >> 12 & 15,
                                                   .stack = seed >> 13 & 1 ? stack : 0,
                                                   .thread = thread});
            }
        }
        read_program(&p, &m, round & 3);
        assert_true(blamed(&m) <= sum_facts_duration(&m));
        model_fini(&m);
    }
}

/* Two processes share a GPU at the same time: each has its own idle time, and the run is idle no
 * longer than it lasts. */
TEST(test_together)
{
    struct model all, one[2];
    struct program p;
    int64_t ns, idle;
    model_init(&all, names);
    for (int i = 0; i < 2; i++) {
        program_init(&p, i ? "b" : "a");
        for (int k = 0; k < 10; k++) {
            program_launch(&p, (struct program_kernel){.ns = 1000});
            program_work(&p, 2000000);
        }
        read_program(&p, &one[i], 0);
        assert_int_equal(model_merge(&all, &one[i]), 0);
    }
    assert_int_equal(model_settle(&all), 0);
    assert_int_equal(sum_idle_total(&all, sums, &ns), 1);
    sum_idle_total(&one[0], sums, &idle);
    assert_int_equal(ns, 2 * idle);
    assert_int_equal(sum_idle_of_run(&all, ns), idle);
    assert_true(idle < sum_facts_duration(&all));
    model_fini(&all);
    model_fini(&one[0]);
    model_fini(&one[1]);
}

/* The library, or an engine, holds a thread for ns. */
static void keep(struct program *p, const char *kind, int64_t thread, int64_t ns)
{
    struct overhead_row o = {.start = p->now,
                             .duration = ns,
                             .kind = program_name(p, kind),
                             .thread = thread ? thread : CELL_NULL};
    make_log_rows(&p->log, RECORD_overhead, &o, 1);
}

/* Time that an engine takes is the engine's, inside a call and outside, logged before the kernels
 * or after them. Time that it takes on another thread does not count for the launching one, nor
 * does the overhead that the library reports of itself. */
TEST(test_engine)
{
    struct program p;
    struct model m;
    for (unsigned seed = 0; seed < 4; seed++) {
        program_init(&p, "engine");
        p.reported = true;
        int64_t stack = program_python(&p, 0, "a.py", "f", 5);
        keep(&p, "engine", 1, 3000000); /* before the first work */
        program_work(&p, 5000000);
        program_launch(&p, (struct program_kernel){.ns = 10000});
        program_work(&p, 8000); /* until it is done */
        program_work(&p, 5000);
        keep(&p, "engine", 1, 200000000);
        keep(&p, "engine", 1, 150000000); /* at the same time */
        program_work(&p, 200000000);
        keep(&p, "engine", 2, 30000);
        keep(&p, "resource", 1, 30000);
        program_work(&p, 50000);
        p.now += 100000;
        keep(&p, "engine", 1, 400000); /* the call below is longer */
        p.now -= 100000;
        program_call(&p, (struct wait_row){.duration = 900000, .call = WAIT_ALLOC, .stack = stack});
        program_launch(&p, (struct program_kernel){.ns = 10000});
        read_program(&p, &m, seed);
        assert_int_equal(sums[IDLE_ENGINE].time, 3000000 + 200000000 + 400000);
        assert_int_equal(sums[IDLE_ENGINE].gaps, 2);
        assert_int_equal(sums[IDLE_MEMORY].time, 500000);
        assert_int_equal(sums[IDLE_SLOW].time, 50000 + 5000 + 5000 - 5000);
        assert_int_equal(sums[IDLE_NOTHING].time, 0);
        assert_int_equal(blamed(&m), 500000);
        model_fini(&m);
    }
}

static void put_window(struct program *p, bool opens)
{
    struct window_row w;
    MAKE_UNKNOWN(w);
    w.time = p->now;
    w.name = program_name(p, "window");
    w.phase = !opens;
    w.capture = 1;
    make_log_rows(&p->log, RECORD_window, &w, 1);
}

/* A window: 5 kernels of 1 ms, with 2 ms of the host's work after each launch. */
static int64_t window(struct program *p)
{
    int64_t begin = p->now;
    put_window(p, true);
    for (int k = 0; k < 5; k++) {
        program_launch(p, (struct program_kernel){.ns = 1000000});
        program_work(p, 2000000);
    }
    put_window(p, false);
    return p->now - begin;
}

/* Time between windows of capture is unknown: it is not idle, and not in the share base. */
TEST(test_windows)
{
    struct program p;
    struct model m, all;
    int64_t ns, open = 0, run;
    program_init(&p, "windows");
    program_work(&p, 300000000);
    open += window(&p);
    program_work(&p, 700000000);
    open += window(&p);
    program_work(&p, 500000000);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    program_fini(&p);
    assert_int_equal(sum_idle_total(&m, sums, &ns), 1);
    assert_int_equal(sums[IDLE_LATE].gaps, 2 * 4);
    assert_int_equal(ns, sums[IDLE_LATE].time);
    assert_in_range(ns, 2 * 4 * 900000, 2 * 4 * 1100000);
    assert_int_equal(m.windows.capture.opened, 2);
    assert_int_equal(sum_windows_time(&m), open);
    assert_int_equal(sum_idle_of_run(&m, ns), ns);
    assert_string_equal(sum_windows_whole(&m), "the windows");
    assert_true(sum_facts_duration(&m) > 1500000000);
    /* A session without windows is merged: it counts as a whole, and lies at another time. */
    model_init(&all, names);
    assert_int_equal(model_merge(&all, &m), 0);
    model_fini(&m);
    program_init(&p, "whole");
    p.now += 10000000000;
    for (int k = 0; k < 10; k++) {
        program_launch(&p, (struct program_kernel){.ns = 1000});
        program_work(&p, 2000000);
    }
    read_program(&p, &m, 0);
    run = sum_windows_time(&m);
    assert_int_equal(run, sum_facts_duration(&m));
    assert_string_equal(sum_windows_whole(&m), "the run");
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(model_settle(&all), 0);
    assert_in_range(sum_windows_time(&all), run, open + run);
    model_fini(&m);
    model_fini(&all);
}

/* A window that is still open at the end lasts until then. */
TEST(test_open_window)
{
    struct program p;
    struct model m;
    int64_t ns;
    program_init(&p, "open");
    program_work(&p, 300000000);
    int64_t since = p.now;
    put_window(&p, true);
    program_launch(&p, (struct program_kernel){.ns = 1000000});
    program_work(&p, 5000000);
    program_launch(&p, (struct program_kernel){.ns = 1000000});
    program_work(&p, 5000000);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    assert_int_equal(sum_windows_time(&m), m.facts.end - since);
    struct model all; /* the time is the same if the session is merged alone */
    model_init(&all, names);
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(model_settle(&all), 0);
    assert_int_equal(sum_windows_time(&all), m.facts.end - since);
    model_fini(&all);
    sum_idle_total(&m, sums, &ns);
    assert_int_equal(ns, sums[IDLE_LATE].time);
    assert_in_range(ns, 3900000, 4100000);
    program_fini(&p);
    model_fini(&m);
}

/* Kernels of one launch long ago, each after a thread's next call: without an end to the search
 * this takes minutes. */
TEST(test_far_back)
{
    enum { STEPS = 60000 };
    struct program p;
    struct model m;
    program_init(&p, "far");
    for (int i = 0; i < STEPS; i++) {
        struct kernel_row k;
        MAKE_UNKNOWN(k);
        program_call(&p, (struct wait_row){.duration = 1000, .call = WAIT_STREAM});
        p.now += 20000;
        p.gpu = p.now + 1000;
        k.start = p.now;
        k.duration = 1000;
        k.stream = k.correlation = 1;
        k.thread = i % 2 ? 1 : CELL_NULL;
        make_log_rows(&p.log, RECORD_kernel, &k, 1);
    }
    read_program(&p, &m, 0);
    assert_true(sums[IDLE_QUEUED].gaps > STEPS / 2);
    model_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sync),        cmocka_unit_test(test_short_sync),
        cmocka_unit_test(test_no_sync),     cmocka_unit_test(test_calls_in_gap),
        cmocka_unit_test(test_watcher),     cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_queued),      cmocka_unit_test(test_back_to_back),
        cmocka_unit_test(test_bounded),     cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_together),
        cmocka_unit_test(test_far_back),    cmocka_unit_test(test_windows),
        cmocka_unit_test(test_open_window), cmocka_unit_test(test_engine),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
