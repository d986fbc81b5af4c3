/* test_sync.c - waits: which line is reported, its severity, and calls that do not count as waits.
 * */
#include "analyze/insight/findings.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdlib.h>
#include <string.h>

TEST(test_sync_loop)
{
    finder_begin("loop");
    finder_steps(50, 4, finder_python("/srv/app/train.py", "train_step", 90), true);
    finder_look();
    const struct insight *i = finder_find("sync_loop", "train.py:90"),
                         *line = finder_find("sync_line", "train.py:90");
    assert_ptr_equal(i, &finder.found.items[0]);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    assert_int_equal(line->severity, INSIGHT_HIGH);
    assert_string_equal(i->title, "In-loop sync × 50 — likely blocking GPU pipelining");
    assert_string_equal(i->next,
                        "Move the sync outside the loop or capture the loop body into a CUDA "
                        "graph (replay amortizes launch overhead).");
    assert_string_equal(i->text, "60.10ms blocked across 50 calls at train.py:90 in train_step(). "
                                 "That is 77.5 % of the run. "
                                 "The GPU sat idle 19.6 % of the run because of it. If these waits "
                                 "can go, that alone saves 15.0 to "
                                 "15.2 "
                                 "ms "
                                 "of 77.5 ms.");
    assert_string_equal(line->title,
                        "ContextSynchronize × 50 @ train.py:90 · 60.10ms (77.5% of session)");
    assert_int_equal(finder_fact(i, "launches_between_median"), 4);
    assert_int_equal(finder_fact(i, "calls"), 50);
    assert_int_equal(i->gives_back, 49 * 310000);
    assert_int_equal(i->of[IDLE_SYNC], finder_fact(i, "gpu_idle_ns"));
    assert_int_equal(i->of[IDLE_COPY] + i->of[IDLE_MEMORY], 0);
    finder_only("sync_loop", "sync_line");
    finder_end();
}

/* A line synchronizes in a loop and copies, too: title and text count the loop's calls, the text
 * the others as well, and asynchronous copies that need not have waited are in none of these. */
TEST(test_sync_loop_and_others)
{
    finder_begin("others");
    int64_t stack = finder_python("/srv/app/train.py", "train_step", 90);
    finder_steps(50, 4, stack, true);
    for (int k = 0; k < 6; k++)
        program_call(
            &finder.p,
            (struct wait_row){
                .duration = 20000, .call = WAIT_COPY, .async = k < 2, .stack = stack, .bytes = 4});
    finder_look();
    const struct insight *i = finder_find("sync_loop", "train.py:90");
    assert_non_null(i);
    assert_string_equal(i->title, "In-loop sync × 50 — likely blocking GPU pipelining");
    assert_non_null(strstr(i->text, "ms blocked across 50 calls in a loop and 4 other calls at "
                                    "train.py:90 in train_step(). That is "));
    assert_int_equal(finder_fact(i, "calls_in_loop"), 50);
    assert_int_equal(finder_fact(i, "calls"), 54);
    finder_end();
}

/* Blocking copies make the loop, and asynchronous ones of the same line are no part of it. */
TEST(test_copy_loop_counts_what_waits)
{
    finder_begin("copies");
    int64_t stack = finder_python("a.py", "item", 8);
    for (int i = 0; i < 42; i++) {
        for (int k = 0; k < 5; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 100000});
        program_call(&finder.p, (struct wait_row){.duration = finder.p.gpu - finder.p.now + 5000,
                                                  .call = WAIT_COPY,
                                                  .async = i >= 40,
                                                  .stack = stack,
                                                  .bytes = 4});
    }
    finder_look();
    const struct insight *i = finder_find("sync_loop", "a.py:8");
    assert_non_null(i);
    assert_non_null(strstr(i->title, "In-loop sync × 40 — "));
    assert_non_null(strstr(i->text, " blocked across 40 calls at a.py:8"));
    assert_int_equal(finder_fact(i, "calls"), 40);
    finder_end();
}

/* The program of test_sync_loop with the wait after the loop. */
TEST(test_sync_hoisted)
{
    finder_begin("hoisted");
    finder_steps(50, 4, finder_python("/srv/app/train.py", "main", 95), false);
    finder_look();
    const struct insight *i = finder_find("sync_line", "train.py:95");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "calls"), 1);
    assert_true(i->gives_back < 1000000);
    finder_only("sync_line", "");
    finder_end();
}

/* Two launches between waits are no loop by the public client's rule, and neither are two calls. */
TEST(test_sync_no_loop)
{
    finder_begin("two");
    finder_steps(50, 2, finder_python("/srv/app/train.py", "f", 1), true);
    finder_look();
    assert_null(finder_find("sync_loop", ""));
    finder_end();
    finder_begin("twice");
    finder_steps(2, 9, finder_python("/srv/app/train.py", "f", 1), true);
    finder_look();
    assert_null(finder_find("sync_loop", ""));
    finder_end();
}

/* HIGH above 50 %, MEDIUM above 10 %, else LOW; it always fires if there are stacks. */
TEST(test_sync_severity)
{
    static const struct {
        int64_t busy, rest;
        enum insight_severity severity;
    } cases[] = {{600, 300, INSIGHT_HIGH},
                 {400, 500, INSIGHT_MEDIUM},
                 {120, 800, INSIGHT_MEDIUM},
                 {40, 900, INSIGHT_LOW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("severity");
        int64_t stack = finder_python("a.py", "f", 5);
        program_launch(&finder.p, (struct program_kernel){.ns = cases[i].busy * 1000000});
        program_sync(&finder.p, WAIT_STREAM, stack, 1);
        program_work(&finder.p, cases[i].rest * 1000000);
        program_launch(&finder.p, (struct program_kernel){.ns = 1000});
        finder_look();
        assert_int_equal(finder_find("sync_line", "a.py:5")->severity, cases[i].severity);
        finder_end();
    }
}

/* A well pipelined loop waits for the step before the last: the GPU never stops. */
TEST(test_sync_pipelined)
{
    finder_begin("pipelined");
    int64_t stack = finder_python("a.py", "loop", 5), before = 0;
    for (int i = 0; i < 60; i++) {
        int64_t mine = finder.p.gpu;
        for (int k = 0; k < 4; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 300000});
        if (before > finder.p.now)
            program_call(&finder.p, (struct wait_row){.duration = before - finder.p.now,
                                                      .call = WAIT_EVENT,
                                                      .stack = stack,
                                                      .bytes = CELL_NULL});
        before = mine;
    }
    finder_look();
    const struct insight *i = finder_find("sync_loop", "a.py:5");
    assert_non_null(i); /* by the public client's rule */
    assert_int_equal(i->gives_back, 0);
    assert_non_null(strstr(i->text, "had work meanwhile"));
    finder_end();
}

/* A line loads code and synchronizes: its waits have the idle time of the waits alone. */
TEST(test_sync_owns_its_calls)
{
    const int64_t ms = 1000000;
    finder_begin("owns");
    int64_t stack = finder_python("a.py", "f", 5);
    program_launch(&finder.p, (struct program_kernel){.ns = 10 * ms});
    program_sync(&finder.p, WAIT_STREAM, stack, 1);
    program_call(&finder.p, (struct wait_row){.duration = 400 * ms,
                                              .call = WAIT_MODULE,
                                              .stack = stack,
                                              .bytes = CELL_NULL});
    program_launch(&finder.p, (struct program_kernel){.ns = 10 * ms});
    program_sync(&finder.p, WAIT_STREAM, stack, 1);
    program_launch(&finder.p, (struct program_kernel){.ns = 10 * ms});
    finder_look();
    const struct insight *i = finder_find("sync_line", "a.py:5");
    assert_non_null(i);
    assert_true(finder_fact(i, "blocked_ns") < 40 * ms);
    assert_true(finder_fact(i, "gpu_idle_ns") < 40 * ms);
    assert_true(sum_wait_lines_at(&finder.m.wait_lines, 1)->idle >= 300 * ms);
    finder_end();
}

/* Waits that the driver makes by itself are listed under its mark, and are in no loop of the
 * program. Other marks, and waits without a stack, are no line. */
TEST(test_sync_no_line)
{
    finder_begin("mark");
    finder_steps(20, 4, program_mark(&finder.p, 0, "<driver-internal>"), true);
    finder_look();
    const struct insight *i = finder_find("sync_line", "<driver-internal>");
    assert_non_null(i);
    assert_non_null(strstr(i->title, "ContextSynchronize × 20 @ <driver-internal> · "));
    assert_non_null(strstr(i->text, "No frame of the program is on their stacks."));
    finder_only("sync_line", "");
    finder_end();
    finder_begin("unknown");
    finder_steps(20, 4, program_mark(&finder.p, 0, "<unknown>"), true);
    finder_steps(20, 4, 0, true);
    finder_look();
    finder_only("", "");
    finder_end();
}

/* Calls that are no synchronizations are no finding if they took 14 us; 14 ms are one if the call
 * waits by itself. */
TEST(test_other_calls)
{
    const int calls[] = {WAIT_OTHER, WAIT_COPY, WAIT_STREAM, WAIT_FREE};
    for (size_t i = 0; i < 8; i++) {
        int call = calls[i % 4];
        finder_begin("other");
        for (int k = 0; k < 100; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        program_call(&finder.p, (struct wait_row){.duration = i < 4 ? 14000 : 14000000,
                                                  .call = call,
                                                  .stack = finder_python("a.py", "end", 9)});
        finder_look();
        assert_int_equal(finder_find("sync_line", "a.py:9") != NULL,
                         call == WAIT_STREAM || (i >= 4 && call != WAIT_OTHER));
        finder_end();
    }
}

/* One asynchronous copy that the scheduler delayed is no wait. Three of them, or a long one, are,
 * unless the GPU was busy meanwhile: then its queue was full. */
TEST(test_slow_calls)
{
    static const struct {
        int calls;
        int64_t ns;
        bool reported;
    } cases[] = {
        {1, 8000000, false}, {2, 8000000, false}, {3, 8000000, true}, {1, 150000000, true}};
    for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; i++) {
        bool other = i % 2, busy = i / 2 % 2;
        finder_begin("held up");
        int64_t stack = finder_python("a.py", "put", 9);
        for (int k = 0; k < (busy ? 500 : 3); k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        for (int k = 0; k < cases[i / 4].calls; k++)
            program_call(&finder.p, (struct wait_row){.duration = cases[i / 4].ns,
                                                      .call = other ? WAIT_OTHER : WAIT_COPY,
                                                      .async = !other,
                                                      .stack = stack});
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        finder_look();
        const struct insight *at = finder_find("sync_line", "a.py:9");
        assert_int_equal(at != NULL, cases[i / 4].reported && !busy);
        if (at)
            assert_int_equal(finder_fact(at, "calls"), cases[i / 4].calls);
        finder_end();
    }
}

/* Calls that are no synchronization are reported if they give back 1 % of the run, or block for a
 * tenth of it and wait by themselves. An explicit synchronization always is. */
TEST(test_slow_share)
{
    static const struct {
        int64_t run; /* ms of kernels around them */
        int64_t call;
        bool async, reported;
    } cases[] = {{2000, WAIT_FILL, true, false},
                 {500, WAIT_FILL, true, true},
                 {2000, WAIT_FILL, false, false},
                 {500, WAIT_FILL, false, true},
                 {2000, WAIT_STREAM, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        finder_begin("share");
        int64_t stack = finder_python("a.py", "put", 9);
        program_launch(&finder.p, (struct program_kernel){.ns = 1000000});
        program_work(&finder.p, 3000000); /* the GPU is idle from here on */
        for (int k = 0; k < 4; k++)
            program_call(&finder.p, (struct wait_row){.duration = 3000000,
                                                      .call = cases[i].call,
                                                      .async = cases[i].async,
                                                      .stack = stack});
        program_launch(&finder.p, (struct program_kernel){.ns = cases[i].run * 1000000});
        finder_look();
        assert_int_equal(finder_find("sync_line", "a.py:9") != NULL, cases[i].reported);
        finder_end();
    }
}

/* A copy that waits by itself for a tenth of the run is reported whatever the GPU did, also with
 * asynchronous copies at its line; a shorter one is not. */
TEST(test_slow_during_a_copy)
{
    for (int i = 0; i < 4; i++) {
        int slow = i & 1 ? 100 : 1;
        bool is_long = i & 2;
        finder_begin("copies");
        int64_t stack = finder_python("a.py", "put", 9);
        for (int k = 0; k < 500; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        program_call(&finder.p, (struct wait_row){.duration = is_long ? 34000000 : 14000000,
                                                  .call = WAIT_COPY,
                                                  .stack = stack});
        for (int k = 0; k < slow; k++)
            program_call(&finder.p,
                         (struct wait_row){
                             .duration = 20000, .call = WAIT_COPY, .async = true, .stack = stack});
        finder_look();
        assert_int_equal(finder_find("sync_line", "a.py:9") != NULL, is_long);
        finder_end();
    }
}

/* A slow copy does not count if its line also synchronizes. */
TEST(test_slow_during_kernels)
{
    finder_begin("during");
    int64_t stack = finder_python("a.py", "put", 9);
    program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    program_call(
        &finder.p,
        (struct wait_row){.duration = 8000000, .call = WAIT_COPY, .async = 1, .stack = stack});
    program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    program_sync(&finder.p, WAIT_STREAM, stack, 1);
    finder_look();
    const struct insight *i = finder_find("sync_line", "a.py:9");
    assert_int_equal(finder_fact(i, "calls"), 1);
    assert_true(finder_fact(i, "blocked_ns") < 1000000);
    assert_non_null(strstr(i->title, "StreamSynchronize × 1 @ a.py:9"));
    finder_end();
}

/* The line is in a thread of a framework, where the reader cannot change it. */
TEST(test_library)
{
    int64_t frame;
    finder_begin("library");
    int64_t stack = program_native(&finder.p, 0, "/usr/lib/python3/dist-packages/jaxlib/xla.so",
                                   0x1000, &frame);
    program_symbol(&finder.p, frame, 0, "xla::gpu::Executable::Run", NULL, CELL_NULL,
                   STACKS_FUNCTION_ONLY);
    struct thread_row thread = {77, program_name(&finder.p, "xla-worker")};
    make_log_rows(&finder.p.log, RECORD_thread, &thread, 1);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 300000, .thread = 77});
        program_sync(&finder.p, WAIT_STREAM, stack, 77);
    }
    finder_look();
    for (int rule = 0; rule < 2; rule++) {
        const struct insight *i = finder_find(rule ? "sync_loop" : "sync_line", "");
        assert_non_null(i);
        assert_non_null(strstr(i->text, "in a library, at xla.so in xla::gpu::Executable::Run()"));
        assert_non_null(strstr(i->text, "no frame of the program itself is on its stack. The "
                                        "longest wait was on thread 77 (xla-worker)."));
        assert_null(strstr(i->text, "move it out"));
        assert_null(strstr(i->next, "outside the loop"));
        assert_non_null(strstr(i->next, "your own code"));
    }
    finder_end();
}

/* The first step loads code and fills buffers at a line that waits for nothing. */
TEST(test_first_step)
{
    finder_begin("first step");
    int64_t stack = finder_python("a.py", "forward", 13);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 16; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 100000});
        program_call(&finder.p,
                     (struct wait_row){.duration = 8000, .call = WAIT_FILL, .stack = stack});
        program_call(&finder.p,
                     (struct wait_row){.duration = 5000000, .call = WAIT_MODULE, .stack = stack});
        program_call(&finder.p,
                     (struct wait_row){.duration = 200000, .call = WAIT_ALLOC, .stack = stack});
    }
    for (int k = 0; k < 200; k++)
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    program_sync(&finder.p, WAIT_STREAM, stack, 1);
    finder_look();
    assert_null(finder_find("sync_loop", ""));
    const struct insight *i = finder_find("sync_line", "a.py:13");
    assert_int_equal(finder_fact(i, "calls"), 5);
    assert_true(finder_fact(i, "blocked_ns") < 90000000); /* of the synchronization */
    assert_non_null(strstr(i->title, "StreamSynchronize × 1 @ a.py:13"));
    assert_non_null(strstr(i->text, "1 synchronization and 4 other calls"));
    finder_end();
}

TEST(test_copy_loop)
{
    finder_begin("copies");
    int64_t stack = finder_python("a.py", "item", 8);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 5; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 100000});
        program_call(&finder.p, (struct wait_row){.duration = finder.p.gpu - finder.p.now + 5000,
                                                  .call = WAIT_COPY,
                                                  .stack = stack,
                                                  .bytes = 4});
    }
    finder_look();
    assert_non_null(finder_find("sync_loop", "a.py:8"));
    finder_only("sync_loop", "sync_line"); /* not reported again as small copies */
    finder_end();
}

/* A session of the engine, with the status of the feature. */
static void begin_as(const char *engine, const char *feature, const char *status, bool simulated)
{
    struct program *p = &finder.p;
    finder_begin("slowed");
    buf_fini(&p->log.lines);
    buf_init(&p->log.lines, 1u << 30);
    p->log.engine = engine;
    p->log.simulated = simulated;
    make_log_header(&p->log, "device", 1);
    p->names = 0;
    program_name(p, "H200");
    program_name(p, "GPU-0");
    make_log_device(&p->log);
    struct capability_row c = {
        .feature = program_name(p, feature), .requested = 1, .status = program_name(p, status)};
    make_log_rows(&p->log, RECORD_capability, &c, 1);
}

/* Waits that an engine makes longer have nothing to give back, and their idle time has no line. If
 * the engine counted nothing after all, the waits are the program's. */
TEST(test_slowed)
{
    static const struct {
        const char *engine, *feature, *status, *mode;
        bool simulated, slowed;
    } cases[] = {
        {"Deep", "sass_metrics", "collected", "scopes", false, true},
        {"Deep", "sass_metrics", "unavailable", "scopes", false, false},
        {"SassMetrics", "sass_metrics", "partial", "scopes", false, true},
        {"SassMetrics", "sass_metrics", "collected", "scopes", true, false},
        {"RangeProfiler", "range_counters", "collected", "kernels", false, true},
        {"RangeProfiler", "range_counters", "collected", "scopes", false, false},
        {"PcSampling", "pc_sampling", "collected", "kernels", false, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct buf said;
        buf_init(&said, 4096);
        begin_as(cases[k].engine, cases[k].feature, cases[k].status, cases[k].simulated);
        struct option_row o = {.name = program_name(&finder.p, "range_mode"),
                               .value = program_name(&finder.p, cases[k].mode),
                               .source = program_name(&finder.p, "trace")};
        make_log_rows(&finder.p.log, RECORD_option, &o, 1);
        finder_steps(50, 4, finder_python("/srv/app/train.py", "train_step", 90), true);
        finder_look();
        findings_caveats(&finder.m, &said);
        const struct insight *i = finder_find("sync_loop", "train.py:90");
        assert_non_null(i);
        assert_int_equal(strstr(buf_cstr(&said), cases[k].engine) != NULL, cases[k].slowed);
        assert_int_equal(i->severity, cases[k].slowed ? INSIGHT_LOW : INSIGHT_HIGH);
        assert_int_equal(i->gives_back > 0, !cases[k].slowed);
        finder_end();
        buf_fini(&said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sync_loop_and_others),
                                       cmocka_unit_test(test_copy_loop_counts_what_waits),
                                       cmocka_unit_test(test_sync_loop),
                                       cmocka_unit_test(test_sync_hoisted),
                                       cmocka_unit_test(test_sync_no_loop),
                                       cmocka_unit_test(test_sync_severity),
                                       cmocka_unit_test(test_sync_pipelined),
                                       cmocka_unit_test(test_sync_owns_its_calls),
                                       cmocka_unit_test(test_sync_no_line),
                                       cmocka_unit_test(test_other_calls),
                                       cmocka_unit_test(test_first_step),
                                       cmocka_unit_test(test_slow_calls),
                                       cmocka_unit_test(test_slow_share),
                                       cmocka_unit_test(test_slow_during_a_copy),
                                       cmocka_unit_test(test_slow_during_kernels),
                                       cmocka_unit_test(test_library),
                                       cmocka_unit_test(test_copy_loop),
                                       cmocka_unit_test(test_slowed)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
