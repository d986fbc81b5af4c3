/* test_idle_random.c - tests idle time by line of random programs: parts sum up exactly in ns, and
 * no failed allocation does harm. */
#include "analyze/model/idle/table.h"
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdlib.h>
#include <string.h>

static unsigned chance(unsigned *seed, unsigned of)
{
    *seed = *seed * 1103515245 + 12345;
    return (*seed >> 12) % of;
}

static void random_step(struct program *p, unsigned *seed, const int64_t *stacks)
{
    int64_t thread = 1 + chance(seed, 3), ns = chance(seed, 400000);
    int64_t stack = stacks[chance(seed, 5)];
    switch (chance(seed, 6)) {
    case 0:
        program_capture(p, 1 + chance(seed, 2), thread, stack);
        program_launch(p, (struct program_kernel){.ns = ns / 8, .thread = thread});
        break;
    case 1:
        program_launch(p, (struct program_kernel){.ns = ns / 8, .thread = thread});
        break;
    case 2:
        program_sync(p, 1 + chance(seed, 8), stack, thread);
        break;
    case 3:
        program_processes(p, 1 + chance(seed, 2));
        p->gpu += chance(seed, 2) * ns;
        break;
    default:
        for (unsigned k = chance(seed, 4); k--;)
            program_look(p, p->now + chance(seed, (unsigned)ns + 1), 1 + chance(seed, 4),
                         stacks[chance(seed, 5)], chance(seed, 5));
        program_work(p, ns);
    }
}

/* Every row of `one` is in `two` with twice the time. */
static void check_twice(const struct model *one, const struct model *two)
{
    struct idle_table a, b;
    assert_int_equal(idle_table_make(one, &a), 0);
    assert_int_equal(idle_table_make(two, &b), 0);
    assert_int_equal(a.count, b.count);
    assert_int_equal(2 * a.all, b.all);
    for (size_t i = 0; i < a.count; i++) {
        assert_int_equal(2 * a.rows[i].ns, b.rows[i].ns);
        assert_int_equal(2 * a.rows[i].exact, b.rows[i].exact);
        assert_int_equal(2 * a.rows[i].looks, b.rows[i].looks);
    }
    idle_table_fini(&a);
    idle_table_fini(&b);
    rows_check_idle(two);
}

/* Whatever the rows say, the parts sum up to the idle time of their cause to the ns, whatever the
 * order in which they come, in a session and in merged ones. */
TEST(test_sums)
{
    unsigned seed = 11;
    for (int round = 0; round < 60; round++) {
        struct program p;
        struct model m, all;
        program_init(&p, "random");
        p.reported = round & 1;
        int64_t stacks[5] = {0, program_python(&p, 0, "a.py", "f", 5),
                             program_python(&p, 0, "b.py", "g", 6),
                             program_native(&p, 0, "/usr/lib/libx.so", 64, NULL),
                             program_mark(&p, 0, "<truncated>")};
        for (int i = 0; i < 300; i++)
            random_step(&p, &seed, stacks);
        program_end(&p);
        model_init(&m, names);
        program_read_shuffled(&p, &m, round & 3);
        rows_check_idle(&m);
        program_fini(&p);
        model_init(&all, names);
        assert_int_equal(model_merge(&all, &m), 0);
        assert_int_equal(model_merge(&all, &m), 0);
        assert_int_equal(model_settle(&all), 0);
        check_twice(&m, &all);
        model_fini(&m);
        model_fini(&all);
    }
}

/* ---- without memory ---------------------------------------------------------------------- */

/* Reads the program while the allocation of that number fails; makes the table, too. */
static int read_failing(struct program *p, int64_t fail, bool *done)
{
    struct model m;
    struct decoder *d;
    struct idle_table t = {0};
    struct wire_visitor v = program_visitor(&m);
    char *copy = strdup(buf_cstr(&p->log.lines)), *at = copy;
    assert_non_null(copy);
    model_init(&m, names);
    mem_fail_at(fail);
    int rc = decoder_open(&d);
    bool open = !rc;
    for (char *end; !rc && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        rc = decoder_feed(d, at, (size_t)(end - at), &v);
    }
    rc = rc ? rc : decoder_finish(d, &v);
    rc = rc ? rc : model_finish(&m);
    rc = rc ? rc : idle_table_make(&m, &t);
    *done = mem_count() <= fail;
    mem_fail_at(-1);
    idle_table_fini(&t);
    if (open)
        decoder_close(d);
    model_fini(&m);
    free(copy);
    return rc;
}

TEST(test_without_memory)
{
    struct program p;
    unsigned seed = 5;
    program_init(&p, "memory");
    int64_t stacks[5] = {
        0, program_python(&p, 0, "a.py", "f", 5), program_python(&p, 0, "b.py", "g", 6),
        program_native(&p, 0, "/usr/lib/libx.so", 64, NULL), program_mark(&p, 0, "<truncated>")};
    for (int i = 0; i < 60; i++)
        random_step(&p, &seed, stacks);
    program_end(&p);
    bool done;
    assert_int_equal(read_failing(&p, -1, &done), 0); /* all names are known from here on */
    done = false;
    for (int64_t fail = 0; !done; fail++) {
        int rc = read_failing(&p, fail, &done);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
    }
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_without_memory)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
