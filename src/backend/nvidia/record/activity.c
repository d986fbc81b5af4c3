/* activity.c - see activity.h. */
#include "backend/nvidia/record/activity.h"

#include "backend/nvidia/record/records.h"
#include "base/clock.h"

#include <time.h>

enum { FLUSH_PATIENCE = 100000000, FLUSH_PAUSE = 1000000 }; /* ns */

/* [hot] On a thread of the program, or CUPTI's own. */
static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct buffers *pool = atomic_load_explicit(&the_trace.pool, memory_order_acquire);
    bool wants_records = atomic_load_explicit(&the_trace.wants_records, memory_order_relaxed);
    *buffer = pool && wants_records ? buffers_take(pool) : NULL;
    *size = *buffer ? pool->size : 0;
    *max_records = 0;
    struct sink *s = atomic_load_explicit(&the_trace.live, memory_order_acquire);
    if (*buffer || !s || !wants_records)
        return;
    s->ops->lost(s, LOSS_POOL, 1);
    s->ops->wake(s);
}

/* This is called on a thread of CUPTI's, or on the collector's inside a flush. [hot] */
static void on_completed(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid)
{
    (void)context, (void)stream, (void)size;
    struct buffers *pool = atomic_load_explicit(&the_trace.pool, memory_order_acquire);
    bool floor = atomic_load_explicit(&the_trace.floor, memory_order_relaxed);
    if (!pool || !buffer)
        return;
    if (!buffers_give(pool, buffer, valid, floor)) {
        (void)buffers_home(&the_trace.pools, buffer);
        return;
    }
    struct sink *s = atomic_load_explicit(&the_trace.live, memory_order_acquire);
    if (s && buffers_pressing(pool))
        s->ops->wake(s);
}

int activity_register(const struct trace *t)
{
    return t->cupti->cuptiActivityRegisterCallbacks(on_requested, on_completed);
}

bool activity_unfinished(const struct trace *t)
{
    return buffers_out(atomic_load_explicit(&t->pool, memory_order_relaxed));
}

void activity_take(struct trace *t)
{
    struct queue_node *list = buffers_filled(atomic_load_explicit(&t->pool, memory_order_relaxed));
    struct queue_node **end = &t->taken;
    while (*end)
        end = &(*end)->next;
    *end = list;
}

static void prescan_from(struct trace *t, struct buffers *pool, struct queue_node *n)
{
    for (; n; n = n->next) {
        struct buffer *b = (struct buffer *)n;
        if (!b->floor)
            records_prescan(t->records, buffers_memory(pool, b), b->valid);
    }
}

void activity_decode(struct trace *t)
{
    struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    struct queue_node *next;
    bool scanned = records_want_prescan(t->records);
    if (scanned)
        prescan_from(t, pool, t->taken);
    for (struct queue_node *n = t->taken; n; n = next) {
        struct buffer *b = (struct buffer *)n;
        uint8_t *memory = buffers_memory(pool, b);
        next = n->next;
        if (b->floor)
            t->sink->ops->lost(t->sink, LOSS_FLOOR,
                               records_count_kernels(t->cupti, memory, b->valid));
        else
            records_decode(t->records, memory, b->valid, b->old);
        if (!scanned && records_want_prescan(t->records)) {
            prescan_from(t, pool, next);
            scanned = true;
        }
        buffers_release(pool, b);
    }
    t->taken = NULL;
}

/* Reports once a session that a call failed, because it is repeated with every flush. */
static void say_failure(struct trace *t, bool *said, enum severity severity, int result,
                        const char *code, const char *doing)
{
    struct err e;
    if (*said || result == CUPTI_OK || result == CUPTI_E_NOT_INITIALIZED)
        return;
    *said = true;
    cupti_error(t->cupti, result, doing, &e);
    t->sink->ops->message(t->sink, severity, code, "%s", e.text);
}

static void dropped_count(struct trace *t)
{
    size_t dropped = 0;
    if (!atomic_load_explicit(&t->wants_records, memory_order_relaxed))
        return; /* records that no session wants */
    int result = t->cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    if (result == CUPTI_OK && dropped)
        t->sink->ops->lost(t->sink, LOSS_DRIVER, dropped);
    say_failure(t, &t->dropped_failed, SEVERITY_NOTE, result, "cupti.dropped",
                "to say how many records it dropped");
}

/* A forced flush delivers records of running kernels without times: they are lost. So the end of a
 * session waits a moment for running work. */
static void flush_finished(struct trace *t)
{
    const struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    int64_t deadline = clock_mono() + FLUSH_PATIENCE;
    while (t->cupti->cuptiActivityFlushAll(0) == CUPTI_OK && buffers_out(pool) &&
           clock_mono() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_PAUSE}, NULL);
}

int activity_flush(struct trace *t, bool all)
{
    if (all)
        flush_finished(t);
    int result = t->cupti->cuptiActivityFlushAll(all ? CUPTI_FLUSH_FORCED : 0);
    say_failure(t, &t->flush_failed, SEVERITY_WARNING, result, "cupti.flush",
                "to hand over its records");
    dropped_count(t);
    return result == CUPTI_OK || result == CUPTI_E_NOT_INITIALIZED ? 0 : GPUFL_E_VENDOR;
}
