/* activity.c - see activity.h.
 *
 * The states of a buffer: free -> filled by a thread -> ready -> taken -> drained -> free. */
#include "backend/sim/activity.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    WAIT_LIMIT = 30,   /* s without a drain after which a thread gives up waiting */
    FLUSH_COST = 2400, /* ns of host time to deliver a buffer */
};

void sim_buffers_push(struct sim_buffers *l, struct sim_buffer *b)
{
    b->next = NULL;
    if (l->tail)
        l->tail->next = b;
    else
        l->head = b;
    l->tail = b;
}

struct sim_buffer *sim_buffers_pop(struct sim_buffers *l)
{
    struct sim_buffer *b = l->head;
    if (!b)
        return NULL;
    l->head = b->next;
    if (!l->head)
        l->tail = NULL;
    return b;
}

/* Takes a buffer from the pool; NULL: it is exhausted. a->lock held. */
static struct sim_buffer *buffer_get(struct sim_trace *a)
{
    struct sim_buffer *b = sim_buffers_pop(&a->free);
    if (!b && (a->machine->config.lossless || a->allocated < a->most)) {
        size_t slots = a->capacity + SIM_BUFFER_SPARE;
        b = mem_alloc(sizeof *b + slots * sizeof b->records[0]);
        a->allocated += b != NULL;
    }
    if (b) {
        b->count = b->events = 0;
        b->complete = 0;
    }
    return b;
}

static void buffer_add(struct sim_buffer *b, const struct sim_record *r)
{
    b->records[b->count++] = *r;
    int64_t end = r->start + r->duration;
    if (!r->fault && end > b->complete)
        b->complete = end;
}

static void buffer_shuffle(struct sim_buffer *b, uint64_t *random)
{
    for (unsigned i = b->count; i > 1; i--) {
        unsigned j = (unsigned)(sim_mix(random) % i);
        struct sim_record r = b->records[i - 1];
        b->records[i - 1] = b->records[j];
        b->records[j] = r;
    }
}

void sim_activity_release_held(struct sim_thread *t)
{
    for (unsigned i = 0; i < t->held_count; i++)
        buffer_add(t->buffer, &t->held[i]);
    t->held_count = 0;
}

void sim_activity_hand_over(struct sim_trace *a, struct sim_thread *t)
{
    struct sim_buffer *b = t->buffer;
    const struct sim_config *c = &t->machine->config;
    if (sim_hit(c->every[SIM_DISORDER], t->buffers_seen++)) {
        t->shuffled++;
        buffer_shuffle(b, &t->shuffle);
    }
    t->buffer = NULL;
    pthread_mutex_lock(&a->lock);
    b->owner = t;
    t->outstanding++;
    sim_buffers_push(&a->ready, b);
    pthread_mutex_unlock(&a->lock);
    a->sink->ops->wake(a->sink);
}

/* A thread that delivers its buffer itself loses some time, as with the vendor's library. */
static void hand_over_full(struct sim_trace *a, struct sim_thread *t)
{
    struct sim_record r = {
        .type = RECORD_overhead, .stream = -1, .start = t->now, .duration = FLUSH_COST};
    buffer_add(t->buffer, &r);
    t->now += FLUSH_COST;
    t->tally.overhead.count++;
    t->tally.overhead.ns += FLUSH_COST;
    sim_activity_hand_over(a, t);
}

/* Waits for the collector until no more than most buffers of t are on their way.
 * a->lock held. False: given up or stopped. */
static bool wait_for_collector(struct sim_trace *a, struct sim_thread *t, unsigned most)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += WAIT_LIMIT;
    while (a->running && t->outstanding > most)
        if (pthread_cond_timedwait(&a->moved, &a->lock, &deadline) == ETIMEDOUT)
            return false;
    return a->running;
}

static void wait_enter(struct sim_trace *a)
{
    pthread_mutex_lock(&a->lock);
    a->waiting++;
    pthread_mutex_unlock(&a->lock);
}

static void wait_leave(struct sim_trace *a)
{
    pthread_mutex_lock(&a->lock);
    a->waiting--;
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
}

/* Gets a buffer for t, which holds no lock and is counted in a->waiting. */
static struct sim_buffer *make_room(struct sim_trace *a, struct sim_thread *t)
{
    pthread_mutex_lock(&a->lock);
    if (t->machine->config.lossless)
        wait_for_collector(a, t, t->machine->config.ahead);
    struct sim_buffer *b = a->running ? buffer_get(a) : NULL;
    pthread_mutex_unlock(&a->lock);
    return b;
}

static void buffer_put_back(struct sim_trace *a, struct sim_buffer *b)
{
    pthread_mutex_lock(&a->lock);
    sim_buffers_push(&a->free, b);
    pthread_mutex_unlock(&a->lock);
}

struct sim_trace *sim_activity_begin(struct sim_thread *t, unsigned n)
{
    pthread_mutex_lock(&t->lock);
    for (;;) {
        struct sim_trace *a = atomic_load_explicit(&t->machine->trace, memory_order_acquire);
        if (!a)
            return NULL;
        struct sim_buffer *b = t->buffer;
        if (b && b->count + n <= a->capacity && b->events + n <= SIM_WINDOW) {
            b->events += n;
            return a;
        }
        if (b)
            hand_over_full(a, t);
        wait_enter(a); /* before unlocking, so that close waits for this thread */
        pthread_mutex_unlock(&t->lock);
        b = make_room(a, t);
        pthread_mutex_lock(&t->lock);
        bool same = atomic_load_explicit(&t->machine->trace, memory_order_acquire) == a;
        if (b && same) {
            t->buffer = b;
            sim_activity_release_held(t);
        } else if (b) {
            buffer_put_back(a, b);
        }
        wait_leave(a);
        if (same && !b)
            return a; /* the pool is exhausted: records are lost, and counted */
    }
}

void sim_activity_end(struct sim_thread *t)
{
    pthread_mutex_unlock(&t->lock);
}

void sim_activity_launch(struct sim_trace *a, const struct launch *l)
{
    struct sink *s = a->sink;
    if (l->kind == LAUNCH_OTHER && !s->ops->in_scope(s))
        return;
    if (l->correlation % SIM_COST_SAMPLE) {
        s->ops->launch(s, l);
        return;
    }
    int64_t before = sim_clock_system();
    s->ops->launch(s, l);
    atomic_fetch_add_explicit(&a->callback_ns, sim_clock_system() - before, memory_order_relaxed);
}

/* Counts a kernel record that will never be written. */
static void lose(struct sim_thread *t, const struct sim_record *r)
{
    struct sim_tally_kernel *k = &t->tally.kernels[r->kernel];
    k->lost++;
    k->lost_ns += r->duration;
}

static void drop(struct sim_thread *t, struct sim_trace *a, const struct sim_record *r)
{
    if (r->type == RECORD_kernel)
        lose(t, r);
    a->sink->ops->lost(a->sink, LOSS_DRIVER, 1);
}

/* Changes a kernel record by the script. False: the record does not come, or not now. */
static bool script(struct sim_thread *t, struct sim_trace *a, struct sim_record *r)
{
    const int64_t *every = t->machine->config.every;
    uint64_t n = t->kernels_seen++;
    uint64_t *injected = t->tally.errors;
    if (t->buffer->count == 0 && sim_hit(every[SIM_POOL], t->requests++)) {
        injected[SIM_POOL]++;
        a->sink->ops->lost(a->sink, LOSS_POOL, 1);
        drop(t, a, r);
        return false;
    }
    if (sim_hit(every[SIM_DROP], n)) {
        injected[SIM_DROP]++;
        drop(t, a, r);
        return false;
    }
    if (sim_hit(every[SIM_MISSING], n)) {
        injected[SIM_MISSING]++;
        lose(t, r);
        return false;
    }
    if (sim_hit(every[SIM_TIME], n)) {
        lose(t, r);
        r->fault = SIM_FAULT_TIME;
        if (injected[SIM_TIME]++ % 2)
            r->start = 0;
        else
            r->duration = -r->duration - 1;
    }
    if (sim_hit(every[SIM_LATE], n) && t->held_count < SIM_HELD_MAX) {
        injected[SIM_LATE]++;
        t->held[t->held_count++] = *r;
        return false;
    }
    return true;
}

void sim_activity_put(struct sim_thread *t, struct sim_trace *a, const struct sim_record *r)
{
    if (!(a->config.engines & ENGINE_TRACE))
        return; /* engine Sync wants calls only */
    if (!t->buffer) {
        a->sink->ops->lost(a->sink, LOSS_POOL, 1);
        drop(t, a, r);
        return;
    }
    if (!t->machine->scripted || r->type != RECORD_kernel) {
        buffer_add(t->buffer, r);
        return;
    }
    struct sim_record copy = *r;
    bool unknown = sim_hit(t->machine->config.every[SIM_UNKNOWN], t->kernels_seen);
    if (script(t, a, &copy))
        buffer_add(t->buffer, &copy);
    if (unknown) {
        t->tally.errors[SIM_UNKNOWN]++;
        copy.fault = SIM_FAULT_UNKNOWN;
        buffer_add(t->buffer, &copy);
    }
}

bool sim_activity_drain(struct sim_thread *t, bool wait)
{
    pthread_mutex_lock(&t->lock);
    struct sim_trace *a = atomic_load_explicit(&t->machine->trace, memory_order_acquire);
    if (!a) {
        pthread_mutex_unlock(&t->lock);
        return true;
    }
    if (t->buffer) {
        sim_activity_release_held(t);
        sim_activity_hand_over(a, t);
    }
    wait_enter(a);
    pthread_mutex_unlock(&t->lock);
    pthread_mutex_lock(&a->lock);
    bool drained = !wait || wait_for_collector(a, t, 0) || t->outstanding == 0;
    pthread_mutex_unlock(&a->lock);
    wait_leave(a);
    return drained;
}
