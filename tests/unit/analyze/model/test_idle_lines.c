/* test_idle_lines.c - tests idle time by line: whole ns for every rule, from rows made by hand. */
#include "analyze/model/idle/idle.h"
#include "analyze/model/idle/table.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1, SUM = 2, ANY = UINT32_MAX };

static struct idle_sum sums[IDLE_CAUSES];

/* Reads the program; the rows of each cause must sum up to the cause's time. */
static void read_program(struct program *p, struct model *m, unsigned seed)
{
    int64_t all;
    program_end(p);
    model_init(m, names);
    program_read_shuffled(p, m, seed);
    sum_idle_total(m, sums, &all);
    rows_check_idle(m);
    program_fini(p);
}

static bool is_at(const struct model *m, const struct idle_line *l, const char *place)
{
    struct buf text;
    buf_init(&text, 4096);
    stacks_put_place(m, stacks_node_at(&m->stacks, l->node)->place, &text);
    bool same = l->node && !strcmp(buf_cstr(&text), place);
    buf_fini(&text);
    return same;
}

/* The sum of the rows at a place. cause, flags: ANY, or the value that they must have. */
static struct idle_line at(const struct model *m, const char *place, uint32_t cause, uint32_t flags)
{
    struct idle_line sum = {.reason = IDLE_REASONS};
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (!is_at(m, l, place) || (cause != ANY && l->cause != cause) ||
            (flags != ANY && l->flags != flags))
            continue;
        sum.exact += l->exact;
        sum.estimated += l->estimated;
        sum.looks += l->looks;
        sum.variance += l->variance;
        idle_thread_put(&sum.launcher, l->launcher);
        idle_thread_put(&sum.looked_at, l->looked_at);
    }
    return sum;
}

static int64_t all_at(const struct model *m, const char *place)
{
    struct idle_line l = at(m, place, ANY, ANY);
    return l.exact + l.estimated;
}

/* ns of a cause that have no line for that reason. */
static int64_t none(const struct model *m, enum idle_cause c, enum idle_reason r)
{
    int64_t ns = 0;
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (l->cause == (uint32_t)c && l->reason == (uint32_t)r)
            ns += l->exact + l->estimated;
    }
    return ns;
}

/* ns of a cause for which only the launch that ended them is known. */
static int64_t ended(const struct model *m, enum idle_cause c)
{
    int64_t ns = 0;
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        if (l->cause == (uint32_t)c && l->flags == IDLE_ENDED_BY)
            ns += l->exact + l->estimated;
    }
    return ns;
}

/* A launch whose row the log has; its work begins 5 us after the call does. */
static void captured(struct program *p, int64_t why, int64_t thread, int64_t stack, int64_t ns)
{
    program_capture(p, why, thread, stack);
    program_launch(p, (struct program_kernel){.ns = ns, .thread = thread});
}

/* The thread works, and is sampled n times at equal distances. */
static void work(struct program *p, int64_t ns, int64_t thread, int64_t stack, int n)
{
    for (int i = 0; i < n; i++)
        program_look(p, p->now + (2 * i + 1) * ns / (2 * n), thread, stack, IDLE_RUNNING);
    program_work(p, ns);
}

/* ---- one rule each ----------------------------------------------------------------------- */

TEST(test_divide)
{
    const uint64_t counts[] = {1, 1, 1, 4};
    int64_t out[4];
    assert_int_equal(idle_lines_divide(12, counts, 4, 7, out), 0); /* 1.71 1.71 1.71 6.86 */
    assert_int_equal(out[0] + out[1] + out[2] + out[3], 12);
    assert_int_equal(out[3], 7);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[2], 1);
    assert_int_equal(idle_lines_divide(INT64_MAX, counts, 4, 7, out), 0);
    assert_true(out[0] + out[1] + out[2] == INT64_MAX - out[3]);
    assert_true(fabs(idle_lines_half_width(50, 100) - 0.0962) < 0.0001); /* 0.4038 to 0.5962 */
    assert_true(fabs(idle_lines_half_width(0, 10) - 0.1388) < 0.0001);   /* 0 to 0.2775 */
}

/* The time before the call is the host's, by samples; the time in the call is its line's,
 * exactly. */
TEST(test_own_and_launching)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        struct program p;
        struct model m;
        program_init(&p, "own");
        int64_t step = program_python(&p, 0, "train.py", "step", 90),
                parse = program_python(&p, 0, "data.py", "parse", 41);
        captured(&p, LONG, 1, step, 1000);
        for (int i = 0; i < 10; i++) {
            p.now = p.gpu;
            work(&p, 3000000, 1, parse, 3);
            work(&p, 1000000, 1, step, 1);
            captured(&p, LONG, 1, step, 1000);
        }
        read_program(&p, &m, seed);
        assert_int_equal(sums[IDLE_LATE].time, 10 * 4005000);
        struct idle_line l = at(&m, "train.py:90", IDLE_LATE, 0),
                         k = at(&m, "data.py:41", IDLE_LATE, 0);
        assert_int_equal(l.exact, 10 * 5000);
        assert_int_equal(l.estimated, 10 * 1000000);
        assert_int_equal(k.exact, 0);
        assert_int_equal(k.estimated, 10 * 3000000);
        assert_int_equal(k.looks, 30);
        assert_true(fabs(sqrt(k.variance) - 40e6 * idle_lines_half_width(30, 40)) < 1);
        model_fini(&m);
    }
}

/* Two samples are too few: the launch ended the time, and no line is said to have taken it. */
TEST(test_few_looks)
{
    for (int looks = 2; looks <= 3; looks++) {
        struct program p;
        struct model m;
        program_init(&p, "few");
        int64_t step = program_python(&p, 0, "train.py", "step", 90),
                parse = program_python(&p, 0, "data.py", "parse", 41);
        captured(&p, LONG, 1, step, 1000);
        p.now = p.gpu;
        work(&p, 2000000, 1, parse, looks);
        captured(&p, LONG, 1, step, 1000);
        read_program(&p, &m, 0);
        assert_int_equal(at(&m, "train.py:90", IDLE_LATE, 0).exact, 5000);
        assert_int_equal(at(&m, "train.py:90", IDLE_LATE, IDLE_ENDED_BY).estimated,
                         looks == 2 ? 2000000 : 0);
        assert_int_equal(at(&m, "data.py:41", IDLE_LATE, 0).estimated, looks == 2 ? 0 : 2000000);
        model_fini(&m);
    }
}

/* Launches without a row have the class of the capture that sums up next; small classes of a
 * thread are divided together. */
TEST(test_summed)
{
    struct program p;
    struct model m;
    program_init(&p, "summed");
    p.reported = true;
    int64_t a = program_python(&p, 0, "a.py", "f", 5), b = program_python(&p, 0, "b.py", "g", 6);
    captured(&p, LONG, 1, a, 1000);
    for (int i = 0; i < 20; i++) {
        p.now = p.gpu;
        work(&p, 40000, 1, b, i < 1);
        program_launch(&p, (struct program_kernel){.ns = 1000});
    }
    p.now = p.gpu;
    captured(&p, LONG, 1, b, 1000); /* counts for itself alone */
    p.now = p.gpu + 10000;
    captured(&p, SUM, 1, a, 1000);
    for (int i = 0; i < 20; i++) {
        p.now = p.gpu;
        work(&p, 40000, 1, a, i < 1);
        program_launch(&p, (struct program_kernel){.ns = 1000});
    }
    p.now = p.gpu;
    captured(&p, SUM, 1, b, 1000);
    read_program(&p, &m, 0);
    /* One sample at b.py in one class, one at a.py in the other: fewer than three together. */
    assert_int_equal(at(&m, "a.py:5", IDLE_SLOW, IDLE_ENDED_BY).estimated, 20 * 45000 + 10000);
    assert_int_equal(at(&m, "b.py:6", IDLE_SLOW, IDLE_ENDED_BY).estimated, 20 * 45000);
    assert_int_equal(at(&m, "a.py:5", IDLE_SLOW, 0).exact, 5000);
    assert_int_equal(at(&m, "b.py:6", IDLE_SLOW, 0).exact, 2 * 5000);
    model_fini(&m);
}

TEST(test_small_classes)
{
    struct program p;
    struct model m;
    program_init(&p, "small");
    int64_t stacks[3], slow = program_python(&p, 0, "slow.py", "h", 7);
    for (int i = 0; i < 3; i++)
        stacks[i] = program_python(&p, 0, "a.py", "f", 10 + i);
    captured(&p, LONG, 1, stacks[0], 1000);
    for (int i = 0; i < 12; i++) {
        p.now = p.gpu;
        work(&p, 2000000, 1, i % 4 ? slow : stacks[0], i % 2); /* 6 samples in three classes */
        captured(&p, LONG, 1, stacks[i % 3], 1000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(at(&m, "slow.py:7", IDLE_LATE, 0).estimated, 12 * 2000000);
    assert_int_equal(at(&m, "slow.py:7", IDLE_LATE, 0).looks, 6);
    model_fini(&m);
}

/* Three classes of one sample each are divided together. A class of five samples lends none. */
TEST(test_small_classes_have_three)
{
    for (int looks = 2; looks <= 3; looks++) {
        struct program p;
        struct model m;
        program_init(&p, "three");
        int64_t stacks[4], slow = program_python(&p, 0, "slow.py", "h", 7);
        for (int i = 0; i < 4; i++)
            stacks[i] = program_python(&p, 0, "a.py", "f", 10 + i);
        captured(&p, LONG, 1, stacks[3], 1000);
        for (int i = 0; i < 4; i++) {
            p.now = p.gpu;
            work(&p, 2000000, 1, i < 3 ? slow : stacks[3], i < 3 ? i < looks : 5);
            captured(&p, LONG, 1, stacks[i], 1000);
        }
        read_program(&p, &m, 0);
        struct idle_line l = at(&m, "slow.py:7", IDLE_LATE, 0);
        assert_int_equal(l.estimated, looks == 3 ? 3 * 2000000 : 0);
        if (looks == 3)
            assert_true(fabs(sqrt(l.variance) - 6e6 * idle_lines_half_width(3, 3)) < 1);
        assert_int_equal(at(&m, "a.py:13", IDLE_LATE, 0).estimated, 2000000);
        assert_int_equal(ended(&m, IDLE_LATE), looks == 3 ? 0 : 3 * 2000000);
        model_fini(&m);
    }
}

/* The work had been submitted before the gap began: its own row says so, or that of a later
 * launch. */
static void check_queued(bool row, int64_t processes)
{
    struct program p;
    struct model m;
    program_init(&p, "queued");
    p.reported = true;
    int64_t a = program_python(&p, 0, "a.py", "f", 5), b = program_python(&p, 0, "b.py", "g", 6);
    program_processes(&p, processes);
    captured(&p, LONG, 1, a, 3000000);
    if (row)
        program_capture(&p, LONG, 1, b);
    program_launch(&p, (struct program_kernel){.ns = 10000});
    p.gpu += 500000;
    captured(&p, SUM, 1, b, 10000);
    p.gpu += 7000000; /* this launch's row says so */
    captured(&p, LONG, 1, b, 10000);
    p.now = p.gpu;
    /* a wait for work that was queued before explains nothing */
    program_sync(&p, WAIT_STREAM, a, 1);
    read_program(&p, &m, 0);
    enum idle_cause c = processes > 1 ? IDLE_OTHER : IDLE_QUEUED;
    assert_int_equal(sums[c].time, 500000 + 7000000);
    assert_int_equal(sums[IDLE_LATE].time + sums[IDLE_NOTHING].time, 0);
    if (processes > 1)
        assert_int_equal(none(&m, IDLE_OTHER, IDLE_OF_OTHERS), 7500000);
    else
        assert_int_equal(at(&m, "b.py:6", IDLE_QUEUED, IDLE_ENDED_BY).exact, 7500000);
    model_fini(&m);
}

TEST(test_queued)
{
    check_queued(true, 1);
    check_queued(false, 1);
    check_queued(true, 2);
    check_queued(false, 3);
}

/* A launch that was under way when the gap began is the host's, even if it had just begun. */
TEST(test_under_way)
{
    struct program p;
    struct model m;
    program_init(&p, "under way");
    int64_t a = program_python(&p, 0, "a.py", "f", 5);
    captured(&p, LONG, 1, a, 4000);
    for (int i = 0; i < 10; i++) {
        p.now = p.gpu - 1000;
        captured(&p, LONG, 1, a, 4000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_QUEUED].time, 0);
    assert_int_equal(at(&m, "a.py:5", IDLE_SLOW, 0).exact, sums[IDLE_SLOW].time);
    assert_int_equal(sums[IDLE_SLOW].time, 10 * 4000);
    model_fini(&m);
}

/* Without rows of launches, on a shared GPU, what follows a gap shows whether the work was
 * queued. */
static void check_shared(int kernels, int64_t ns, bool probably)
{
    struct program p;
    struct model m;
    program_init(&p, "shared");
    program_processes(&p, 2);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < kernels; k++) {
            program_launch(&p, (struct program_kernel){.ns = ns});
            p.gpu += 1500;
        }
        p.now = p.gpu - 1500 + 3000000 - 5000;
    }
    p.now += 1;
    read_program(&p, &m, 0);
    int64_t gaps = 9 * 3000000;
    assert_int_equal(sums[IDLE_OTHER].time, probably ? gaps : 0);
    assert_int_equal(none(&m, IDLE_OTHER, IDLE_PROBABLY_OTHERS), probably ? gaps : 0);
    assert_int_equal(none(&m, IDLE_LATE, IDLE_SHARED), probably ? 0 : gaps);
    model_fini(&m);
}

TEST(test_shared)
{
    check_shared(20, 6000, true);
    check_shared(20, 60000, false); /* a host launches those one by one */
    check_shared(3, 6000, false);
}

/* On a shared GPU the host's own time is still its own if the launch has a row, and the time that
 * the launch waited is not. */
TEST(test_shared_own)
{
    struct program p;
    struct model m;
    program_init(&p, "shared own");
    int64_t a = program_python(&p, 0, "a.py", "f", 5);
    program_processes(&p, 2);
    captured(&p, LONG, 1, a, 1000);
    for (int i = 0; i < 10; i++) {
        p.now = p.gpu;
        work(&p, 1000000, 1, a, 1);
        p.gpu = p.now + 2000000; /* another process uses the GPU until then */
        captured(&p, LONG, 1, a, 1000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_OTHER].time, 10 * 2000000);
    assert_int_equal(at(&m, "a.py:5", IDLE_LATE, 0).estimated, 10 * 1000000);
    model_fini(&m);
}

/* A thread without Python has the samples of the only thread that is blocked meanwhile, and its own
 * if it was in Python after all. */
static void check_inherited(int waiting, bool gil, int hooks)
{
    struct program p;
    struct model m;
    program_init(&p, "inherited");
    p.reported = true;
    int64_t native = program_native(&p, 0, "/usr/lib/libtorch.so", 64, NULL),
            backward = program_python(&p, 0, "train.py", "backward", 7),
            other = program_python(&p, 0, "load.py", "get", 9),
            hook = program_python(&p, 0, "hook.py", "hook", 2);
    const struct thread_row thread = {.id = 1, .name = program_name(&p, "python3")};
    make_log_rows(&p.log, RECORD_thread, &thread, 1);
    captured(&p, LONG, 5, native, 1000);
    for (int i = 0; i < 10; i++) {
        p.now = p.gpu;
        program_look(&p, p.now + 400000, 1, backward, IDLE_BLOCKED);
        program_look(&p, p.now + 300000, 2, other,
                     waiting > 1 ? IDLE_BLOCKED
                     : gil       ? IDLE_WAITS_FOR_GIL
                                 : IDLE_RUNNING);
        program_look(&p, p.now + 500000, 5, i < hooks ? hook : 0, IDLE_RUNNING);
        program_work(&p, 1000000);
        captured(&p, LONG, 5, native, 1000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(sums[IDLE_LATE].time, 10 * 1005000);
    assert_int_equal(at(&m, "train.py:7", IDLE_LATE, IDLE_INHERITED).estimated,
                     waiting == 1 ? (10 - hooks) * 1000000 : 0);
    if (waiting == 1) {
        struct idle_line line = at(&m, "train.py:7", IDLE_LATE, IDLE_INHERITED);
        assert_string_equal(model_text(&m, line.launcher), "5"); /* the log has no name of it */
        assert_string_equal(model_text(&m, line.looked_at), "python3 (1)");
    }
    assert_int_equal(at(&m, "hook.py:2", IDLE_LATE, 0).estimated, hooks * 1000000);
    assert_int_equal(none(&m, IDLE_LATE, IDLE_SEVERAL), waiting > 1 ? 10 * 1000000 : 0);
    assert_int_equal(all_at(&m, "load.py:9"), 0);
    model_fini(&m);
}

TEST(test_inherited)
{
    check_inherited(1, false, 0);
    check_inherited(1, true, 0);
    check_inherited(1, true, 2);
    check_inherited(2, false, 0);
}

/* A library's threads launch, as JAX's do, while one thread runs Python, whatever that thread does.
 * If no thread does, or there are two samples, only the launch that ended the time is known. */
static void check_runtime_threads(int gaps, int threads, bool python)
{
    struct program p;
    struct model m;
    program_init(&p, "runtime threads");
    p.reported = true;
    int64_t native = program_native(&p, 0, "/usr/lib/xla.so", 64, NULL),
            loop = program_python(&p, 0, "train.py", "loop", 4);
    captured(&p, LONG, 5, native, 1000);
    for (int i = 0; i < gaps; i++) {
        p.now = p.gpu;
        if (python)
            program_look(&p, p.now + 300000, 1, loop, i % 2 ? IDLE_RUNNING : IDLE_BLOCKED);
        program_look(&p, p.now + 310000, 5, 0, IDLE_BLOCKED);
        program_look(&p, p.now + 320000, 6, 0, IDLE_BLOCKED);
        program_work(&p, 1000000);
        captured(&p, LONG, 5 + i % threads, native, 1000);
    }
    read_program(&p, &m, 0);
    bool known = python && gaps > 2;
    struct idle_line line = at(&m, "train.py:4", IDLE_LATE, IDLE_INHERITED);
    assert_int_equal(line.estimated, known ? gaps * 1000000 : 0);
    assert_true(!known || (line.launcher == IDLE_SEVERAL_THREADS) == (gaps / threads < 3));
    assert_int_equal(none(&m, IDLE_LATE, IDLE_NO_PYTHON), 0);
    assert_int_equal(sums[IDLE_LATE].time, gaps * 1005000);
    assert_int_equal(ended(&m, IDLE_LATE), known ? 0 : gaps * 1000000);
    model_fini(&m);
}

TEST(test_runtime_threads)
{
    check_runtime_threads(10, 1, true);
    check_runtime_threads(10, 1, false);
    check_runtime_threads(10, 10, true); /* one sample each: divided together */
    check_runtime_threads(3, 3, true);
    check_runtime_threads(2, 2, true);
}

/* The main thread is sampled before the first work and after the last. */
TEST(test_edges)
{
    struct program p;
    struct model m;
    program_init(&p, "edges");
    int64_t load = program_python(&p, 0, "main.py", "load", 3),
            save = program_python(&p, 0, "main.py", "save", 99), start = p.now;
    int64_t pid = 42; /* the process's id in make_log */
    program_look(&p, start + 1, 8, save, IDLE_RUNNING);
    work(&p, 8000000, pid, load, 10);
    program_launch(&p, (struct program_kernel){.ns = 1000, .thread = pid});
    p.now = p.gpu;
    work(&p, 6000000, pid, save, 3);
    work(&p, 6000000, pid, load, 2);
    read_program(&p, &m, 0);
    assert_int_equal(m.facts.pid, pid);
    assert_int_equal(at(&m, "main.py:3", IDLE_BEFORE, 0).estimated, sums[IDLE_BEFORE].time);
    int64_t after = sums[IDLE_AFTER].time, saved = at(&m, "main.py:99", IDLE_AFTER, 0).estimated;
    assert_in_range(saved, after * 3 / 5 - 1, after * 3 / 5 + 1);
    assert_int_equal(saved + at(&m, "main.py:3", IDLE_AFTER, 0).estimated, after);
    model_fini(&m);
}

/* Torn samples are lost time. Calls keep their own line and time, and samples in calls do not
 * count. */
TEST(test_lost_and_calls)
{
    struct program p;
    struct model m;
    program_init(&p, "lost");
    int64_t a = program_python(&p, 0, "a.py", "f", 5), w = program_python(&p, 0, "w.py", "g", 6);
    captured(&p, LONG, 1, a, 1000);
    for (int i = 0; i < 10; i++) {
        p.now = p.gpu;
        work(&p, 1000000, 1, a, 3);
        program_look_torn(&p, p.now + 500000, 1);
        program_work(&p, 1000000);
        program_look(&p, p.now + 1000, 1, w, IDLE_BLOCKED);
        program_call(&p, (struct wait_row){.duration = 500000, .call = WAIT_ALLOC, .stack = w});
        captured(&p, LONG, 1, a, 1000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(at(&m, "w.py:6", IDLE_MEMORY, 0).exact, 10 * 500000);
    assert_int_equal(at(&m, "a.py:5", IDLE_LATE, 0).estimated, 10 * 1500000);
    assert_int_equal(none(&m, IDLE_LATE, IDLE_LOST), 10 * 500000);
    assert_int_equal(all_at(&m, "w.py:6"), 10 * 500000);
    model_fini(&m);
}

/* The scope of a row is the innermost one in which at least half of its time ended. */
static void check_scope(int in_load, const char *outer, const char *want)
{
    for (unsigned seed = 0; seed < 3; seed++) {
        struct program p;
        struct model m;
        struct idle_table t;
        program_init(&p, "scope");
        int64_t a = program_python(&p, 0, "a.py", "f", 5);
        program_scope(&p, 2, 1, "load");
        program_scope(&p, 3, 1, "step");
        program_scope(&p, 1, 0, outer);
        program_launch(&p, (struct program_kernel){.ns = 1000});
        for (int i = 0; i < 10; i++) {
            p.now = p.gpu;
            work(&p, 1000000, 1, a, 1);
            program_capture(&p, LONG, 1, a);
            program_launch(&p, (struct program_kernel){.ns = 1000,
                                                       .scope = i < in_load ? 2
                                                                : i < 9     ? 3
                                                                            : 0});
        }
        read_program(&p, &m, seed);
        assert_int_equal(idle_table_make(&m, &t), 0);
        assert_int_equal(t.rows[0].ns, 10 * 1005000);
        assert_int_equal(t.rows[0].scope_bytes, strlen(want));
        assert_memory_equal(model_text(&m, t.rows[0].scope), want, strlen(want));
        idle_table_fini(&t);
        model_fini(&m);
    }
}

TEST(test_scope)
{
    check_scope(6, "epoch", "epoch|load");
    check_scope(3, "epoch", "epoch|step");
    check_scope(2, "epoch", "epoch|step");
    check_scope(5, "epoch", "epoch|load");           /* just half */
    check_scope(6, "ep|och\\", "ep\\|och\\\\|load"); /* a bar in a name divides nothing */
}

/* Sessions have none of these rows: the launch's own stack ended the time, or nothing is known. */
TEST(test_without_rows)
{
    struct program p;
    struct model m;
    program_init(&p, "without");
    int64_t a = program_python(&p, 0, "a.py", "f", 5);
    for (int i = 0; i < 10; i++) {
        program_launch(&p, (struct program_kernel){.ns = 1000, .stack = i % 2 ? a : 0});
        p.now = p.gpu;
        program_work(&p, 1000000);
    }
    read_program(&p, &m, 0);
    assert_int_equal(at(&m, "a.py:5", IDLE_LATE, IDLE_ENDED_BY).estimated, 5 * 1005000);
    assert_int_equal(none(&m, IDLE_LATE, IDLE_FEW), 4 * 1005000);
    model_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_own_and_launching),
        cmocka_unit_test(test_few_looks),
        cmocka_unit_test(test_summed),
        cmocka_unit_test(test_small_classes_have_three),
        cmocka_unit_test(test_small_classes),
        cmocka_unit_test(test_queued),
        cmocka_unit_test(test_under_way),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_own),
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_runtime_threads),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_lost_and_calls),
        cmocka_unit_test(test_without_rows),
        cmocka_unit_test(test_scope),

    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
