/* test_simulated.c - tests stacks of simulated programs: kept once, found by id, limited in
 * number. */
#include "stack/simulated.h"
#include "tests/test.h"

#include <stdio.h>

static const struct simulated_frame frames[] = {
    {"main", "train.py", 3}, {"step", "train.py", 90}, {"step", "train.py", 91}};

TEST(test_once)
{
    uint32_t a = simulated_stack(frames, 2), b = simulated_stack(frames, 1);
    struct simulated_frame again[2] = {frames[0], frames[1]};
    char name[] = "step"; /* equal by content */
    again[1].function = name;
    assert_true(a > STACK_DISTINCT && b > STACK_DISTINCT && a != b);
    assert_int_equal(simulated_stack(again, 2), a);
    again[1].line = 91;
    assert_int_not_equal(simulated_stack(again, 2), a);
    const struct stack *s = stacks_get(a);
    assert_ptr_equal(s, simulated_get(a));
    assert_int_equal(s->id, a);
    assert_int_equal(s->depth, 2);
    assert_int_equal(s->places[0].kind, STACK_PYTHON);
    assert_string_equal(s->places[0].code->name, "step");
    assert_string_equal(s->places[0].code->file, "train.py");
    assert_int_equal(s->places[0].line, 90);
    assert_string_equal(s->places[1].code->name, "main");
    assert_ptr_equal(stacks_get(b)->places[0].code, s->places[1].code);
    assert_null(simulated_get(STACK_DISTINCT));
    assert_null(simulated_get(STACK_DISTINCT + SIMULATED_MOST));
    assert_null(simulated_get(UINT32_MAX));
}

TEST(test_bounds)
{
    struct simulated_frame deep[SIMULATED_DEPTH + 1];
    for (int i = 0; i <= SIMULATED_DEPTH; i++)
        deep[i] = frames[0];
    assert_int_equal(simulated_stack(deep, 0), 0);
    assert_int_equal(simulated_stack(deep, SIMULATED_DEPTH + 1), 0);
    assert_int_not_equal(simulated_stack(deep, SIMULATED_DEPTH), 0);
    uint32_t last = 0;
    for (int i = 0; i < 2 * SIMULATED_MOST; i++) {
        struct simulated_frame f = {"loop", "train.py", i + 1};
        uint32_t id = simulated_stack(&f, 1);
        last = id ? id : last;
    }
    assert_int_equal(last, STACK_DISTINCT + SIMULATED_MOST);
    assert_int_equal(simulated_stack(frames, 2), STACK_DISTINCT + 1); /* kept stacks are found */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
