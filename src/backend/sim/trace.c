/* trace.c - has the tracing ops of the simulated GPU: the collector's and the owner's side of
 * activity.h. */
#include "backend/sim/trace.h"

#include "backend/sim/activity.h"
#include "backend/sim/generator.h"
#include "base/alloc.h"

#include <time.h>

#define FINISH_LIMIT 2000000000ll /* ns that stop waits for the devices to finish */

/* Each backend defines struct trace; in the files here it has another name. */
static struct sim_trace *trace_of(struct trace *t)
{
    return (struct sim_trace *)t;
}

static int refused(const struct sim_machine *m, struct err *e)
{
    if (m->config.every[SIM_BUSY])
        return err_set(e, GPUFL_E_BUSY,
                       "another tool holds the simulated profiling interface (scripted): end it, "
                       "or take 'busy' out of GPUFL_SIM");
    if (m->config.every[SIM_PERMISSION])
        return err_set(e, GPUFL_E_PERM,
                       "the simulated driver does not let this user trace (scripted): take "
                       "'permission' out of GPUFL_SIM");
    return 0;
}

static int locks_init(struct sim_trace *a)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int rc = pthread_mutex_init(&a->lock, NULL);
    if (!rc && (rc = pthread_cond_init(&a->moved, &attr)))
        pthread_mutex_destroy(&a->lock);
    pthread_condattr_destroy(&attr);
    return rc ? GPUFL_E_NOMEM : 0;
}

static int trace_open(struct trace **out, const struct trace_config *c, struct sink *sink,
                      struct err *e)
{
    struct sim_machine *m;
    int rc = sim_machine_get(&m, e);
    if (rc || (rc = refused(m, e)))
        return rc;
    struct sim_trace *a = mem_zalloc(sizeof *a);
    if (!a || sim_counters_init(&a->counters, c) || locks_init(a)) {
        if (a)
            sim_counters_fini(&a->counters);
        mem_free(a);
        return err_nomem(e);
    }
    a->sink = sink;
    a->machine = m;
    a->config = *c;
    a->profile.engines = c->engines & (ENGINE_PC_SAMPLING | ENGINE_SASS_METRICS);
    a->profile.faults = m->config.plants;
    a->drain.no_kernels = (c->engines & (ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING)) &&
                          c->pc_collect == PC_COLLECT_NONE;
    size_t slots = (size_t)c->buffer_bytes / sizeof(struct sim_record);
    a->capacity = slots < SIM_WINDOW ? (unsigned)slots : SIM_WINDOW;
    if (a->capacity < SIM_NODES_MAX + SIM_HELD_MAX)
        a->capacity = SIM_NODES_MAX + SIM_HELD_MAX;
    int64_t bytes = (int64_t)(a->capacity * sizeof(struct sim_record));
    a->most = c->pool_bytes < bytes ? 1 : (unsigned)(c->pool_bytes / bytes);
    pthread_mutex_lock(&m->lock);
    m->opened = a;
    pthread_mutex_unlock(&m->lock);
    *out = (struct trace *)a;
    return 0;
}

static int trace_start(struct trace *t, struct err *e)
{
    struct sim_trace *a = trace_of(t);
    if (a->machine->config.every[SIM_START])
        return err_set(e, GPUFL_E_VENDOR,
                       "the simulated profiling interface does not start (scripted): take 'start' "
                       "out of GPUFL_SIM");
    int rc = sim_generator_get(a->machine, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&a->lock);
    a->running = true;
    pthread_mutex_unlock(&a->lock);
    /* Partner: the loads in activity.c. */
    atomic_store_explicit(&a->machine->trace, a, memory_order_release);
    return 0;
}

static int trace_stop(struct trace *t)
{
    struct sim_trace *a = trace_of(t);
    struct sim_machine *m = a->machine;
    if (!atomic_load_explicit(&m->trace, memory_order_relaxed))
        return 0;
    sim_generator_put();
    sim_machine_finish(m, FINISH_LIMIT);
    atomic_store_explicit(&m->trace, NULL, memory_order_release);
    pthread_mutex_lock(&a->lock);
    a->running = false;
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
    /* A thread that still uses the old pointer holds its own lock. */
    pthread_mutex_lock(&m->lock);
    for (struct sim_thread *s = m->threads; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return 0;
}

static int trace_flush(struct trace *t, bool all)
{
    struct sim_trace *a = trace_of(t);
    struct sim_machine *m = a->machine;
    if (!all && !m->config.realtime)
        return 0; /* threads deliver by themselves, at the same places in every run */
    pthread_mutex_lock(&m->lock);
    for (struct sim_thread *s = m->threads; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        if (s->buffer) {
            if (all)
                sim_activity_release_held(s);
            sim_activity_hand_over(a, s);
        }
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return 0;
}

/* Returns true if the collector can get the buffer: like a driver, this keeps a buffer with work
 * that has not ended. a->lock held. */
static bool may_take(const struct sim_trace *a, const struct sim_buffer *b, int64_t now)
{
    return !a->running || !a->machine->config.realtime || b->complete <= now;
}

static void trace_take(struct trace *t)
{
    struct sim_trace *a = trace_of(t);
    struct sim_buffers kept = {NULL, NULL}, taken = {NULL, NULL};
    int64_t now = sim_clock_system();
    pthread_mutex_lock(&a->lock);
    for (struct sim_buffer *b; (b = sim_buffers_pop(&a->ready));)
        sim_buffers_push(may_take(a, b, now) ? &taken : &kept, b);
    a->ready = kept;
    a->taken = taken;
    pthread_mutex_unlock(&a->lock);
}

/* Returns true for a kernel whose record is complete. */
static bool is_profiled(const struct sim_record *r)
{
    return r->type == RECORD_kernel && r->fault != SIM_FAULT_UNKNOWN && r->start > 0 &&
           r->duration >= 0;
}

static void trace_drain(struct trace *t)
{
    struct sim_trace *a = trace_of(t);
    bool floor = atomic_load_explicit(&a->floor, memory_order_relaxed);
    pthread_mutex_lock(&a->lock);
    bool stopped = !a->running; /* no more records come: what was counted is complete */
    pthread_mutex_unlock(&a->lock);
    if (a->taken.head)
        sim_drain_devices(&a->drain, a->sink, (int)a->machine->config.devices);
    for (struct sim_buffer *b = a->taken.head; b; b = b->next) {
        sim_drain_records(&a->drain, a->sink, b->records, b->count, floor);
        for (unsigned i = 0; a->profile.engines && !floor && i < b->count; i++)
            if (is_profiled(&b->records[i]))
                sim_profile_kernel(&a->profile, &b->records[i]);
        for (unsigned i = 0; a->counters.engines && !floor && i < b->count; i++)
            if (is_profiled(&b->records[i]))
                sim_counters_kernel(&a->counters, &a->drain, a->sink, &b->records[i]);
    }
    sim_profile_drain(&a->profile, &a->drain, a->sink);
    if (a->counters.engines)
        sim_counters_drain(&a->counters, &a->drain, a->sink, stopped);
    atomic_store_explicit(&a->machine->samples, a->profile.samples, memory_order_relaxed);
    atomic_store_explicit(&a->machine->metric_rows, a->profile.rows, memory_order_relaxed);
    pthread_mutex_lock(&a->lock);
    for (struct sim_buffer *b; (b = sim_buffers_pop(&a->taken));) {
        if (b->owner)
            b->owner->outstanding--;
        sim_buffers_push(&a->free, b);
    }
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
}

static const char *trace_range(struct trace *t, uint64_t instance, enum range_moment moment,
                               uint32_t repeats, uint32_t name)
{
    struct sim_trace *a = trace_of(t);
    uint32_t next = atomic_load_explicit(&a->machine->correlation, memory_order_relaxed);
    (void)repeats;
    return sim_counters_scope(&a->counters, instance, moment, next, name);
}

static void trace_cost(struct trace *t, struct trace_cost *out)
{
    struct sim_trace *a = trace_of(t);
    out->callbacks_ns =
        atomic_load_explicit(&a->callback_ns, memory_order_relaxed) * SIM_COST_SAMPLE;
    out->launches_counted = true;
}

static int trace_floor(struct trace *t, bool on)
{
    atomic_store_explicit(&trace_of(t)->floor, on, memory_order_relaxed);
    return 0;
}

static void free_list(struct sim_buffers *l)
{
    for (struct sim_buffer *b; (b = sim_buffers_pop(l));)
        mem_free(b);
}

static void trace_close(struct trace *t)
{
    struct sim_trace *a = trace_of(t);
    if (!a)
        return;
    struct sim_machine *m = a->machine;
    trace_stop(t);
    pthread_mutex_lock(&m->lock);
    m->opened = NULL;
    for (struct sim_thread *s = m->threads; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        mem_free(s->buffer);
        s->buffer = NULL;
        s->held_count = 0;
        pthread_mutex_lock(&a->lock); /* threads that stop waiting for the collector read it */
        s->outstanding = 0;
        pthread_mutex_unlock(&a->lock);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&m->lock);
    pthread_mutex_lock(&a->lock);
    while (a->waiting)
        pthread_cond_wait(&a->moved, &a->lock);
    pthread_mutex_unlock(&a->lock);
    free_list(&a->free);
    free_list(&a->ready);
    free_list(&a->taken);
    pthread_cond_destroy(&a->moved);
    pthread_mutex_destroy(&a->lock);
    sim_counters_fini(&a->counters);
    mem_free(a);
}

void sim_trace_forget(struct sim_machine *m, struct sim_thread *t)
{
    struct sim_trace *a = m->opened;
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    struct sim_buffer *lists[] = {a->ready.head, a->taken.head};
    for (int i = 0; i < 2; i++)
        for (struct sim_buffer *b = lists[i]; b; b = b->next)
            if (b->owner == t)
                b->owner = NULL;
    if (t->buffer) { /* tracing stopped, its last flush is still to come */
        t->buffer->owner = NULL;
        sim_buffers_push(&a->ready, t->buffer);
        t->buffer = NULL;
    }
    pthread_mutex_unlock(&a->lock);
}

const struct trace_ops sim_trace_ops = {
    .engines = ENGINE_TRACE | ENGINE_SYNC | ENGINE_PC_SAMPLING | ENGINE_SASS_METRICS |
               ENGINE_PM_SAMPLING | ENGINE_RANGE_PROFILER,
    .range = trace_range,
    .open = trace_open,
    .start = trace_start,
    .stop = trace_stop,
    .flush = trace_flush,
    .take = trace_take,
    .drain = trace_drain,
    .cost = trace_cost,
    .floor = trace_floor,
    .close = trace_close,
};
