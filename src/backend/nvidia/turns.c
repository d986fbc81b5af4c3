/* turns.c - see turns.h. */
#include "backend/nvidia/turns.h"

#include "backend/nvidia/driver_gate.h"
#include "backend/nvidia/kinds.h"
#include "backend/nvidia/pc_sampling.h"
#include "backend/nvidia/setting.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

static const char ENGINE[] = "PcSampling";

enum {
    EDGES = 64, /* of windows, between two drains */
    CAPTURE_TURNS = 2,
};

static const int64_t RETRY = 1000000; /* ns, where another thread was inside */

static _Atomic int64_t due;     /* ns; 0: no call has waited yet. INT64_MAX: never. Relaxed */
static _Atomic uint64_t missed; /* that it was time, and another thread was inside. Relaxed */

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the rest; never waited for in a call */
static int64_t every, length;  /* ns */
static bool stopped, recording;
static const char *stuck; /* why it goes no further; NULL: it does */
static bool stuck_said;
static uint64_t windows;
static int64_t switching; /* ns that the program's threads spent on it */
static struct edge {
    int64_t time;
    bool opens;
} edges[EDGES];
static size_t edge_count;

void turns_open(int64_t every_ns, int64_t length_ns)
{
    pthread_mutex_lock(&lock);
    every = every_ns;
    length = length_ns;
    stopped = recording = stuck_said = false;
    stuck = NULL;
    windows = 0;
    switching = 0;
    edge_count = 0;
    atomic_store_explicit(&missed, 0, memory_order_relaxed);
    atomic_store_explicit(&due, 0, memory_order_relaxed);
    driver_gate_open();
    pthread_mutex_unlock(&lock);
}

/* ---- with the lock, and nobody in the driver ----------------------------------------------- */

static void edge(bool opens)
{
    if (edge_count < EDGES)
        edges[edge_count++] = (struct edge){clock_mono(), opens};
}

static void window_ends(struct trace *t)
{
    atomic_store(&t->window, 0);
    edge(false);
    atomic_store(&t->recording, false);
    kinds_disable(t);
    recording = false;
}

static bool window_begins(struct trace *t)
{
    atomic_store(&t->recording, true);
    bool on = kinds_enable(t) == CUPTI_OK;
    atomic_store_explicit(&t->announce, true, memory_order_release);
    recording = true;
    edge(true);
    if (on)
        atomic_store(&t->window, atomic_fetch_add(&t->last_window, 1) + 1);
    else
        window_ends(t);
    return on;
}

static int64_t stay(const char *why)
{
    stuck = why;
    return INT64_MAX;
}

/* Nothing can be sampled: nor is it tried in contexts that come. */
static int64_t record_all(struct trace *t)
{
    pc_sampling_stop(t, true);
    if (!window_begins(t))
        return stay("CUPTI did not begin kernel records, and no program counters are sampled");
    windows++;
    return stay("no program counters are sampled, so that every kernel is recorded");
}

/* When to switch again. */
static int64_t to_records(struct trace *t)
{
    if (pc_sampling_refused())
        return record_all(t);
    if (pc_sampling_failed()) /* kinds_disable would leave them on */
        return stay("sampling could not begin in some context, after which CUPTI must not be told "
                    "to give up kernel records: the program is sampled only");
    if (!pc_sampling_pause(t))
        return stay("CUPTI did not end sampling, so that no more kernels are recorded");
    if (!window_begins(t)) {
        pc_sampling_resume(t);
        return stay("CUPTI did not begin kernel records, so that the program is sampled only");
    }
    windows++;
    return clock_mono() + length;
}

static int64_t to_samples(struct trace *t)
{
    window_ends(t);
    if (pc_sampling_resume(t))
        return clock_mono() + every;
    window_begins(t);
    return stay(
        "no program counters are sampled any more, so that every kernel is recorded from here on");
}

void turns_unsampled(struct trace *t)
{
    atomic_store_explicit(&due, 1,
                          memory_order_relaxed); /* at the next call that waits, else here */
    if (pthread_mutex_trylock(&lock))
        return;
    if (!stopped && !stuck && !recording)
        atomic_store_explicit(&due, record_all(t), memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void take_turns(void *arg)
{
    struct trace *t = arg;
    int64_t begin = clock_mono(), next = INT64_MAX;
    if (pthread_mutex_trylock(&lock))
        return; /* the collector is at it: the next call tries again */
    if (!stopped && !stuck)
        next = recording ? to_samples(t) : to_records(t);
    atomic_store_explicit(&due, next, memory_order_relaxed);
    switching += clock_mono() - begin;
    pthread_mutex_unlock(&lock);
}

/* ---- the program's calls --------------------------------------------------------------------- */

void turns_enter(void)
{
    driver_gate_enter();
}

void turns_leave(struct trace *t, bool waited)
{
    if (!driver_gate_leave() || !waited)
        return;
    int64_t now = clock_mono(), at = atomic_load_explicit(&due, memory_order_relaxed);
    if (!at)
        atomic_compare_exchange_strong(&due, &at, now + every);
    if (!at || now < at || atomic_load_explicit(&t->captures, memory_order_relaxed) > 0)
        return;
    if (driver_gate_shut(take_turns, t))
        return;
    atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
    atomic_compare_exchange_strong(&due, &at, now + RETRY);
}

/* ---- what the session is told ---------------------------------------------------------------- */

void turns_stop(struct trace *t)
{
    pthread_mutex_lock(&lock);
    stopped = true;
    if (recording) {
        atomic_store(&t->window, 0);
        edge(false); /* the kinds go with those of every session */
    }
    recording = false;
    pthread_mutex_unlock(&lock);
}

static void conclude(struct sink *s)
{
    setting_number(s, ENGINE, 0, "kernel_windows", (int64_t)windows);
    setting_number(s, ENGINE, 0, "kernel_windows_switch_us", switching / 1000);
    if (windows || stuck)
        return;
    s->ops->message(s, SEVERITY_NOTE, "pc_sampling.no_window", "no kernels are recorded: %s",
                    atomic_load_explicit(&missed, memory_order_relaxed)
                        ? "whenever it was time, another thread was inside the driver"
                        : "no call that waits for the device returned after pc_window_every_ms");
}

void turns_drain(struct trace *t, bool last)
{
    struct sink *s = t->sink;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < edge_count; i++) {
        struct window_row row = {.time = edges[i].time,
                                 .name = s->ops->name(s, "pc_kernel_collect"),
                                 .phase = !edges[i].opens,
                                 .capture = CAPTURE_TURNS};
        s->ops->row(s, RECORD_window, &row);
    }
    edge_count = 0;
    if (stuck && !stuck_said) {
        stuck_said = true;
        s->ops->message(s, SEVERITY_WARNING, "pc_sampling.turns", "%s", stuck);
    }
    if (last)
        conclude(s);
    pthread_mutex_unlock(&lock);
}
