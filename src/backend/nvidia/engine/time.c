/* time.c - see time.h. */
#include "backend/nvidia/engine/time.h"

#include "base/clock.h"
#include "base/process/thread.h"

#include <pthread.h>

enum {
    STRETCHES = 4096, /* between two drains; of further ones only the sum is kept */
    CONTEXTS = 64,
    OTHERS = 256,   /* launches in other contexts, after which awaited ones are given up */
    LEAST = 100000, /* ns */
};

static struct {
    struct stretch {
        int64_t start, duration; /* ns */
        int32_t thread;
    } stretches[STRETCHES], drained[STRETCHES]; /* drained: [collector] */
    size_t stretch_count;
    struct {
        cuda_context context;
        int64_t begin;  /* of its first launch; 0: that has not begun */
        int32_t thread; /* of the launch */
    } awaited[CONTEXTS];
    size_t awaited_count;
    unsigned others;
    pthread_mutex_t lock; /* guards these */

    _Atomic int64_t total; /* ns. Relaxed */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread uint8_t depth;

void engine_time_open(void)
{
    pthread_mutex_lock(&me.lock);
    me.stretch_count = me.awaited_count = 0;
    pthread_mutex_unlock(&me.lock);
    atomic_store(&the_trace.first_launches, 0);
    atomic_store(&me.total, 0);
}

int64_t engine_time_begin(void)
{
    depth++;
    return clock_mono();
}

/* Adds a stretch of time. costs: it is not counted anywhere else. */
static void note(int64_t begin, bool costs)
{
    int64_t ns = clock_mono() - begin;
    if (ns < LEAST || thread_is_ours())
        return;
    if (costs)
        atomic_fetch_add_explicit(&me.total, ns, memory_order_relaxed);
    pthread_mutex_lock(&me.lock);
    if (me.stretch_count < STRETCHES)
        me.stretches[me.stretch_count++] = (struct stretch){begin, ns, thread_id()};
    pthread_mutex_unlock(&me.lock);
}

void engine_time_end(int64_t begin)
{
    if (!--depth)
        note(begin, true);
}

void engine_time_end_start(int64_t begin)
{
    if (!--depth)
        note(begin, false);
}

/* ---- first launches -------------------------------------------------------------------------- */

/* The lock is held. Returns the index of the context; awaited_count: it is not awaited. */
static size_t find_context(cuda_context context)
{
    size_t i = 0;
    while (i < me.awaited_count && me.awaited[i].context != context)
        i++;
    return i;
}

/* The lock is held. */
static void drop(size_t i)
{
    me.awaited[i] = me.awaited[--me.awaited_count];
    atomic_store_explicit(&the_trace.first_launches, (int)me.awaited_count, memory_order_relaxed);
}

void engine_time_await(cuda_context context)
{
    pthread_mutex_lock(&me.lock);
    size_t i = find_context(context);
    me.others = 0;
    if (i < CONTEXTS) {
        me.awaited[i].context = context;
        me.awaited[i].begin = 0;
        me.awaited_count += i == me.awaited_count;
    }
    atomic_store_explicit(&the_trace.first_launches, (int)me.awaited_count, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
}

void engine_time_forget(cuda_context context)
{
    pthread_mutex_lock(&me.lock);
    size_t i = find_context(context);
    if (i < me.awaited_count)
        drop(i);
    pthread_mutex_unlock(&me.lock);
}

void engine_time_launch(cuda_context context)
{
    pthread_mutex_lock(&me.lock);
    size_t i = find_context(context);
    if (i < me.awaited_count && !me.awaited[i].begin) {
        me.awaited[i].begin = clock_mono();
        me.awaited[i].thread = thread_id();
    } else if (i == me.awaited_count && ++me.others == OTHERS) {
        me.awaited_count = 0;
        atomic_store_explicit(&the_trace.first_launches, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&me.lock);
}

void engine_time_launched(cuda_context context)
{
    int64_t begin = 0;
    pthread_mutex_lock(&me.lock);
    size_t i = find_context(context);
    if (i < me.awaited_count && me.awaited[i].begin && me.awaited[i].thread == thread_id()) {
        begin = me.awaited[i].begin;
        drop(i);
    }
    pthread_mutex_unlock(&me.lock);
    if (begin)
        note(begin, true);
}

/* ---- what is reported ------------------------------------------------------------------------ */

int64_t engine_time_total(void)
{
    return atomic_load_explicit(&me.total, memory_order_relaxed);
}

void engine_time_drain(struct sink *s)
{
    pthread_mutex_lock(&me.lock);
    size_t count = me.stretch_count;
    for (size_t i = 0; i < count; i++)
        me.drained[i] = me.stretches[i];
    me.stretch_count = 0;
    pthread_mutex_unlock(&me.lock);
    for (size_t i = 0; i < count; i++)
        s->ops->engine_time(s, me.drained[i].start, me.drained[i].duration, me.drained[i].thread);
}
