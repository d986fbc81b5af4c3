/* test_ended.c - tests the queue of sessions that wait for their report: workspaces take turns,
 * sessions of one workspace keep their order. */
#include "server/analysis/ended.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <string.h>

enum { MANY = 1000 };

/* Takes the next session, which must be this one. */
static void expect(struct ended_queue *q, const struct ended *e)
{
    unsigned before = q->count;
    assert_ptr_equal(ended_pop(q), e);
    assert_false(e->queued);
    assert_int_equal(q->count, before - 1);
}

TEST(test_workspaces_take_turns)
{
    static struct ended many[MANY];
    struct ended one = {.workspace = "one"}, two[2] = {{.workspace = "two"}, {.workspace = "two"}};
    struct ended_queue q = {0};
    for (int i = 0; i < MANY; i++) {
        many[i] = (struct ended){.workspace = "many"};
        assert_true(ended_push(&q, &many[i], false));
    }
    assert_true(ended_push(&q, &two[0], false));
    assert_true(ended_push(&q, &two[1], false));
    assert_true(ended_push(&q, &one, false));
    assert_int_equal(ended_of(&q, "many"), MANY);
    assert_int_equal(ended_of(&q, "two"), 2);
    assert_int_equal(ended_of(&q, "none"), 0);
    expect(&q, &many[0]);
    expect(&q, &two[0]);
    expect(&q, &one);
    expect(&q, &many[1]);
    expect(&q, &two[1]);
    for (int i = 2; i < MANY; i++)
        expect(&q, &many[i]);
    assert_null(ended_pop(&q));
    assert_int_equal(q.count, 0);
    ended_fini(&q);
}

TEST(test_put_back)
{
    struct ended a[2] = {{.workspace = "a"}, {.workspace = "a"}}, b = {.workspace = "b"};
    struct ended_queue q = {0};
    ended_push(&q, &a[0], false);
    ended_push(&q, &a[1], false);
    ended_push(&q, &b, false);
    ended_push(&q, &b, false); /* is there already */
    assert_int_equal(q.count, 3);
    expect(&q, &a[0]);
    ended_push(&q, &a[0], true); /* its workspace has others */
    expect(&q, &a[0]);
    expect(&q, &b);
    ended_push(&q, &b, true); /* its workspace has none */
    expect(&q, &b);
    expect(&q, &a[1]);
    ended_push(&q, &a[1], true); /* nothing is queued */
    expect(&q, &a[1]);
    assert_null(ended_pop(&q));
    ended_fini(&q);
}

TEST(test_no_memory)
{
    struct ended a[2] = {{.workspace = "a"}, {.workspace = "a"}}, b = {.workspace = "b"};
    struct ended_queue q = {0};
    assert_true(ended_push(&q, &a[0], false));
    mem_fail_at(0);
    assert_false(ended_push(&q, &b, false));
    mem_fail_at(0);
    assert_true(ended_push(&q, &a[1], false)); /* needs none */
    mem_fail_at(-1);
    assert_false(b.queued);
    expect(&q, &a[0]);
    ended_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workspaces_take_turns),
        cmocka_unit_test(test_put_back),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
