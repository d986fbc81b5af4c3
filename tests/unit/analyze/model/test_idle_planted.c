/* test_idle_planted.c - tests a program whose idle time is known line by line: the report's result
 * from samples at 250 Hz and from the launches that the capture's rule selects.
 *
 * A step parses, launches tiny kernels in two functions, waits while a thread without Python
 * launches, logs, and at last queues work that the GPU does not get to. The truth is the simulated
 * host's work in each gap. */
#include "analyze/model/idle/table.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARSE, BLOCK_ONE, BLOCK_TWO, BACKWARD, LOG, QUEUE, LINES };

enum {
    MAIN = 42, /* the process's id in make_log */
    NATIVE = 43,
    STEPS = 800,
    KERNEL = 2000,        /* ns */
    LONG_OWN = 100000,    /* X of the capture's rule */
    SUM_OWN = 500000,     /* T */
    LOOK_EVERY = 4000000, /* ns */
    ACTIONS = 4096        /* that are remembered */
};

static const struct {
    const char *file, *function;
    int64_t line;
    const char *place;
} lines[LINES] = {
    [PARSE] = {"data.py", "parse", 41, "data.py:41"},
    [BLOCK_ONE] = {"model.py", "block_one", 10, "model.py:10"},
    [BLOCK_TWO] = {"model.py", "block_two", 20, "model.py:20"},
    [BACKWARD] = {"train.py", "step", 90, "train.py:90"},
    [LOG] = {"log.py", "log_line", 7, "log.py:7"},
    [QUEUE] = {"queue.py", "push", 3, "queue.py:3"},
};

struct action {
    int64_t start, end;
    int line;
};

static struct planted {
    struct program p;
    int64_t stacks[LINES], native, module;
    struct action actions[ACTIONS];
    size_t count;
    int64_t busy;      /* ns: end of the last kernel */
    int64_t next_look; /* ns; INT64_MAX: no samples */
    int64_t left[2], sum[2], next_sum[2];
    int64_t truth[LINES]; /* ns */
    int64_t idle;         /* ns in gaps that are longer than the GPU's own */
    unsigned seed;
} now;

static double chance(void)
{
    now.seed = now.seed * 1103515245 + 12345;
    return (now.seed >> 8) / (double)(1 << 24);
}

/* The host works at a line; samples see the main thread there. */
static void act(int line, int64_t ns, int64_t state)
{
    struct action a = {now.p.now, now.p.now + ns, line};
    now.actions[now.count++ % ACTIONS] = a;
    for (; now.next_look < a.end; now.next_look += (int64_t)((0.5 + chance()) * (double)LOOK_EVERY))
        program_look(&now.p, now.next_look, MAIN, now.stacks[line], state);
    program_work(&now.p, ns);
}

/* Adds what the host did from start to end. */
static void add_truth(int64_t start, int64_t end)
{
    for (size_t i = now.count; i-- > 0 && now.count - i < ACTIONS;) {
        const struct action *a = &now.actions[i % ACTIONS];
        int64_t from = a->start > start ? a->start : start, to = a->end < end ? a->end : end;
        if (to > from)
            now.truth[a->line] += to - from;
        if (a->start <= start)
            break;
    }
}

/* Launches by the capture's rule, and notes the truth about the gap that the launch ends. held: ns
 * for which the work waits in the GPU. */
static void launch(int64_t thread, int line, int64_t stack, int64_t held)
{
    int t = thread == NATIVE;
    int64_t entry = now.p.now, own = entry - now.left[t], before = now.busy;
    now.left[t] = entry;
    if (own >= LONG_OWN) {
        program_capture(&now.p, 1, thread, stack);
    } else if ((now.sum[t] += own) >= now.next_sum[t]) {
        program_capture(&now.p, 2, thread, stack);
        now.sum[t] = 0;
        now.next_sum[t] = (int64_t)((0.5 + chance()) * SUM_OWN);
    }
    now.p.gpu += held;
    program_launch(&now.p, (struct program_kernel){.ns = KERNEL, .thread = thread});
    act(line, 0, 1); /* the host took 2 us in the call */
    now.actions[(now.count - 1) % ACTIONS].start = entry;
    int64_t start = now.p.gpu - KERNEL;
    now.busy = now.p.gpu;
    if (!before || start - before < IDLE_BACK_TO_BACK)
        return;
    now.idle += start - before;
    if (held) {
        now.truth[QUEUE] += start - before;
        return;
    }
    int64_t begun = entry > before ? entry : before;
    add_truth(before, begun);
    now.truth[line] += start - begun;
}

static void step(void)
{
    act(PARSE, 1000000 + (int64_t)(chance() * 500000), 1);
    for (int i = 0; i < 30; i++) {
        launch(MAIN, BLOCK_ONE, now.stacks[BLOCK_ONE], 0);
        act(BLOCK_ONE, 13000, 1);
    }
    for (int i = 0; i < 90; i++) {
        launch(MAIN, BLOCK_TWO, now.stacks[BLOCK_TWO], 0);
        act(BLOCK_TWO, 13000, 1);
    }
    for (int i = 0; i < 100; i++) {
        act(BACKWARD, 20000, 3);
        launch(NATIVE, BACKWARD, now.native, 0);
    }
    act(LOG, 800000, 1);
    launch(MAIN, BLOCK_ONE, now.stacks[BLOCK_ONE], 0);
    act(QUEUE, 5000, 1);
    now.left[0] = now.p.now - LONG_OWN;
    launch(MAIN, QUEUE, now.stacks[QUEUE], 600000);
    now.p.now = now.p.gpu > now.p.now ? now.p.gpu - 1000 : now.p.now;
}

static void plant(bool looks)
{
    memset(&now, 0, sizeof now);
    program_init(&now.p, "planted");
    now.p.reported = true;
    now.seed = 3;
    now.next_look = looks ? LOOK_EVERY : INT64_MAX;
    int64_t outer = program_python(&now.p, 0, "train.py", "<module>", 120);
    for (int i = 0; i < LINES; i++)
        now.stacks[i] =
            program_python(&now.p, outer, lines[i].file, lines[i].function, lines[i].line);
    now.native = program_native(&now.p, 0, "/usr/lib/libtorch_cuda.so", 4096, NULL);
    for (int i = 0; i < STEPS; i++)
        step();
    program_end(&now.p);
}

/* ns at a line between the first work and the last; ended_by: only the time that ended there, else
 * only the other time. */
static int64_t time_at(const struct model *m, const struct idle_table *t, const char *place,
                       bool ended_by)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->lines; i++) {
        const struct idle_row *r = &t->rows[i];
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(m, r->place, &text);
        if (!strcmp(buf_cstr(&text), place) && r->cause != IDLE_BEFORE && r->cause != IDLE_AFTER &&
            r->ended_by == ended_by)
            ns += r->ns;
        buf_fini(&text);
    }
    return ns;
}

TEST(test_planted)
{
    struct model m;
    struct idle_table t;
    plant(true);
    model_init(&m, names);
    program_read(&now.p, &m);
    rows_check_idle(&m);
    assert_int_equal(idle_table_make(&m, &t), 0);
    int64_t misplaced = 0, all, unknown = 0;
    struct idle_sum sums[IDLE_CAUSES];
    sum_idle_total(&m, sums, &all);
    assert_int_equal(t.all, all);
    for (int i = 0; i < LINES; i++) {
        int64_t seen = time_at(&m, &t, lines[i].place, i == QUEUE);
        double points = 100 * (double)(seen - now.truth[i]) / (double)now.idle;
        print_message("%-12s truth %5.1f %%, seen %5.1f %%\n", lines[i].function,
                      100 * (double)now.truth[i] / (double)now.idle,
                      100 * (double)seen / (double)now.idle);
        assert_true(fabs(points) <= 3);
        misplaced += llabs(seen - now.truth[i]) / 2;
    }
    for (size_t i = t.lines; i < t.count; i++)
        if (idle_reason_is_unknown((enum idle_reason)t.rows[i].reason) &&
            t.rows[i].cause != IDLE_BEFORE && t.rows[i].cause != IDLE_AFTER)
            unknown += t.rows[i].ns;
    assert_true(misplaced * 100 <= 8 * now.idle);
    assert_true(unknown * 100 <= 2 * now.idle);
    idle_table_fini(&t);
    model_fini(&m);
    program_fini(&now.p);
}

/* Without samples no line is said to have taken the host's own time: launches only ended it. */
TEST(test_only_launches)
{
    struct model m;
    struct idle_table t;
    plant(false);
    model_init(&m, names);
    program_read(&now.p, &m);
    rows_check_idle(&m);
    assert_int_equal(idle_table_make(&m, &t), 0);
    for (int i = 0; i < LINES; i++) {
        int64_t at = time_at(&m, &t, lines[i].place, false);
        /* what is said is the launch itself: 5 us of each that has a row */
        assert_true(at <= (int64_t)m.idle.lines.captures * 5000);
    }
    assert_int_equal(time_at(&m, &t, "data.py:41", false), 0);
    assert_int_equal(time_at(&m, &t, "log.py:7", false), 0);
    assert_true(time_at(&m, &t, "model.py:20", true) > 0);
    idle_table_fini(&t);
    model_fini(&m);
    program_fini(&now.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted),
                                       cmocka_unit_test(test_only_launches)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
