/* test_pc_tally.c - samples are summed: each counts once, in whichever of two ways the library
 * counts samples of cycles without an issue; samples without room are counted; and the sampling
 * period of a device. */
#include <stdio.h>
#include <string.h>

#include "backend/nvidia/engine/pc/sampling.h"
#include "backend/nvidia/engine/pc/tally.h"
#include "tests/test.h"

enum { LONG, LONG_IDLE, SELECTED, REASONS };

static char names[REASONS][PC_REASON_NAME] = {"stalled_long", "stalled_long_not_issued",
                                              "stalled_selected"};

static void open_tally(struct pc_tally *t)
{
    static const uint32_t indices[REASONS] = {7, 3, 40}; /* the library's numbers are arbitrary */
    pc_tally_init(t);
    for (int i = 0; i < REASONS; i++)
        memcpy(t->reasons[i].name, names[i], PC_REASON_NAME);
    pc_tally_reasons(t, indices, REASONS);
    assert_int_equal(t->reasons[LONG].twin, LONG_IDLE);
    assert_int_equal(t->reasons[LONG_IDLE].twin, LONG);
    assert_int_equal(t->reasons[SELECTED].twin, -1);
    assert_true(t->reasons[LONG_IDLE].idle && !t->reasons[LONG].idle);
}

/* Adds a record of one instruction with n samples of each reason. */
static void add(struct pc_tally *t, const char *name, uint32_t number, uint64_t offset,
                const uint32_t n[REASONS], uint64_t total)
{
    struct pc_reason reasons[REASONS] = {{7, n[0]}, {3, n[1]}, {40, n[2]}};
    struct pc_record r = {.crc = 1,
                          .offset = offset,
                          .function = number,
                          .name = (char *)name,
                          .reason_count = REASONS,
                          .reasons = reasons};
    struct pc_data d = {.room = 1, .count = 1, .records = &r, .total = total};
    pc_tally_add(t, &d);
}

static uint64_t taken[REASONS];

static void take(void *arg, const struct pc_cell *c, uint64_t samples)
{
    (void)arg;
    taken[c->reason] += samples;
}

static void take_all(struct pc_tally *t)
{
    memset(taken, 0, sizeof taken);
    pc_tally_settle(t);
    pc_tally_take(t, take, NULL);
    assert_int_equal(t->cells.count, 0);
}

TEST(counted_within)
{
    struct pc_tally t;
    open_tally(&t);
    add(&t, "a", 1, 16, (const uint32_t[]){10, 6, 2}, 12);
    add(&t, "a", 1, 16, (const uint32_t[]){1, 1, 0}, 1);
    take_all(&t);
    assert_int_equal(t.relation, PC_RELATION_WITHIN);
    assert_int_equal(taken[LONG], 4);
    assert_int_equal(taken[LONG_IDLE], 7);
    assert_int_equal(taken[SELECTED], 2);
    take_all(&t);
    assert_int_equal(taken[LONG] + taken[LONG_IDLE] + taken[SELECTED], 0);
    pc_tally_fini(&t);
}

TEST(counted_apart)
{
    struct pc_tally t;
    open_tally(&t);
    add(&t, "a", 1, 16, (const uint32_t[]){10, 6, 2}, 18); /* the library's total shows it */
    take_all(&t);
    assert_int_equal(t.relation, PC_RELATION_APART);
    assert_int_equal(taken[LONG], 10);
    assert_int_equal(taken[LONG_IDLE], 6);
    pc_tally_clear(&t);
    add(&t, "a", 1, 16, (const uint32_t[]){2, 6, 0}, 0); /* 6 cannot be within 2 */
    take_all(&t);
    assert_int_equal(t.relation, PC_RELATION_APART);
    assert_int_equal(taken[LONG] + taken[LONG_IDLE], 8);
    pc_tally_fini(&t);
}

/* Functions are distinguished by code, number and name; there is room for a hundred thousand. */
TEST(many_functions)
{
    enum { MANY = 100000 };
    struct pc_tally t;
    open_tally(&t);
    for (uint32_t i = 0; i < MANY; i++)
        add(&t, "kernel", i, i % 7 * 16, (const uint32_t[]){1, 0, 0}, 1);
    add(&t, "other", 5, 5 * 16, (const uint32_t[]){3, 0, 0}, 3);
    assert_int_equal(t.functions.count, MANY + 1);
    assert_int_equal(t.lost, 0);
    take_all(&t);
    assert_int_equal(taken[LONG], MANY + 3);
    pc_tally_fini(&t);
}

TEST(what_has_no_room_is_counted)
{
    struct pc_tally t;
    open_tally(&t);
    for (uint32_t i = 0; i < PC_TALLY_MAX + 5; i++)
        add(&t, "kernel", 1, (uint64_t)i * 16, (const uint32_t[]){2, 0, 0}, 2);
    size_t kept = t.cells.count - 1;
    assert_true(kept >= PC_TALLY_MAX / 2);
    assert_int_equal(t.lost, 2 * (PC_TALLY_MAX + 5 - kept));
    take_all(&t);
    assert_int_equal(taken[LONG], 2 * kept);
    t.lost = 0;
    add(&t, "kernel", 1, (PC_TALLY_MAX + 5) * UINT64_C(16), (const uint32_t[]){2, 0, 0}, 2);
    take_all(&t); /* empty again: there is room, and no old samples */
    assert_int_equal(taken[LONG], 2);
    assert_int_equal(t.lost, 0);
    pc_tally_fini(&t);
}

TEST(period_of_a_device)
{
    assert_int_equal(pc_sampling_period(132, 1980000), 20); /* an H200 */
    assert_in_range(pc_sampling_period(1, 1000), PC_PERIOD_MIN, 12);
    assert_int_equal(pc_sampling_period(0, 0), 20); /* not known */
    assert_in_range(pc_sampling_period(INT32_MAX, INT32_MAX), 20, PC_PERIOD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_within),     cmocka_unit_test(counted_apart),
        cmocka_unit_test(many_functions),     cmocka_unit_test(what_has_no_room_is_counted),
        cmocka_unit_test(period_of_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
