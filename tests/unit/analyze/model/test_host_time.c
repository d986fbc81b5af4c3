/* test_host_time.c - checks the host's time by line and state if no kernels are recorded: exact
 * sums. */
#include "analyze/model/host/host_time.h"
#include "tests/test.h"

#include "analyze/model/threads/looks.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

enum { MAIN = 1, WORKER = 2, OTHER = 3, MS = 1000000 };

static void read_session(struct program *p, struct model *m)
{
    program_end(p);
    model_init(m, names);
    program_read(p, m);
    program_fini(p);
}

/* Returns the row of a line and state; state -1: its calls. line 0: no line. */
static struct host_row row_of(const struct model *m, int64_t line, int state)
{
    struct host_table t;
    struct host_row found = {0};
    assert_int_equal(host_table_make(m, &t), 0);
    for (size_t i = 0; i < t.count; i++) {
        const struct host_row *r = &t.rows[i];
        const struct stacks_place *place = stacks_place_at(&m->stacks, r->place);
        int64_t at = place ? place->line : 0;
        if (at == line && (r->call ? state < 0 : state == (int)IDLE_DOING_STATE(r->doing)))
            found = *r;
    }
    host_table_fini(&t);
    return found;
}

static int64_t sum(const struct model *m)
{
    struct host_table t;
    int64_t ns = 0;
    assert_int_equal(host_table_make(m, &t), 0);
    for (size_t i = 0; i < t.count; i++)
        ns += t.rows[i].ns;
    host_table_fini(&t);
    return ns;
}

/* Puts ten steps of 10 ms: a wait of 2 ms, then 8 ms with a sample in the middle. A sample inside
 * each wait counts for nothing. */
static void put_steps(struct program *p, int64_t step, int64_t parse, int64_t load)
{
    for (int i = 0; i < 10; i++) {
        program_look(p, p->now + MS, MAIN, step, IDLE_BLOCKED);
        program_call(p, (struct wait_row){.duration = 2 * MS,
                                          .call = WAIT_STREAM,
                                          .stack = step,
                                          .thread = MAIN,
                                          .bytes = CELL_NULL});
        program_look(p, p->now + 4 * MS, MAIN, i < 6 ? parse : load,
                     i < 6 ? IDLE_RUNNING : IDLE_BLOCKED);
        program_work(p, 8 * MS);
    }
}

TEST(test_waits_are_exact_and_the_rest_is_divided)
{
    struct program p;
    struct model m;
    program_init(&p, "steps");
    int64_t step = program_python(&p, 0, "train.py", "step", 14),
            parse = program_python(&p, 0, "train.py", "parse", 8),
            load = program_python(&p, 0, "train.py", "load", 10);
    put_steps(&p, step, parse, load);
    read_session(&p, &m);
    const struct sum_host_time *s = &m.host_time;
    assert_int_equal(s->threads, 1);
    assert_int_equal(s->looks, 10);
    assert_int_equal(s->time, 96 * MS); /* until the last sample */
    assert_int_equal(sum(&m), s->time);
    struct host_row r = row_of(&m, 14, -1);
    assert_int_equal(r.exact, 20 * MS);
    assert_int_equal(r.estimated, 0);
    assert_int_equal(r.half_width, 0);
    assert_int_equal(r.call, WAIT_STREAM + 1);
    assert_int_equal(row_of(&m, 14, IDLE_BLOCKED).ns, 0);
    r = row_of(&m, 8, IDLE_RUNNING);
    assert_int_equal(r.estimated, 76 * MS * 6 / 10);
    assert_int_equal(r.looks, 6);
    assert_int_equal(r.half_width, 19727544); /* Wilson: 0.259573 of 76 ms */
    r = row_of(&m, 10, IDLE_BLOCKED);
    assert_int_equal(r.estimated, 76 * MS * 4 / 10);
    assert_int_equal(r.exact, 0);
    model_fini(&m);
}

/* The states of a line are rows of their own; the line with most of the time has all of them. */
TEST(test_states_of_a_line)
{
    struct program p;
    struct model m;
    struct host_table t;
    program_init(&p, "states");
    int64_t step = program_python(&p, 0, "train.py", "step", 14),
            parse = program_python(&p, 0, "train.py", "parse", 8);
    program_sync(&p, WAIT_STREAM, step, MAIN);
    for (int i = 1; i <= 10; i++)
        program_look(&p, p.now + i * MS, MAIN, i == 10 ? step : parse,
                     i < 6 ? IDLE_RUNNING : IDLE_RUNNABLE);
    read_session(&p, &m);
    assert_int_equal(row_of(&m, 8, IDLE_RUNNING).ns, 5 * MS);
    assert_int_equal(row_of(&m, 8, IDLE_RUNNABLE).ns, 4 * MS);
    assert_int_equal(row_of(&m, 14, IDLE_RUNNABLE).ns, 1 * MS);
    assert_int_equal(host_table_make(&m, &t), 0);
    assert_int_equal(stacks_place_at(&m.stacks, t.most_place)->line, 8);
    assert_int_equal(t.most, 9 * MS);
    assert_int_equal(t.most_half, 3698125);
    assert_int_equal(t.lines, t.count);
    host_table_fini(&t);
    model_fini(&m);
}

/* Samples without a stack, and too few samples: time without a line, with its reason. */
TEST(test_time_without_a_line)
{
    struct program p;
    struct model m;
    program_init(&p, "unknown");
    int64_t step = program_python(&p, 0, "train.py", "step", 14);
    program_sync(&p, WAIT_STREAM, step, MAIN);
    for (int i = 1; i <= 4; i++)
        program_look(&p, p.now + i * MS, MAIN, 0, IDLE_RUNNING);
    program_sync(&p, WAIT_STREAM, step, WORKER);
    program_look(&p, p.now + 3 * MS, WORKER, step, IDLE_RUNNING);
    program_look_torn(&p, p.now + 5 * MS, WORKER);
    read_session(&p, &m);
    assert_int_equal(m.host_time.threads, 2);
    assert_int_equal(sum(&m), m.host_time.time);
    assert_int_equal(row_of(&m, 0, IDLE_RUNNING).ns, 4 * MS);
    assert_int_equal(row_of(&m, 0, IDLE_RUNNING).reason, IDLE_NO_PYTHON);
    assert_int_equal(row_of(&m, 0, IDLE_STATE_UNKNOWN).ns, 5 * MS);
    assert_int_equal(row_of(&m, 0, IDLE_STATE_UNKNOWN).reason, IDLE_FEW);
    model_fini(&m);
}

/* A thread that calls nothing counts only if no thread made a call that waits. */
TEST(test_which_threads)
{
    struct program p;
    struct model m;
    program_init(&p, "which");
    int64_t step = program_python(&p, 0, "train.py", "step", 14),
            other = program_python(&p, 0, "log.py", "write", 3);
    for (int i = 1; i <= 10; i++) {
        program_look(&p, p.now + i * MS, OTHER, other, IDLE_RUNNING);
        if (i < 6)
            program_look(&p, p.now + i * MS, WORKER, step, IDLE_RUNNING);
    }
    read_session(&p, &m);
    assert_int_equal(m.host_time.threads, 1);
    assert_int_equal(row_of(&m, 3, IDLE_RUNNING).ns, 9 * MS);
    assert_int_equal(sum(&m), 9 * MS);
    model_fini(&m);

    program_init(&p, "which");
    step = program_python(&p, 0, "train.py", "step", 14);
    other = program_python(&p, 0, "log.py", "write", 3);
    for (int i = 1; i <= 10; i++) {
        program_look(&p, p.now + i * MS, OTHER, other, IDLE_RUNNING);
        program_look(&p, p.now + i * MS, WORKER, step, IDLE_RUNNING);
    }
    program_sync(&p, WAIT_STREAM, step, WORKER);
    read_session(&p, &m);
    assert_int_equal(m.host_time.threads, 1);
    assert_int_equal(row_of(&m, 3, IDLE_RUNNING).ns, 0);
    assert_int_equal(row_of(&m, 14, -1).exact, 1000);
    model_fini(&m);
}

/* Two sessions of a run: rows of equal lines and states are added. */
TEST(test_merged)
{
    struct model both;
    model_init(&both, names);
    for (int i = 0; i < 2; i++) {
        struct program p;
        struct model m;
        program_init(&p, i ? "b" : "a");
        int64_t step = program_python(&p, 0, "train.py", "step", 14),
                parse = program_python(&p, 0, "train.py", "parse", 8),
                load = program_python(&p, 0, "train.py", "load", 10);
        put_steps(&p, step, parse, load);
        read_session(&p, &m);
        assert_int_equal(model_merge(&both, &m), 0);
        model_fini(&m);
    }
    assert_int_equal(model_settle(&both), 0);
    assert_int_equal(both.host_time.threads, 2);
    assert_int_equal(both.host_time.time, 192 * MS);
    assert_int_equal(sum(&both), 192 * MS);
    assert_int_equal(row_of(&both, 14, -1).exact, 40 * MS);
    assert_int_equal(row_of(&both, 8, IDLE_RUNNING).looks, 12);
    model_fini(&both);
}

/* Where kernels are recorded, idle time by line says more. */
TEST(test_not_where_kernels_are_recorded)
{
    struct program p;
    struct model m;
    program_init(&p, "traced");
    int64_t step = program_python(&p, 0, "train.py", "step", 14);
    program_launch(&p, (struct program_kernel){.ns = 2000, .thread = MAIN});
    put_steps(&p, step, step, step);
    read_session(&p, &m);
    assert_int_equal(m.host_time.threads, 0);
    assert_int_equal(sum(&m), 0);
    model_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_are_exact_and_the_rest_is_divided),
        cmocka_unit_test(test_states_of_a_line),
        cmocka_unit_test(test_time_without_a_line),
        cmocka_unit_test(test_which_threads),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_not_where_kernels_are_recorded),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
