/* test_ring.c - tests order, fullness, wrap-around, and two threads. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/process/thread.h"
#include "base/ring.h"
#include "tests/test.h"

#include <sched.h>

struct slot {
    uint64_t value;
    uint64_t check; /* ~value: a torn slot shows */
    uint32_t more[3];
};

static struct slot slot_of(uint64_t v)
{
    return (struct slot){.value = v, .check = ~v, .more = {(uint32_t)v, 1, 2}};
}

TEST(test_capacity_is_rounded_up)
{
    static const uint32_t want[][2] = {{0, 1}, {1, 1}, {2, 2}, {3, 4}, {1000, 1024}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct ring r;
        assert_int_equal(ring_init(&r, want[i][0], 8), 0);
        assert_int_equal(r.capacity, want[i][1]);
        assert_int_equal(ring_room(&r, 1), want[i][1]);
        ring_fini(&r);
    }
    struct ring r;
    assert_int_equal(ring_init(&r, UINT32_MAX, 8), GPUFL_E_NOMEM);
    mem_fail_at(0);
    assert_int_equal(ring_init(&r, 8, 8), GPUFL_E_NOMEM);
    mem_fail_at(-1);
    ring_fini(&r);
}

TEST(test_fills_and_drains_in_order)
{
    struct ring r;
    assert_int_equal(ring_init(&r, 8, sizeof(struct slot)), 0);
    assert_null(ring_peek(&r));
    uint64_t pushed = 0, popped = 0;
    for (int round = 0; round < 100; round++) { /* 5 in, 5 out: every offset wraps */
        for (int i = 0; i < 5; i++) {
            struct slot s = slot_of(pushed++);
            assert_true(ring_push(&r, &s));
        }
        for (int i = 0; i < 5; i++) {
            const struct slot *s = ring_peek(&r);
            assert_int_equal(s->value, popped++);
            ring_pop(&r);
        }
    }
    struct slot s = slot_of(0);
    for (int i = 0; i < 8; i++)
        assert_true(ring_push(&r, &s));
    assert_false(ring_push(&r, &s));
    assert_int_equal(ring_room(&r, 1), 0);
    ring_pop(&r);
    assert_int_equal(ring_room(&r, 1), 1);
    ring_fini(&r);
}

enum { TOTAL = 400000 };

static void *produce(void *arg)
{
    struct ring *r = arg;
    for (uint64_t v = 0; v < TOTAL;) {
        struct slot s = slot_of(v);
        if (ring_push(r, &s))
            v++;
        else
            sched_yield();
    }
    return NULL;
}

TEST(test_two_threads)
{
    struct ring r;
    struct thread t;
    assert_int_equal(ring_init(&r, 64, sizeof(struct slot)), 0);
    assert_int_equal(thread_start(&t, "producer", 0, produce, &r), 0);
    for (uint64_t v = 0; v < TOTAL;) {
        const struct slot *s = ring_peek(&r);
        if (!s) {
            sched_yield();
            continue;
        }
        if (s->value != v || s->check != ~v || s->more[0] != (uint32_t)v)
            fail_msg("slot %llu is torn or out of order", (unsigned long long)v);
        ring_pop(&r);
        v++;
    }
    thread_join(&t);
    assert_null(ring_peek(&r));
    ring_fini(&r);
}

/* The consumer reads many slots by their index, and gives them back at once. */
TEST(test_taken_together)
{
    struct ring r;
    struct thread t;
    assert_int_equal(ring_init(&r, 64, sizeof(struct slot)), 0);
    assert_int_equal(thread_start(&t, "producer", 0, produce, &r), 0);
    for (uint64_t v = ring_tail(&r); v < TOTAL;) {
        uint64_t head = ring_head(&r);
        if (head == v)
            sched_yield();
        for (; v < head; v++) {
            const struct slot *s = ring_at(&r, v);
            if (s->value != v || s->check != ~v || s->more[0] != (uint32_t)v)
                fail_msg("slot %llu is torn or out of order", (unsigned long long)v);
        }
        ring_pop_to(&r, v);
    }
    thread_join(&t);
    assert_null(ring_peek(&r));
    assert_true(ring_tail(&r) == TOTAL);
    ring_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity_is_rounded_up),
        cmocka_unit_test(test_fills_and_drains_in_order),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_taken_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
