/* events.c - see events.h. */
#include "monitord/events.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdatomic.h>
#include <string.h>

static const int64_t WAIT = 1000000000, AGAIN = 2000000000; /* ns */

static bool is_equal(const struct device_event *a, const struct device_event *b)
{
    return a->kind == b->kind && a->index == b->index && a->code == b->code &&
           a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance;
}

static void put(struct events *v, const struct device_event *e)
{
    pthread_mutex_lock(&v->lock);
    int at = 0;
    while (at < v->queued && !is_equal(&v->queue[at].event, e))
        at++;
    if (at < v->queued)
        v->queue[at].count++;
    else if (at < EVENTS_MOST)
        v->queue[v->queued++] = (struct event_seen){*e, clock_mono(), 1};
    else
        v->lost++;
    pthread_mutex_unlock(&v->lock);
}

static void *events_main(void *arg)
{
    struct events *v = arg;
    while (!atomic_load_explicit(&v->ending, memory_order_acquire)) {
        struct device_event e;
        int rc = gpus_wait(v->gpus, WAIT, &e);
        if (rc > 0)
            put(v, &e);
        else if (rc < 0)
            wakeup_wait(&v->stop, AGAIN);
    }
    return NULL;
}

int events_start(struct events *v, struct gpus *g)
{
    v->gpus = g;
    v->queued = 0;
    v->lost = 0;
    atomic_store_explicit(&v->ending, false, memory_order_relaxed);
    pthread_mutex_init(&v->lock, NULL);
    int rc = wakeup_init(&v->stop);
    return rc ? rc : thread_start(&v->thread, "gpufl-events", 0, events_main, v);
}

int events_take(struct events *v, struct event_seen out[EVENTS_MOST], uint64_t *lost)
{
    pthread_mutex_lock(&v->lock);
    int n = v->queued;
    memcpy(out, v->queue, (size_t)n * sizeof *out);
    *lost = v->lost;
    v->queued = 0;
    pthread_mutex_unlock(&v->lock);
    return n;
}

void events_stop(struct events *v)
{
    atomic_store_explicit(&v->ending, true, memory_order_release);
    wakeup_signal(&v->stop);
    thread_join(&v->thread);
    wakeup_fini(&v->stop);
    pthread_mutex_destroy(&v->lock);
}
