/* test_wait_lines.c - waits by line: threads, durations, and the launches between waits. */
#include "analyze/model/waits/lines.h"
#include "tests/test.h"

#include "analyze/model/idle/fork.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdlib.h>
#include <string.h>

/* Returns the line with that text, or NULL. */
static const struct wait_line *line(const struct model *m, const char *text)
{
    const struct wait_line *found = NULL;
    for (size_t i = 0; i < m->wait_lines.lines.count && !found; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, i);
        struct buf place;
        buf_init(&place, 4096);
        stacks_put_place(m, l->place, &place);
        if (l->count && !strcmp(buf_cstr(&place), text))
            found = l;
        buf_fini(&place);
    }
    return found;
}

/* Reads what the program wrote, and frees the program. */
static void read_program(struct program *p, struct model *m)
{
    model_init(m, names);
    program_read(p, m);
    program_fini(p);
}

static int64_t between(const struct wait_line *l)
{
    return histogram_quantile(&l->between[WAIT_EXPLICIT], 0.5);
}

/* All waits are at trainer.fit(): they are divided by the functions of the library below. Frames of
 * the interpreter count for nothing. */
TEST(test_fork_below_a_line)
{
    static const struct {
        int64_t ms, line;
        const char *function;
    } calls[] = {{5, 12, "advance"}, {1, 15, "advance"}, {3, 7, "log"}, {1, 3, "close"}};
    struct program p;
    struct model m;
    struct idle_fork f;
    program_init(&p, "fork");
    int64_t fit = program_python(&p, 0, "train.py", "<module>", 36),
            loop = program_python(&p, fit, "/usr/lib/python3/site-packages/l/loop.py", "run", 4);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int64_t frame, stack = program_python(&p, loop, "/usr/lib/python3/site-packages/l/loop.py",
                                              calls[i].function, calls[i].line);
        stack = program_native(&p, stack, "/usr/bin/python3", 4096 + (int64_t)i, &frame);
        program_symbol(&p, frame, 0, "call_function", "callproc.c", 923, STACKS_LINE);
        program_call(&p, (struct wait_row){.duration = calls[i].ms * 1000000,
                                           .call = WAIT_STREAM,
                                           .stack = stack,
                                           .bytes = CELL_NULL});
    }
    program_end(&p);
    read_program(&p, &m);
    const struct wait_line *l = line(&m, "train.py:36");
    assert_non_null(l);
    assert_int_equal(wait_fork_find(&m, (uint32_t)keyed_index(&m.wait_lines.lines, l), &f), 0);
    assert_int_equal(f.ns, 10000000);
    assert_int_equal(f.count, 3);
    assert_string_equal(model_text(&m, f.at.function), "run");
    assert_string_equal(model_text(&m, f.branches[0].step.function), "advance");
    assert_int_equal(f.branches[0].step.line, 12);
    assert_int_equal(f.branches[0].ns, 6000000);
    assert_string_equal(model_text(&m, f.branches[1].step.function), "log");
    assert_int_equal(f.branches[1].ns, 3000000);
    assert_int_equal(f.branches[2].ns, 1000000);
    model_fini(&m);
}

/* 20 steps of 4 kernels of 100 us and a wait at train.py:90. */
static void train(struct program *p, int64_t thread)
{
    int64_t main = program_python(p, 0, "/srv/app/train.py", "<module>", 200),
            step = program_python(p, main, "/srv/app/train.py", "train_step", 90),
            lib = program_python(p, step, "/usr/lib/python3/dist-packages/torch/cuda/__init__.py",
                                 "synchronize", 800);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++)
            program_launch(p, (struct program_kernel){.ns = 100000, .thread = thread});
        program_sync(p, WAIT_CONTEXT, lib, thread);
        program_work(p, 50000);
    }
}

TEST(test_loop)
{
    struct program p;
    struct model m;
    program_init(&p, "loop");
    train(&p, 1);
    program_end(&p);
    read_program(&p, &m);
    const struct wait_line *l = line(&m, "train.py:90");
    assert_non_null(l);
    assert_int_equal(l->count, 20);
    assert_int_equal(l->calls[WAIT_CONTEXT], 20);
    assert_int_equal(between(l), 4);
    assert_int_equal(l->between[WAIT_EXPLICIT].count, 19);
    assert_int_equal(l->threads, 1);
    /* Per step: 5 us launch to start, 400 us of kernels; 8 us were spent launching. */
    assert_int_equal(sum_wait_lines_blocked(&m, l), 20 * 402000);
    assert_int_equal(sum_wait_lines_blocked_all(&m), 20 * 402000);
    const struct stacks_place *place = stacks_place_at(&m.stacks, l->place);
    assert_string_equal(model_text(&m, place->function), "train_step");
    assert_string_equal(model_text(&m, place->file), "/srv/app/train.py");
    assert_true(place->user);
    model_fini(&m);
}

/* Two threads in the same wait: no share above 100 %. */
TEST(test_threads)
{
    struct program p;
    struct model m;
    program_init(&p, "threads");
    int64_t stack = program_python(&p, 0, "a.py", "worker", 5);
    for (int64_t t = 1; t <= 8; t++) {
        p.now = 1000000;
        program_call(
            &p, (struct wait_row){.duration = 90000000, .call = 3, .stack = stack, .thread = t});
    }
    read_program(&p, &m);
    const struct wait_line *l = line(&m, "a.py:5");
    assert_int_equal(l->count, 8);
    assert_int_equal(l->threads, 8);
    assert_int_equal(l->time[WAIT_STREAM], 8 * 90000000ll);
    assert_int_equal(sum_wait_lines_blocked(&m, l), 90000000);
    assert_true(sum_wait_lines_blocked(&m, l) <= sum_facts_duration(&m));
    model_fini(&m);
}

/* A stream that waits for an event is listed separately. */
TEST(test_stream_wait)
{
    struct program p;
    struct model m;
    program_init(&p, "apart");
    int64_t stack = program_python(&p, 0, "a.py", "f", 5);
    program_call(&p,
                 (struct wait_row){.duration = 2000, .call = WAIT_STREAM_EVENT, .stack = stack});
    program_call(&p, (struct wait_row){.duration = 7000, .call = WAIT_STREAM, .stack = stack});
    read_program(&p, &m);
    size_t count;
    uint32_t *order = sum_wait_lines_sorted(&m, &count);
    assert_int_equal(count, 2);
    assert_false(sum_wait_lines_at(&m.wait_lines, order[0])->apart);
    assert_true(sum_wait_lines_at(&m.wait_lines, order[1])->apart);
    assert_int_equal(sum_wait_lines_blocked_all(&m), 7000);
    free(order);
    model_fini(&m);
}

/* One line reached from many callers is one line: between its calls lies one launch, not ten. */
TEST(test_helper)
{
    struct program p;
    struct model m;
    int64_t at[10];
    program_init(&p, "helper");
    for (int i = 0; i < 10; i++)
        at[i] =
            program_python(&p, program_python(&p, 0, "a.py", "main", 10 + i), "a.py", "check", 3);
    for (int i = 0; i < 100; i++) {
        program_launch(&p, (struct program_kernel){.ns = 1000});
        program_sync(&p, WAIT_STREAM, at[i % 10], 1);
    }
    read_program(&p, &m);
    const struct wait_line *l = line(&m, "a.py:3");
    assert_int_equal(l->count, 100);
    assert_int_equal(between(l), 1);
    unsigned stacks = 0;
    for (size_t i = 1; i < m.wait_lines.stacks.count; i++)
        stacks += ((struct wait_stack *)keyed_at(&m.wait_lines.stacks, i))->calls == 10;
    assert_int_equal(stacks, 10);
    model_fini(&m);
}

/* Kernels launched by another thread (autograd's) count as what happened between. */
TEST(test_other_thread_launches)
{
    struct program p;
    struct model m;
    program_init(&p, "autograd");
    int64_t stack = program_python(&p, 0, "a.py", "step", 7);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 6; k++)
            program_launch(&p, (struct program_kernel){.ns = 1000, .thread = 2});
        program_sync(&p, WAIT_STREAM, stack, 1);
    }
    read_program(&p, &m);
    assert_int_equal(between(line(&m, "a.py:7")), 6);
    model_fini(&m);
}

/* Native frames: an inlined function, driver frames skipped, no symbols. */
TEST(test_native)
{
    struct program p;
    struct model m;
    int64_t frame, replaced;
    program_init(&p, "native");
    int64_t main = program_native(&p, 0, "/srv/app/app", 0x1000, NULL),
            user = program_native(&p, main, "/srv/app/app", 0x1200, &frame),
            rt = program_native(&p, user, "/usr/local/cuda/lib64/libcudart.so.13", 0x777, NULL),
            bare = program_native(&p, 0, "/srv/app/stripped", 0x4242, &replaced),
            mark = program_mark(&p, 0, "<driver-internal>"),
            nowhere = program_native(&p, 0, "", 0x99, NULL);
    program_symbol(&p, frame, 1, "_Z5outerv", "/srv/app/app.cpp", 80, 0);
    program_symbol(&p, frame, 0, "_Z5inneri", "/srv/app/inner.h", 12, 0);
    program_symbol(&p, replaced, 0, NULL, NULL, CELL_NULL, STACKS_FILE_REPLACED);
    program_sync(&p, WAIT_STREAM, rt, 1);
    program_sync(&p, WAIT_STREAM, bare, 1);
    program_sync(&p, WAIT_STREAM, mark, 1);
    program_sync(&p, WAIT_STREAM, nowhere, 1);
    program_sync(&p, WAIT_STREAM, 0, 1);
    program_sync(&p, WAIT_STREAM, 99999, 1);
    read_program(&p, &m);
    assert_int_equal(line(&m, "inner.h:12")->count, 1);
    assert_int_equal(line(&m, "stripped+0x4242")->count, 1);
    assert_int_equal(line(&m, "<driver-internal>")->count, 1);
    assert_int_equal(line(&m, "<unknown>")->count, 1); /* whether it is the driver's is unknown */
    assert_int_equal(line(&m, "")->count, 2);
    assert_int_equal(m.wait_lines.unstacked, 2);
    struct stacks_walk w = {.node = line(&m, "inner.h:12")->node};
    struct stacks_step step;
    static const char *const steps[] = {"libcudart.so.13+0x777", "inner.h:12 inner() (inlined)",
                                        "app.cpp:80 outer()", "app+0x1000"};
    for (int i = 0; i < 4; i++) {
        struct buf text;
        assert_true(stacks_next(&m.stacks, &w, &step));
        buf_init(&text, 4096);
        stacks_put_step(&m, &step, 60, &text);
        assert_string_equal(buf_cstr(&text), steps[i]);
        buf_fini(&text);
    }
    assert_false(stacks_next(&m.stacks, &w, &step));
    model_fini(&m);
}

/* The driver's records of synchronizations are used if there are no wait rows. */
TEST(test_sync_rows)
{
    struct program p;
    struct model m;
    program_init(&p, "syncs");
    int64_t stack = program_python(&p, 0, "a.py", "f", 9);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3; k++)
            program_launch(&p, (struct program_kernel){.ns = 10000});
        make_log_rows(&p.log, RECORD_sync,
                      &(struct sync_row){.start = p.now,
                                         .duration = 30000,
                                         .kind = 3,
                                         .correlation = ++p.correlation,
                                         .thread = CELL_NULL,
                                         .stack = stack},
                      1);
        p.now += 30000;
    }
    read_program(&p, &m);
    const struct wait_line *l = line(&m, "a.py:9");
    assert_int_equal(l->count, 4);
    assert_int_equal(between(l), 3);
    assert_int_equal(sum_wait_lines_blocked(&m, l), 120000);
    model_fini(&m);
}

/* Ids of pages that are far apart, added in any order; between counts what lies between two. */
TEST(test_ids_far_apart)
{
    static const uint32_t ids[] = {0x70000, 5, 0xffff0003, 0x1ffff, 0x10000, 0xfffffffe};
    static const uint32_t asked[] = {0,       4,       5,       6,          0x10000,    0x20000,
                                     0x70001, 0x80000, 0x90000, 0xffff0004, 0xfffffffe, UINT32_MAX};
    enum { IDS = sizeof ids / sizeof *ids, ASKED = sizeof asked / sizeof *asked };
    struct corr_set s = {0};
    assert_int_equal(corr_set_between(&s, 1, 9), 0);
    for (int i = 0; i < IDS; i++)
        assert_int_equal(corr_set_add(&s, ids[i]), 0);
    corr_set_seal(&s);
    for (int i = 0; i < ASKED; i++)
        for (int k = 0; k < ASKED; k++) {
            const uint32_t a = asked[i], b = asked[k];
            uint64_t n = 0;
            for (int id = 0; id < IDS; id++)
                n += a < b ? ids[id] > a && ids[id] < b : a > b && (ids[id] > a || ids[id] < b);
            assert_int_equal(corr_set_between(&s, a, b), n);
        }
    corr_set_fini(&s);
}

static void same(const struct model *a, const struct model *b)
{
    size_t n, k;
    uint32_t *x = sum_wait_lines_sorted(a, &n), *y = sum_wait_lines_sorted(b, &k);
    assert_int_equal(n, k);
    for (size_t i = 0; i < n; i++) {
        const struct wait_line *l = sum_wait_lines_at(&a->wait_lines, x[i]),
                               *o = sum_wait_lines_at(&b->wait_lines, y[i]);
        struct buf s, t;
        buf_init(&s, 4096);
        buf_init(&t, 4096);
        stacks_put_place(a, l->place, &s);
        stacks_put_place(b, o->place, &t);
        assert_string_equal(buf_cstr(&s), buf_cstr(&t));
        buf_fini(&s);
        buf_fini(&t);
        assert_int_equal(l->count, o->count);
        assert_int_equal(l->idle, o->idle);
        assert_int_equal(sum_wait_lines_blocked(a, l), sum_wait_lines_blocked(b, o));
        assert_int_equal(between(l), between(o));
    }
    free(x);
    free(y);
}

TEST(test_any_order)
{
    struct program p;
    struct model m;
    program_init(&p, "order");
    train(&p, 1);
    int64_t frame, native = program_native(&p, 0, "/srv/app/app", 0x1200, &frame);
    program_sync(&p, WAIT_EVENT, native, 3);
    program_symbol(&p, frame, 0, "_Z5outerv", "/srv/app/app.cpp", 80, 0);
    train(&p, 2);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    for (unsigned seed = 1; seed < 8; seed++) {
        struct model other;
        model_init(&other, names);
        program_read_shuffled(&p, &other, seed);
        same(&m, &other);
        model_fini(&other);
    }
    model_fini(&m);
    program_fini(&p);
}

static void merge(struct model *into, const struct model *const *from, int n)
{
    model_init(into, names);
    for (int i = 0; i < n; i++)
        assert_int_equal(model_merge(into, from[i]), 0);
}

/* The order of sessions does not matter. */
TEST(test_merge)
{
    struct model m[3], left, back;
    for (int i = 0; i < 3; i++) {
        struct program p;
        program_init(&p, i == 0 ? "a" : i == 1 ? "b" : "c");
        p.now += i * 3000000;
        int64_t own = program_python(&p, 0, "own.py", "f", 1 + i);
        train(&p, 1 + i);
        program_sync(&p, WAIT_STREAM, own, 1);
        program_end(&p);
        model_init(&m[i], names);
        program_read(&p, &m[i]);
        program_fini(&p);
    }
    merge(&left, (const struct model *const[]){&m[0], &m[1], &m[2]}, 3);
    merge(&back, (const struct model *const[]){&m[2], &m[1], &m[0]}, 3);
    assert_int_equal(model_settle(&left), 0);
    assert_int_equal(model_settle(&back), 0);
    same(&left, &back);
    const struct wait_line *l = line(&left, "train.py:90");
    assert_int_equal(l->count, 60);
    assert_int_equal(between(l), 4);
    assert_true(sum_wait_lines_blocked(&left, l) <= sum_facts_duration(&left));
    model_fini(&left);
    model_fini(&back);
    for (int i = 0; i < 3; i++)
        model_fini(&m[i]);
}

/* Rows have meaningless values: nothing crashes, and no share is above 100 %. */
TEST(test_nonsense)
{
    static const int64_t odd[] = {0,  1,         2,         3,         -1,         7,
                                  11, INT64_MAX, INT64_MIN, 1ll << 40, 4294967295, 65536};
    unsigned seed = 12345;
    for (int round = 0; round < 60; round++) {
        static const int types[] = {RECORD_module, RECORD_frame, RECORD_stack,  RECORD_symbol,
                                    RECORD_wait,   RECORD_sync,  RECORD_kernel, RECORD_memcpy};
        struct program p;
        struct model m;
        program_init(&p, "nonsense");
        train(&p, 1);
        for (int i = 0; i < 80; i++) {
            int64_t row[RECORD_MAX_COLUMNS];
            int type = types[(seed = seed * 1103515245 + 12345) >> 16 & 7];
            for (unsigned c = 0; c < RECORD_MAX_COLUMNS; c++) {
                seed = seed * 1103515245 + 12345;
                row[c] = seed >> 28 ? (int64_t)(seed >> 16 & 31) : odd[(seed >> 16) % 12];
            }
            make_log_rows(&p.log, (enum record_type)type, row, 1);
        }
        read_program(&p, &m);
        for (size_t i = 0; i < m.wait_lines.lines.count; i++)
            assert_true(sum_wait_lines_blocked(&m, sum_wait_lines_at(&m.wait_lines, i)) <=
                        sum_facts_duration(&m));
        assert_true(sum_wait_lines_blocked_all(&m) <= sum_facts_duration(&m));
        model_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_stream_wait),
        cmocka_unit_test(test_helper),
        cmocka_unit_test(test_other_thread_launches),
        cmocka_unit_test(test_native),
        cmocka_unit_test(test_sync_rows),
        cmocka_unit_test(test_ids_far_apart),
        cmocka_unit_test(test_fork_below_a_line),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
