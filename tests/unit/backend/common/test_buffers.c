/* test_buffers.c - tests the pool of activity buffers: bounds, order, and many threads at once. */
#include <stdio.h>
#include <string.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "backend/common/buffers.h"
#include "tests/test.h"

enum { SIZE = 64 << 10, COUNT = 8, THREADS = 4, ROUNDS = FEWER(20000, 3000) };

TEST(the_pool_is_bounded)
{
    struct buffers_list all = {0};
    struct buffers *b = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    uint8_t *taken[COUNT];
    assert_non_null(b);
    for (int i = 0; i < COUNT; i++) {
        taken[i] = buffers_take(b);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % 8, 0);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(taken[i], taken[k]);
    }
    assert_null(buffers_take(b));
    for (int i = 0; i < COUNT; i++)
        assert_true(buffers_give(b, taken[i], 100 + (size_t)i, i & 1));
    assert_true(buffers_pressing(b));
    struct queue_node *n = buffers_filled(b);
    assert_false(buffers_pressing(b));
    for (int i = 0; i < COUNT; i++) { /* in the order of giving */
        struct buffer *item = (struct buffer *)n;
        assert_ptr_equal(buffers_memory(b, item), taken[i]);
        assert_int_equal(item->valid, 100 + i);
        assert_int_equal(item->floor, i & 1);
        n = n->next;
        buffers_release(b, item);
    }
    assert_null(n);
    assert_non_null(buffers_take(b));
}

TEST(strangers_are_refused)
{
    uint8_t foreign[8];
    struct buffers_list all = {0};
    struct buffers *b = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    uint8_t *p = buffers_take(b);
    assert_false(buffers_give(b, foreign, 1, false));
    assert_true(buffers_give(b, p, SIZE + 1, false));
    assert_false(buffers_give(b, p, 1, false)); /* twice */
    struct buffer *item = (struct buffer *)buffers_filled(b);
    assert_int_equal(item->valid, SIZE);
    assert_null(item->node.next);
}

static void check_free(struct buffers *b, int count)
{
    for (int i = 0; i < count; i++)
        assert_non_null(buffers_take(b));
    assert_null(buffers_take(b));
}

TEST(sessions_share_a_pool)
{
    struct buffers_list all = {0};
    struct buffers *b = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    uint8_t *kept = buffers_take(b), *filled = buffers_take(b);
    assert_true(buffers_give(b, filled, 1, false)); /* too late for its session */
    assert_ptr_equal(buffers_open(&all, SIZE, (int64_t)SIZE * COUNT), b);
    assert_null(buffers_filled(b));
    uint8_t *own = buffers_take(b);
    assert_true(buffers_give(b, own, 2, false));
    assert_true(buffers_give(b, kept, 1, false)); /* of the session before */
    struct buffer *first = (struct buffer *)buffers_filled(b);
    struct buffer *second = (struct buffer *)first->node.next;
    assert_ptr_equal(buffers_memory(b, first), own);
    assert_false(first->old);
    assert_ptr_equal(buffers_memory(b, second), kept);
    assert_true(second->old);
    buffers_release(b, first);
    buffers_release(b, second);
    check_free(b, COUNT);
}

/* Each buffer size has one mapping, in whatever order sessions of different sizes come. */
TEST(pools_of_other_sizes_are_found_again)
{
    struct buffers_list all = {0};
    struct buffers *b = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    uint8_t *kept = buffers_take(b);
    struct buffers *other = buffers_open(&all, SIZE * 2, (int64_t)SIZE * 2 * COUNT);
    assert_ptr_not_equal(other, b);
    assert_false(buffers_give(other, kept, 1, false)); /* its session has another pool */
    assert_true(buffers_home(&all, kept));
    assert_false(buffers_home(&all, kept)); /* twice */
    for (int i = 0; i < 100; i++) {
        assert_ptr_equal(buffers_open(&all, SIZE, (int64_t)SIZE * COUNT), b);
        assert_ptr_equal(buffers_open(&all, SIZE * 2, (int64_t)SIZE * 2 * COUNT), other);
    }
    check_free(b, COUNT);
    check_free(other, COUNT);
}

/* CUPTI may never give buffers back. A session gets a new pool if most of the old one is gone. */
TEST(a_pool_without_buffers_is_no_pool)
{
    struct buffers_list all = {0};
    struct buffers *b = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    for (int i = 0; i < COUNT / 2; i++)
        assert_non_null(buffers_take(b));
    assert_ptr_equal(buffers_open(&all, SIZE, (int64_t)SIZE * COUNT), b);
    assert_non_null(buffers_take(b));
    struct buffers *second = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT);
    assert_ptr_not_equal(second, b);
    check_free(second, COUNT);
}

struct shared {
    struct buffers *pool;
    _Atomic int running;
    _Atomic uint64_t given;
};

/* Writes its mark over a buffer and checks that nobody else did meanwhile. */
static void *producer(void *arg)
{
    struct shared *s = arg;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint8_t *p = buffers_take(s->pool);
        if (!p) {
            sched_yield();
            continue;
        }
        uint64_t mark = (uint64_t)(uintptr_t)&round ^ round << 48;
        memcpy(p, &mark, sizeof mark);
        memcpy(p + SIZE - sizeof mark, &mark, sizeof mark);
        sched_yield();
        assert_memory_equal(p, p + SIZE - sizeof mark, sizeof mark);
        assert_memory_equal(p, &mark, sizeof mark);
        assert_true(buffers_give(s->pool, p, 8, false));
        atomic_fetch_add(&s->given, 1);
    }
    atomic_fetch_sub(&s->running, 1);
    return NULL;
}

TEST(no_buffer_has_two_owners)
{
    struct buffers_list all = {0};
    struct shared s = {.pool = buffers_open(&all, SIZE, (int64_t)SIZE * COUNT), .running = THREADS};
    pthread_t threads[THREADS];
    uint64_t got = 0;
    bool last = false;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, producer, &s), 0);
    while (!last) {
        last = atomic_load(&s.running) == 0;
        struct queue_node *next;
        for (struct queue_node *n = buffers_filled(s.pool); n; n = next) {
            next = n->next;
            buffers_release(s.pool, (struct buffer *)n);
            got++;
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(got, atomic_load(&s.given));
    assert_true(got > 0);
    for (int i = 0; i < COUNT; i++)
        assert_non_null(buffers_take(s.pool));
    assert_null(buffers_take(s.pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pool_is_bounded),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(sessions_share_a_pool),
        cmocka_unit_test(pools_of_other_sizes_are_found_again),
        cmocka_unit_test(a_pool_without_buffers_is_no_pool),
        cmocka_unit_test(no_buffer_has_two_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
