/* graph_cuts.c - see graph_cuts.h. Only the latest moments are kept: records are read soon after
 * they are made. */
#include "backend/nvidia/life/graph_cuts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEPT = 256 };

static struct {
    struct {
        int64_t begin, end;
    } moments[KEPT];
    size_t moment_count;  /* ever */
    pthread_mutex_t lock; /* guards these */

    _Atomic bool any;       /* there are moments. Relaxed */
    _Atomic uint64_t count; /* relaxed */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

void graph_cuts_open(void)
{
    pthread_mutex_lock(&me.lock);
    me.moment_count = 0;
    pthread_mutex_unlock(&me.lock);
    atomic_store(&me.any, false);
    atomic_store(&me.count, 0);
}

void graph_cuts_off(int64_t now)
{
    pthread_mutex_lock(&me.lock);
    me.moments[me.moment_count % KEPT].begin = now;
    me.moments[me.moment_count % KEPT].end = INT64_MAX;
    me.moment_count++;
    pthread_mutex_unlock(&me.lock);
    atomic_store_explicit(&me.any, true, memory_order_relaxed);
}

void graph_cuts_on(int64_t now)
{
    pthread_mutex_lock(&me.lock);
    if (me.moment_count && me.moments[(me.moment_count - 1) % KEPT].end == INT64_MAX)
        me.moments[(me.moment_count - 1) % KEPT].end = now;
    pthread_mutex_unlock(&me.lock);
}

int64_t graph_cuts_duration(int64_t start, int64_t duration)
{
    if (__builtin_expect(!atomic_load_explicit(&me.any, memory_order_relaxed), 1))
        return duration;
    int64_t most = duration;
    pthread_mutex_lock(&me.lock);
    for (size_t i = 0; i < KEPT && i < me.moment_count; i++) {
        int64_t left = me.moments[i].begin - start;
        if (start < me.moments[i].end && start + duration > me.moments[i].begin)
            most = left < 0 ? 0 : left < most ? left : most;
    }
    pthread_mutex_unlock(&me.lock);
    if (most < duration)
        atomic_fetch_add_explicit(&me.count, 1, memory_order_relaxed);
    return most;
}

uint64_t graph_cuts_count(void)
{
    return atomic_load_explicit(&me.count, memory_order_relaxed);
}
