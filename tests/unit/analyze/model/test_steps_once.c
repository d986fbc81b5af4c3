/* test_steps_once.c - tests work that a program does once, before its steps and after them: kernels
 * that a compiler tries, and waits at the end. */
#include "analyze/model/steps/steps.h"
#include "tests/test.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdio.h>
#include <string.h>

enum { MS = 1000000, TRIED = 60, TIMES = 6, STEPS = 100, KERNELS = 4, READS = 20 };

static struct program p;
static struct model m;

static int64_t kernel(const char *kind, int number)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", kind, number);
    return program_config(&p, name, 8);
}

static void run(int64_t config)
{
    program_launch(&p, (struct program_kernel){.ns = MS / 10, .config = config});
}

static void work(int64_t ns)
{
    p.now = p.now > p.gpu ? p.now : p.gpu;
    program_work(&p, ns);
}

/* Before the steps a compiler tries 60 kernels six times each: these are more different kernels
 * than the steps have, and each of them runs less often. */
TEST(test_tuned_at_the_start)
{
    int64_t k[KERNELS], settled;
    program_init(&p, "tuned");
    p.now = p.gpu = 1000 * MS;
    for (int i = 0; i < KERNELS; i++)
        k[i] = kernel("step", i);
    for (int i = 0; i < TRIED; i++) {
        int64_t tried = kernel("tried", i);
        for (int n = 0; n < TIMES; n++)
            run(tried);
        work(10 * MS);
    }
    settled = p.now;
    for (int i = 0; i < STEPS; i++) {
        for (int n = 0; n < KERNELS; n++)
            run(k[n]);
        work(5 * MS);
    }
    model_init(&m, names);
    program_end(&p);
    program_read(&p, &m);
    assert_int_equal(m.steps.why, STEPS_FOUND);
    assert_in_range(m.steps.count, STEPS - 1, STEPS);
    assert_in_range(m.steps.begins, settled, settled + 6 * MS);
    model_fini(&m);
    program_fini(&p);
}

/* The line with the waits at that place, or NULL. */
static const struct wait_line *line_at(const char *place)
{
    for (size_t i = 0; i < m.wait_lines.lines.count; i++) {
        const struct wait_line *l = sum_wait_lines_at(&m.wait_lines, i);
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(&m, l->place, &text);
        bool same = !strcmp(buf_cstr(&text), place);
        buf_fini(&text);
        if (same)
            return l;
    }
    return NULL;
}

/* Each step waits, and results are read one by one after the last step. A longer run reads them
 * once, too, so only the waits of the steps can be saved. */
TEST(test_waits_after_the_steps)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t k[KERNELS], all;
    program_init(&p, "after");
    int64_t step = program_python(&p, 0, "train.py", "step", 90),
            end = program_python(&p, 0, "train.py", "read", 120);
    p.now = p.gpu = 1000 * MS;
    for (int i = 0; i < KERNELS; i++)
        k[i] = kernel("step", i);
    int64_t odd = kernel("odd", 0);
    for (int i = 0; i < STEPS; i++) {
        for (int n = 0; n < KERNELS; n++)
            run(k[n]);
        program_sync(&p, WAIT_STREAM, step, 1);
        program_work(&p, MS / 10);
    }
    work(5 * MS);
    for (int i = 0; i < READS; i++) {
        program_launch(&p, (struct program_kernel){.ns = 4 * MS, .config = odd});
        program_sync(&p, WAIT_STREAM, end, 1);
        program_work(&p, 2 * MS);
    }
    run(odd);
    model_init(&m, names);
    program_end(&p);
    program_read(&p, &m);
    assert_int_equal(m.steps.why, STEPS_FOUND);
    const struct wait_line *in_steps = line_at("train.py:90"), *after = line_at("train.py:120");
    sum_idle_total(&m, sums, &all);
    assert_true(sums[IDLE_SYNC].time > READS * 2 * MS); /* the bar has both */
    assert_true(in_steps->idle_in[WAIT_STREAM] > 5 * MS);
    assert_int_equal(after->idle_in[WAIT_STREAM], 0);
    assert_int_equal(after->lead, 0);
    model_fini(&m);
    program_fini(&p);
}

/* What sessions have in common is said of all; where their steps were found in different ways, no
 * way is. */
TEST(test_steps_of_several_sessions)
{
    static const struct {
        uint32_t scope, kernel, thread;
        bool mixed;
        uint32_t said; /* the thread */
    } sessions[] = {
        {5, 0, 7, false, 7}, {5, 0, 7, false, 7}, {5, 0, 8, false, 0}, {0, 3, 0, true, 0}};
    struct model all;
    model_init(&all, names);
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++) {
        struct model one;
        model_init(&one, names);
        one.steps.sessions = 1;
        one.steps.scope = sessions[i].scope;
        one.steps.kernel = sessions[i].kernel;
        one.steps.thread = sessions[i].thread;
        assert_int_equal(sum_steps_merge(&all, &one, 0), 0);
        assert_int_equal(all.steps.mixed, sessions[i].mixed);
        assert_int_equal(all.steps.thread, sessions[i].said);
        model_fini(&one);
    }
    model_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tuned_at_the_start),
                                       cmocka_unit_test(test_waits_after_the_steps),
                                       cmocka_unit_test(test_steps_of_several_sessions)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
