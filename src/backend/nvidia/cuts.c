/* cuts.c - see cuts.h. Records are read soon after they are made: the latest moments are enough. */
#include "backend/nvidia/cuts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEPT = 256 };

static struct {
    int64_t begin, end;
} moments[KEPT];
static size_t moment_count;                              /* ever */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards these */

static _Atomic bool any;       /* there are moments. Relaxed */
static _Atomic uint64_t count; /* relaxed */

void cuts_open(void)
{
    pthread_mutex_lock(&lock);
    moment_count = 0;
    pthread_mutex_unlock(&lock);
    atomic_store(&any, false);
    atomic_store(&count, 0);
}

void cuts_off(int64_t now)
{
    pthread_mutex_lock(&lock);
    moments[moment_count % KEPT].begin = now;
    moments[moment_count % KEPT].end = INT64_MAX;
    moment_count++;
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&any, true, memory_order_relaxed);
}

void cuts_on(int64_t now)
{
    pthread_mutex_lock(&lock);
    if (moment_count && moments[(moment_count - 1) % KEPT].end == INT64_MAX)
        moments[(moment_count - 1) % KEPT].end = now;
    pthread_mutex_unlock(&lock);
}

int64_t cuts_duration(int64_t start, int64_t duration)
{
    if (__builtin_expect(!atomic_load_explicit(&any, memory_order_relaxed), 1))
        return duration;
    int64_t most = duration;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KEPT && i < moment_count; i++) {
        int64_t left = moments[i].begin - start;
        if (start < moments[i].end && start + duration > moments[i].begin)
            most = left < 0 ? 0 : left < most ? left : most;
    }
    pthread_mutex_unlock(&lock);
    if (most < duration)
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return most;
}

uint64_t cuts_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}
