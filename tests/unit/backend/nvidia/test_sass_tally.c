/* test_sass_tally.c - counts of instructions are summed: metrics by their group, functions by
 * number and name; every value has a row. */
#include <string.h>

#include "backend/nvidia/engine/sass/tally.h"
#include "base/alloc.h"
#include "tests/test.h"

enum { INST, THREADS, PRED_ON, SECTORS, IDEAL, WAVES, WAVES_IDEAL, DIVERGENT, UNIFORM, LOCAL };

static const uint64_t ids[SASS_METRICS] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static void add(struct sass_tally *t, const char *name, uint32_t function, uint32_t offset,
                uint64_t id, uint64_t value)
{
    struct sass_value values[2] = {{id, value}, {0, 0}};
    struct sass_record r = {
        .crc = 7, .function = function, .name = name, .offset = offset, .values = values};
    sass_tally_add(t, &r, 1, 2);
}

static struct taken {
    uint64_t sums[SASS_METRICS];
    unsigned rows[SASS_METRICS];
} taken;

static void take(void *arg, const struct sass_cell *c, size_t metric)
{
    (void)arg;
    taken.sums[metric] += c->values[metric];
    taken.rows[metric]++;
}

static void take_all(struct sass_tally *t)
{
    memset(&taken, 0, sizeof taken);
    sass_tally_take(t, take, NULL);
    assert_int_equal(t->cells.count, 0);
}

TEST(zeros_among_numbers)
{
    struct sass_tally t;
    sass_tally_init(&t, ids);
    add(&t, "a", 1, 16, ids[INST], 4);
    add(&t, "a", 1, 16, ids[INST], 3);
    add(&t, "a", 1, 16, ids[THREADS], 100);
    add(&t, "a", 1, 16, ids[PRED_ON], 0);
    add(&t, "a", 1, 16, ids[SECTORS], 0);
    add(&t, "a", 1, 32, ids[UNIFORM], 7);
    add(&t, "a", 1, 48, ids[INST], 0); /* an instruction that did not run */
    add(&t, "a", 1, 16, 99, 5);        /* not one of our metrics */
    take_all(&t);
    assert_int_equal(taken.sums[INST], 7);
    assert_int_equal(taken.sums[THREADS], 100);
    assert_int_equal(taken.rows[PRED_ON], 1); /* a 0 with a meaning */
    assert_int_equal(taken.rows[SECTORS], 0); /* a 0 without one */
    assert_int_equal(taken.rows[DIVERGENT], 1);
    assert_int_equal(taken.sums[UNIFORM], 7);
    assert_int_equal(taken.rows[INST], 1);
    assert_int_equal(t.lost, 0);
    take_all(&t);
    assert_int_equal(taken.rows[INST], 0);
    sass_tally_fini(&t);
}

/* The library may free a name. A function with the same number and another name is another one. */
TEST(functions_by_content)
{
    struct sass_tally t;
    char name[] = "kernel_a";
    sass_tally_init(&t, ids);
    add(&t, name, 1, 0, ids[INST], 1);
    name[7] = 'b';
    add(&t, name, 1, 0, ids[INST], 1);
    name[7] = 'a';
    add(&t, name, 1, 0, ids[INST], 1);
    assert_int_equal(t.functions.count, 2);
    assert_string_equal(t.functions.items[0].name, "kernel_a");
    assert_string_equal(t.functions.items[1].name, "kernel_b");
    take_all(&t);
    assert_int_equal(taken.sums[INST], 3);
    assert_int_equal(taken.rows[INST], 2);
    sass_tally_fini(&t);
}

TEST(many)
{
    enum { FUNCTIONS = 3000, OFFSETS = 10 };
    struct sass_tally t;
    sass_tally_init(&t, ids);
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        for (uint32_t o = 0; o < OFFSETS; o++)
            add(&t, "f", f, o * 16, ids[INST], f + o);
    assert_int_equal(t.functions.count, FUNCTIONS);
    take_all(&t);
    assert_int_equal(taken.sums[INST],
                     (uint64_t)OFFSETS * FUNCTIONS * (FUNCTIONS - 1) / 2 + FUNCTIONS * 45);
    sass_tally_fini(&t);
}

/* A metric that the device lacks has no rows; a value without memory is counted as lost. */
TEST(lacking)
{
    struct sass_tally t;
    uint64_t some[SASS_METRICS];
    memcpy(some, ids, sizeof some);
    some[IDEAL] = 0;
    sass_tally_init(&t, some);
    add(&t, "a", 1, 16, ids[SECTORS], 32);
    take_all(&t);
    assert_int_equal(taken.rows[SECTORS], 1);
    assert_int_equal(taken.rows[IDEAL], 0);
    sass_tally_fini(&t);
    sass_tally_init(&t, ids);
    mem_fail_at(0);
    add(&t, "a", 1, 16, ids[INST], 5);
    mem_fail_at(-1);
    assert_int_equal(t.lost, 1);
    sass_tally_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_among_numbers),
        cmocka_unit_test(functions_by_content),
        cmocka_unit_test(many),
        cmocka_unit_test(lacking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
