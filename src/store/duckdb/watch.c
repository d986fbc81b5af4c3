/* watch.c - see watch.h. */
#include "store/duckdb/watch.h"

#include <string.h>
#include <time.h>

#define AGAIN 10000000ll /* ns between interruptions of one statement */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Interrupts what is due. Returns when to look again; INT64_MAX: when something changes. [lock
 * held] */
static int64_t look(struct watch *w, int64_t t)
{
    int64_t next = INT64_MAX;
    for (struct watched *x = w->first; x; x = x->next) {
        if (x->due <= t) {
            atomic_store_explicit(&x->late, true, memory_order_relaxed);
            w->duck->interrupt(x->connection);
            x->due = t + AGAIN;
        }
        next = x->due < next ? x->due : next;
    }
    return next;
}

static void *run(void *arg)
{
    struct watch *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        int64_t next = look(w, now());
        const struct timespec until = {next / 1000000000, next % 1000000000};
        if (next == INT64_MAX)
            pthread_cond_wait(&w->changed, &w->lock);
        else
            pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int watch_open(struct watch *w, const struct duck *d)
{
    pthread_condattr_t monotonic;
    memset(w, 0, sizeof *w);
    w->duck = d;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return thread_start(&w->thread, "gpufl-watch", 0, run, w);
}

void watch_close(struct watch *w)
{
    if (!w->duck)
        return;
    if (w->thread.running) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
        thread_join(&w->thread);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    w->duck = NULL;
}

void watch_begin(struct watch *w, struct watched *x, struct duck_connection *c, int64_t limit)
{
    int64_t t = now();
    memset(x, 0, sizeof *x);
    x->connection = c;
    x->end = x->due = limit < INT64_MAX - t ? t + limit : INT64_MAX;
    pthread_mutex_lock(&w->lock);
    if (w->hurry)
        x->end = x->due = t;
    x->next = w->first;
    w->first = x;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void watch_end(struct watch *w, struct watched *x)
{
    pthread_mutex_lock(&w->lock);
    struct watched **at = &w->first;
    while (*at && *at != x)
        at = &(*at)->next;
    if (*at)
        *at = x->next;
    pthread_mutex_unlock(&w->lock);
}

void watch_hurry(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->hurry = true;
    for (struct watched *x = w->first; x; x = x->next)
        x->due = 0;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

bool watch_late(const struct watched *x)
{
    return atomic_load_explicit(&x->late, memory_order_relaxed) || now() >= x->end;
}
