/* engine_time.c - see engine_time.h. */
#include "backend/nvidia/engine_time.h"

#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>

enum {
    STRETCHES = 4096, /* between two drains; of those beyond only the sum is known */
    CONTEXTS = 64,
    OTHERS = 256,   /* launches elsewhere, after which those that are awaited are not any more */
    LEAST = 100000, /* ns */
};

static struct stretch {
    int64_t start, duration; /* ns */
    int32_t thread;
} stretches[STRETCHES];
static size_t stretch_count;
static struct {
    cuda_context context;
    int64_t begin;  /* of its launch; 0: that has not been entered */
    int32_t thread; /* of the launch */
} awaited[CONTEXTS];
static size_t awaited_count;
static unsigned others;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards these */

static _Atomic int64_t total; /* ns. Relaxed */

_Atomic int engine_time_expected; /* that many are awaited */

static __thread uint8_t depth;

void engine_time_open(void)
{
    pthread_mutex_lock(&lock);
    stretch_count = awaited_count = 0;
    pthread_mutex_unlock(&lock);
    atomic_store(&engine_time_expected, 0);
    atomic_store(&total, 0);
}

int64_t engine_time_begin(void)
{
    depth++;
    return clock_mono();
}

/* costs: nobody else counts it. */
static void note(int64_t begin, bool costs)
{
    int64_t ns = clock_mono() - begin;
    if (ns < LEAST || thread_is_ours())
        return;
    if (costs)
        atomic_fetch_add_explicit(&total, ns, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    if (stretch_count < STRETCHES)
        stretches[stretch_count++] = (struct stretch){begin, ns, thread_id()};
    pthread_mutex_unlock(&lock);
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

/* ---- first launches --------------------------------------------------------------------------- */

/* With the lock: which of them; awaited_count: none. */
static size_t find_context(cuda_context context)
{
    size_t i = 0;
    while (i < awaited_count && awaited[i].context != context)
        i++;
    return i;
}

/* With the lock. */
static void drop(size_t i)
{
    awaited[i] = awaited[--awaited_count];
    atomic_store_explicit(&engine_time_expected, (int)awaited_count, memory_order_relaxed);
}

void engine_time_await(cuda_context context)
{
    pthread_mutex_lock(&lock);
    size_t i = find_context(context);
    others = 0;
    if (i < CONTEXTS) {
        awaited[i].context = context;
        awaited[i].begin = 0;
        awaited_count += i == awaited_count;
    }
    atomic_store_explicit(&engine_time_expected, (int)awaited_count, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void engine_time_forget(cuda_context context)
{
    pthread_mutex_lock(&lock);
    size_t i = find_context(context);
    if (i < awaited_count)
        drop(i);
    pthread_mutex_unlock(&lock);
}

void engine_time_launch(cuda_context context)
{
    pthread_mutex_lock(&lock);
    size_t i = find_context(context);
    if (i < awaited_count && !awaited[i].begin) {
        awaited[i].begin = clock_mono();
        awaited[i].thread = thread_id();
    } else if (i == awaited_count && ++others == OTHERS) {
        awaited_count = 0;
        atomic_store_explicit(&engine_time_expected, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
}

void engine_time_launched(cuda_context context)
{
    int64_t begin = 0;
    pthread_mutex_lock(&lock);
    size_t i = find_context(context);
    if (i < awaited_count && awaited[i].begin && awaited[i].thread == thread_id()) {
        begin = awaited[i].begin;
        drop(i);
    }
    pthread_mutex_unlock(&lock);
    if (begin)
        note(begin, true);
}

/* ---- what is told ------------------------------------------------------------------------------- */

int64_t engine_time_total(void)
{
    return atomic_load_explicit(&total, memory_order_relaxed);
}

void engine_time_drain(struct sink *s)
{
    static struct stretch list[STRETCHES]; /* collector's */
    pthread_mutex_lock(&lock);
    size_t count = stretch_count;
    for (size_t i = 0; i < count; i++)
        list[i] = stretches[i];
    stretch_count = 0;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++)
        s->ops->engine_time(s, list[i].start, list[i].duration, list[i].thread);
}
