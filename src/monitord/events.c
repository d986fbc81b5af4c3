/* events.c - see events.h. */
#include "monitord/events.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdatomic.h>
#include <string.h>

static const int64_t WAIT = 1000000000, AGAIN = 2000000000, LAST = 1000000000; /* ns */

static bool is_equal(const struct event_seen *s, int gpu, const struct device_event *b)
{
    const struct device_event *a = &s->event;
    return a->kind == b->kind && s->gpu == gpu && a->code == b->code &&
           a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance;
}

static void put(struct events *v, const struct device_event *e, int gpu)
{
    pthread_mutex_lock(&v->lock);
    int at = 0;
    while (at < v->queued && !is_equal(&v->queue[at], gpu, e))
        at++;
    if (at < v->queued)
        v->queue[at].count++;
    else if (at < EVENTS_MOST)
        v->queue[v->queued++] = (struct event_seen){*e, gpu, clock_mono(), 1};
    else
        v->lost++;
    pthread_mutex_unlock(&v->lock);
    if (v->taker)
        wakeup_signal(v->taker);
}

static void *events_main(void *arg)
{
    struct events *v = arg;
    struct device_event e;
    int gpu;
    while (!atomic_load_explicit(&v->ending, memory_order_acquire)) {
        int rc = gpus_wait(v->gpus, WAIT, &e, &gpu);
        if (rc > 0)
            put(v, &e, gpu);
        else if (rc < 0)
            wakeup_wait(&v->stop, AGAIN);
    }
    /* Takes the events that the driver has ready; the time is limited, so that many events cannot
     * delay the program's end. */
    for (int64_t until = clock_mono() + LAST; clock_mono() < until;) {
        if (gpus_wait(v->gpus, 0, &e, &gpu) <= 0)
            break;
        put(v, &e, gpu);
    }
    return NULL;
}

int events_start(struct events *v, struct gpus *g, struct wakeup *taker)
{
    v->gpus = g;
    v->taker = taker;
    v->queued = 0;
    v->lost = 0;
    atomic_store_explicit(&v->ending, false, memory_order_relaxed);
    pthread_mutex_init(&v->lock, NULL);
    int rc = wakeup_init(&v->stop);
    return rc ? rc : thread_start(&v->thread, "gpufl-events", 0, events_main, v);
}

int64_t events_waiting(struct events *v)
{
    int64_t waiting = 0;
    pthread_mutex_lock(&v->lock);
    for (int i = 0; i < v->queued; i++)
        waiting += v->queue[i].count;
    pthread_mutex_unlock(&v->lock);
    return waiting;
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
}

void events_fini(struct events *v)
{
    wakeup_fini(&v->stop);
    pthread_mutex_destroy(&v->lock);
}
