/* machine.c - runs the simulated machine's life, its clock and its host threads. */
#include "backend/sim/machine.h"

#include "backend/sim/activity.h"
#include "backend/sim/generator.h"
#include "backend/sim/trace.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EPOCH_2025 1735689600000000000ll /* virtual sessions start on 2025-01-01 UTC */
#define AHEAD_MAX  1000000ll             /* ns a thread may be ahead of the real clock */

static struct sim_machine *machine; /* guarded by machine_lock */
static bool watching;               /* for forks; guarded by machine_lock */
static pthread_mutex_t machine_lock = PTHREAD_MUTEX_INITIALIZER;

/* This is the calling thread's sim_thread: its time is what clock_mono answers there. */
static _Thread_local struct sim_thread *self;

/* This is set while clock.h uses the machine's clock; written by the owner only. */
static struct sim_machine *clock_machine;

/* ---- clock ---------------------------------------------------------------------------- */

int64_t sim_clock_system(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t sim_machine_now(const struct sim_machine *m)
{
    return m->config.realtime ? sim_clock_system()
                              : atomic_load_explicit(&m->now, memory_order_relaxed);
}

static int64_t clock_source(void)
{
    return self ? self->now : sim_machine_now(clock_machine);
}

static void sleep_until(int64_t time)
{
    struct timespec ts = {time / 1000000000, time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
        ;
}

/* On the real clock a thread neither lags nor is far ahead. */
static void keep_pace(struct sim_thread *t)
{
    if (t->machine->config.realtime) {
        int64_t real = sim_clock_system();
        if (t->now > real + AHEAD_MAX)
            sleep_until(t->now);
        else if (t->now < real)
            t->now = real;
    }
    sim_machine_publish(t->machine, t->now);
}

void sim_host(struct sim_thread *t, int64_t ns)
{
    t->now += ns;
    keep_pace(t);
}

void sim_until(struct sim_thread *t, int64_t time)
{
    if (t->now < time)
        t->now = time;
    keep_pace(t);
}

int64_t sim_now(const struct sim_thread *t)
{
    return t->now;
}

/* ---- machine -------------------------------------------------------------------------- */

static void machine_free(struct sim_machine *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < m->graph_count; i++)
        mem_free(m->graphs[i].nodes);
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        pthread_mutex_destroy(&m->devices[i].lock);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

static struct sim_machine *machine_make(const struct sim_config *c)
{
    struct sim_machine *m = mem_zalloc(sizeof *m);
    if (!m)
        return NULL;
    m->config = *c;
    for (int i = SIM_DROP; i <= SIM_POOL; i++)
        m->scripted |= c->every[i] != 0;
    pthread_mutex_init(&m->lock, NULL);
    for (int i = 0; i < SIM_DEVICES_MAX; i++) {
        pthread_mutex_init(&m->devices[i].lock, NULL);
        m->devices[i].next_address = 0x7f0000000000ull + ((uint64_t)i << 41);
    }
    atomic_store(&m->now, c->realtime ? sim_clock_system() : SIM_EPOCH);
    atomic_store(&m->correlation, (uint32_t)c->correlation);
    sim_tally_init(&m->closed);
    return m;
}

int sim_open(const struct sim_config *c, struct err *e)
{
    pthread_mutex_lock(&machine_lock);
    bool there = machine != NULL;
    struct sim_machine *m = there ? NULL : machine_make(c);
    if (m) {
        m->driven = true;
        machine = clock_machine = m;
    }
    pthread_mutex_unlock(&machine_lock);
    if (there)
        return err_set(e, GPUFL_E_STATE, "there is a simulated machine in this process already");
    if (!m)
        return err_nomem(e);
    struct clock_pair pair = clock_pair_read();
    clock_set_source(clock_source,
                     c->realtime ? pair.real - pair.monotonic : EPOCH_2025 - SIM_EPOCH);
    return 0;
}

void sim_close(void)
{
    clock_set_source(NULL, 0);
    pthread_mutex_lock(&machine_lock);
    machine_free(machine);
    machine = clock_machine = NULL;
    pthread_mutex_unlock(&machine_lock);
}

/* In a forked child the machine belongs to the parent: its locks and threads may be in any state,
 * so it is not touched. A session of the child makes a new machine. */
static void forget(void)
{
    pthread_mutex_init(&machine_lock, NULL);
    machine = NULL;
    self = NULL;
    sim_generator_forget();
}

struct sim_machine *sim_machine_peek(void)
{
    pthread_mutex_lock(&machine_lock);
    struct sim_machine *m = machine;
    pthread_mutex_unlock(&machine_lock);
    return m;
}

int sim_machine_get(struct sim_machine **out, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&machine_lock);
    if (!watching)
        watching = pthread_atfork(NULL, NULL, forget) == 0;
    if (!machine) {
        struct sim_config c;
        sim_config_init(&c);
        c.realtime = true; /* the program uses the real clock */
        c.lossless = false;
        const char *text = getenv("GPUFL_SIM");
        rc = sim_config_parse(&c, text ? text : "", e);
        if (!rc && !(machine = machine_make(&c)))
            rc = err_nomem(e);
    }
    *out = machine;
    pthread_mutex_unlock(&machine_lock);
    return rc;
}

static int64_t last_end(struct sim_machine *m)
{
    int64_t end = 0;
    for (int i = 0; i < m->config.devices; i++) {
        struct sim_device *d = &m->devices[i];
        pthread_mutex_lock(&d->lock);
        for (int s = 0; s < SIM_STREAMS_MAX; s++)
            if (d->stream_end[s] > end)
                end = d->stream_end[s];
        pthread_mutex_unlock(&d->lock);
    }
    return end;
}

void sim_machine_finish(struct sim_machine *m, int64_t limit)
{
    int64_t end = last_end(m);
    if (m->config.realtime) {
        int64_t latest = sim_clock_system() + limit;
        sleep_until(end < latest ? end : latest);
    }
    sim_machine_publish(m, end);
}

/* ---- host threads --------------------------------------------------------------------- */

int sim_thread_open(struct sim_thread **out, uint64_t seed)
{
    *out = NULL;
    struct sim_machine *m;
    int rc = sim_machine_get(&m, NULL);
    if (rc)
        return rc;
    struct sim_thread *t = mem_zalloc(sizeof *t);
    struct sim_record *held = mem_array(SIM_HELD_MAX, sizeof *held);
    if (!t || !held) {
        mem_free(t);
        mem_free(held);
        return GPUFL_E_NOMEM;
    }
    t->machine = m;
    t->held = held;
    t->now = sim_machine_now(m);
    t->random =
        (uint64_t)m->config.seed * 0x9e3779b97f4a7c15ull ^ (seed + 1) * 0xd1342543de82ef95ull;
    t->shuffle = ~t->random;
    t->stretch = t->stretch_others = SIM_STRETCH_ONE;
    pthread_mutex_init(&t->lock, NULL);
    sim_tally_init(&t->tally);
    pthread_mutex_lock(&m->lock);
    t->next = m->threads;
    m->threads = t;
    m->thread_count++;
    pthread_mutex_unlock(&m->lock);
    self = t;
    *out = t;
    return 0;
}

bool sim_thread_drain(struct sim_thread *t)
{
    return sim_activity_drain(t, true);
}

void sim_thread_meet(struct sim_thread *t)
{
    if (!t->machine->config.lossless)
        return;
    sim_pace(t, 0); /* an empty buffer */
    sim_activity_drain(t, true);
}

void sim_thread_close(struct sim_thread *t)
{
    if (!t)
        return;
    struct sim_machine *m = t->machine;
    sim_activity_drain(t, m->config.lossless);
    pthread_mutex_lock(&m->lock);
    pthread_mutex_lock(&t->lock);
    sim_trace_forget(m, t);
    pthread_mutex_unlock(&t->lock);
    struct sim_thread **at = &m->threads;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    m->thread_count--;
    t->tally.errors[SIM_DISORDER] = t->shuffled;
    sim_tally_merge(&m->closed, &t->tally);
    pthread_mutex_unlock(&m->lock);
    self = NULL;
    pthread_mutex_destroy(&t->lock);
    mem_free(t->held);
    mem_free(t);
}

void sim_pace(struct sim_thread *t, unsigned n)
{
    sim_activity_begin(t, n);
    sim_activity_end(t);
}

uint64_t sim_random(struct sim_thread *t)
{
    return sim_mix(&t->random);
}

void sim_stretch(struct sim_thread *t, int64_t kernels, int64_t others)
{
    t->stretch = kernels;
    t->stretch_others = others;
}

void sim_external(struct sim_thread *t, uint32_t kind, uint64_t id)
{
    t->external_kind = kind;
    t->external_id = id;
}

struct sim_tally *sim_thread_tally(struct sim_thread *t)
{
    return &t->tally;
}

void sim_tally_read(struct sim_tally *out)
{
    sim_tally_init(out);
    struct sim_machine *m = sim_machine_peek();
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    sim_tally_merge(out, &m->closed);
    for (struct sim_thread *t = m->threads; t; t = t->next) {
        sim_tally_merge(out, &t->tally);
        out->errors[SIM_DISORDER] += t->shuffled;
    }
    out->samples = atomic_load_explicit(&m->samples, memory_order_relaxed);
    out->metric_rows = atomic_load_explicit(&m->metric_rows, memory_order_relaxed);
    pthread_mutex_unlock(&m->lock);
}
