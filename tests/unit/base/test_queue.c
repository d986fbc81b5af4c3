/* test_queue.c - tests order, and many producers against one consumer. */
#include "base/process/thread.h"
#include "base/queue.h"
#include "tests/test.h"

#include <sched.h>
#include <stdlib.h>

enum { PRODUCERS = 4, EACH = 50000 };

struct item {
    struct queue_node node; /* first: an item is its node */
    int producer;
    int number; /* grows by one for each item of a producer */
};

TEST(test_order)
{
    struct queue q = QUEUE_INIT;
    struct item items[3];
    assert_null(queue_take(&q));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            items[i].number = i;
            queue_push(&q, &items[i].node);
        }
        int n = 0;
        for (struct queue_node *p = queue_take(&q); p; p = p->next)
            assert_int_equal(((struct item *)p)->number, n++);
        assert_int_equal(n, 3);
        assert_null(queue_take(&q));
    }
}

struct producer {
    struct thread thread;
    struct queue *queue;
    struct item *items; /* EACH of them */
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    for (int i = 0; i < EACH; i++)
        queue_push(p->queue, &p->items[i].node);
    return NULL;
}

TEST(test_many_producers)
{
    struct queue q = QUEUE_INIT;
    struct producer producers[PRODUCERS];
    for (int p = 0; p < PRODUCERS; p++) {
        producers[p].queue = &q;
        producers[p].items = calloc(EACH, sizeof *producers[p].items);
        assert_non_null(producers[p].items);
        for (int i = 0; i < EACH; i++) {
            producers[p].items[i].producer = p;
            producers[p].items[i].number = i;
        }
    }
    for (int p = 0; p < PRODUCERS; p++)
        assert_int_equal(thread_start(&producers[p].thread, "producer", 0, produce, &producers[p]),
                         0);
    int next[PRODUCERS] = {0};
    for (int taken = 0; taken < PRODUCERS * EACH;) {
        struct queue_node *n = queue_take(&q);
        if (!n)
            sched_yield();
        while (n) {
            struct item *item = (struct item *)n;
            n = n->next;
            if (item->number != next[item->producer]++)
                fail_msg("producer %d: item %d out of order", item->producer, item->number);
            taken++;
        }
    }
    for (int p = 0; p < PRODUCERS; p++) {
        thread_join(&producers[p].thread);
        free(producers[p].items);
    }
    assert_null(queue_take(&q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_many_producers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
