/* queue.h - is a lock-free queue from many threads to one.
 *
 * Producers push onto a stack; the consumer takes everything at once, in the
 * order of pushing. The node lives inside the caller's object. push releases,
 * take acquires. */
#ifndef GPUFL_BASE_QUEUE_H
#define GPUFL_BASE_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

struct queue_node {
    struct queue_node *next; /* owned by the queue between push and take */
};

struct queue {
    _Atomic(struct queue_node *) top; /* newest first */
};

#define QUEUE_INIT                                                                                 \
    {                                                                                              \
        NULL                                                                                       \
    }

/* Any number of producers may call this function. [hot] */
static inline void queue_push(struct queue *q, struct queue_node *n)
{
    struct queue_node *top = atomic_load_explicit(&q->top, memory_order_relaxed);
    do
        n->next = top;
    while (!atomic_compare_exchange_weak_explicit(&q->top, &top, n, memory_order_release,
                                                  memory_order_relaxed));
}

/* Returns all nodes pushed so far, oldest first, linked by next; NULL when empty. [consumer] */
static inline struct queue_node *queue_take(struct queue *q)
{
    struct queue_node *n = atomic_exchange_explicit(&q->top, NULL, memory_order_acquire);
    struct queue_node *list = NULL;
    while (n) {
        struct queue_node *next = n->next;
        n->next = list;
        list = n;
        n = next;
    }
    return list;
}

#endif
