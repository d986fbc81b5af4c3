/* test_inherit.c - tests a launch outside scopes inherits the scope that was open then in the only
 * other thread with scopes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "capture/records/inherit.h"
#include "tests/test.h"

enum { MAIN = 10, AUTOGRAD = 11, LOADER = 12 };

static struct inherit h;
static struct joins joins;

static int setup(void **state)
{
    (void)state;
    h = (struct inherit){0};
    joins_init(&joins);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    inherit_fini(&h);
    joins_fini(&joins);
    return 0;
}

static void launch(int32_t thread, uint64_t tick, uint32_t correlation)
{
    inherit_launch(&h, tick,
                   &(struct join){.correlation = correlation, .thread = thread, .waiting = true});
}

static uint64_t scope_of(uint32_t correlation)
{
    const struct join *j = joins_get(&joins, correlation);
    if (j)
        assert_true(j->inherited);
    return j ? j->scope : 0;
}

TEST(the_innermost_at_that_moment)
{
    inherit_thread(&h, AUTOGRAD, 0);
    launch(AUTOGRAD, 99, 1);
    launch(AUTOGRAD, 100, 2);
    launch(AUTOGRAD, 150, 3);
    launch(AUTOGRAD, 250, 4);
    launch(AUTOGRAD, 300, 5);
    inherit_thread(&h, MAIN, 0);
    inherit_change(&h, 100, 7); /* step opens */
    inherit_change(&h, 120, 8); /* backward inside it */
    inherit_change(&h, 200, 7);
    inherit_change(&h, 300, 0);
    inherit_resolve(&h, &joins);
    assert_int_equal(scope_of(1), 0);
    assert_int_equal(scope_of(2), 7);
    assert_int_equal(scope_of(3), 8);
    assert_int_equal(scope_of(4), 7);
    assert_int_equal(scope_of(5), 0);
    assert_int_equal(h.several, 0);
}

/* Every launch is looked up in all histories, so threads without scopes leave no history. */
TEST(threads_without_scopes_cost_nothing)
{
    for (int32_t i = 0; i < 1000; i++) {
        inherit_thread(&h, 100 + i, 0);
        launch(100 + i, 50, (uint32_t)i + 1);
        assert_true(h.history_count <= 2);
        if (i == 500) {
            inherit_thread(&h, MAIN, 0);
            inherit_change(&h, 40, 7);
        }
    }
    inherit_resolve(&h, &joins);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(scope_of(i), 7);
}

TEST(what_was_open_before_the_round)
{
    inherit_thread(&h, MAIN, 5);
    inherit_thread(&h, AUTOGRAD, 0);
    launch(AUTOGRAD, 40, 1);
    inherit_resolve(&h, &joins);
    assert_int_equal(scope_of(1), 5);
    assert_int_equal(h.launch_count + h.history_count + h.change_count, 0);
}

TEST(unknown_between_two)
{
    inherit_thread(&h, MAIN, 5);
    inherit_thread(&h, LOADER, 0);
    inherit_change(&h, 50, 6);
    inherit_change(&h, 60, 0);
    inherit_thread(&h, AUTOGRAD, 0);
    launch(AUTOGRAD, 40, 1);
    launch(AUTOGRAD, 55, 2);
    launch(AUTOGRAD, 65, 3);
    inherit_resolve(&h, &joins);
    assert_int_equal(scope_of(1), 5);
    assert_int_equal(scope_of(2), 0);
    assert_int_equal(scope_of(3), 5);
    assert_int_equal(h.several, 1);
}

/* A launch does not inherit from its own thread. */
TEST(not_from_itself)
{
    inherit_thread(&h, MAIN, 0);
    inherit_change(&h, 10, 3);
    inherit_change(&h, 20, 0);
    launch(MAIN, 15, 1);
    inherit_resolve(&h, &joins);
    assert_int_equal(scope_of(1), 0);
}

TEST(a_stack_is_kept_without_a_scope)
{
    inherit_thread(&h, MAIN, 0);
    inherit_launch(&h, 5, &(struct join){.correlation = 1, .thread = MAIN, .stack = 4});
    inherit_launch(&h, 6, &(struct join){.correlation = 2, .thread = MAIN});
    inherit_cancel(&h, 2);
    inherit_cancel(&h, 77);
    inherit_resolve(&h, &joins);
    const struct join *j = joins_get(&joins, 1);
    assert_non_null(j);
    assert_int_equal(j->stack, 4);
    assert_false(j->inherited);
    assert_null(joins_get(&joins, 2));
}

/* A simple search gives the same: for every launch, each thread's last change before it. */
TEST(as_the_plain_way_says)
{
    enum { THREADS = 4, CHANGES = 50, LAUNCHES = 200 };
    static uint64_t tick[THREADS][CHANGES], instance[THREADS][CHANGES];
    srand(1);
    for (int round = 0; round < 50; round++) {
        uint64_t several = h.several, want_several = 0, want[LAUNCHES];
        for (int t = 0; t < THREADS; t++) {
            uint64_t at = 0;
            inherit_thread(&h, MAIN + t, 0);
            for (int c = 0; c < CHANGES; c++) {
                tick[t][c] = at += (uint64_t)rand() % 20;
                instance[t][c] = rand() % 3 ? 0 : (uint64_t)(t * 1000 + c + 1);
                inherit_change(&h, tick[t][c], instance[t][c]);
            }
        }
        inherit_thread(&h, 99, 0);
        for (int l = 0; l < LAUNCHES; l++) {
            uint64_t at = (uint64_t)rand() % 600;
            int found = 0;
            want[l] = 0;
            launch(99, at, (uint32_t)l);
            for (int t = 0; t < THREADS; t++) {
                uint64_t scope = 0;
                for (int c = 0; c < CHANGES; c++)
                    if (tick[t][c] <= at)
                        scope = instance[t][c];
                found += scope != 0;
                want[l] = scope ? scope : want[l];
            }
            if (found > 1) {
                want[l] = 0;
                want_several++;
            }
        }
        inherit_resolve(&h, &joins);
        assert_int_equal(h.several - several, want_several);
        for (int l = 0; l < LAUNCHES; l++)
            if (want[l])
                assert_int_equal(scope_of((uint32_t)l), want[l]);
        joins_fini(&joins);
    }
}

/* If memory is missing, no launch gets a wrong scope. */
TEST(no_memory)
{
    inherit_thread(&h, MAIN, 5);
    mem_fail_at(0);
    inherit_thread(&h, AUTOGRAD, 0); /* may need memory or not */
    inherit_change(&h, 10, 1);
    launch(AUTOGRAD, 20, 1);
    mem_fail_at(-1);
    assert_true(h.lost > 0);
    launch(AUTOGRAD, 30, 2);
    inherit_resolve(&h, &joins);
    assert_int_equal(scope_of(2), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_innermost_at_that_moment),
        T(threads_without_scopes_cost_nothing),
        T(what_was_open_before_the_round),
        T(unknown_between_two),
        T(not_from_itself),
        T(a_stack_is_kept_without_a_scope),
        T(as_the_plain_way_says),
        T(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
