/* alternate.c - see pc/alternate.h. */
#include "backend/nvidia/engine/pc/alternate.h"

#include "backend/common/setting.h"
#include "backend/nvidia/engine/driver_gate.h"
#include "backend/nvidia/engine/pc/sampling.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/record/call_table.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

static const char ENGINE[] = "PcSampling";

enum {
    EDGES = 64, /* beginnings and ends of windows between two drains */
    CAPTURE_TURNS = 2,
};

static const int64_t RETRY = 1000000; /* ns, if another thread was inside the driver */

static struct {
    _Atomic int64_t due;     /* ns; 0: no call has waited yet. INT64_MAX: never. Relaxed */
    _Atomic uint64_t missed; /* how often it was time, but another thread was inside. Relaxed */

    pthread_mutex_t lock;  /* guards the rest; calls of the program never wait for it */
    int64_t every, length; /* ns */
    bool stopped, recording;
    const char *stuck; /* why it no longer switches; NULL: it does */
    bool stuck_said;
    uint64_t windows;
    int64_t switching; /* ns that the program's threads spent on it */
    struct edge {
        int64_t time;
        bool opens;
    } edges[EDGES];
    size_t edge_count;
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns true if kernel records are on since an earlier session and cannot be switched off: then
 * nothing alternates, and every kernel is recorded. */
static bool kernels_stay(struct trace *t)
{
    bool stay = (atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1) && pc_sampling_binds();
    if (stay)
        t->sink->ops->message(t->sink, SEVERITY_NOTE, "pc_sampling.turns",
                              "kernel records are on since an earlier session of the process and "
                              "cannot be switched off, so that every kernel is recorded");
    return stay;
}

static int pc_alternate_open(struct trace *t, struct err *e)
{
    (void)e;
    if (!t->engines[NV_PC_SAMPLING].runs || t->config.pc_collect != PC_COLLECT_WINDOWS ||
        kernels_stay(t))
        return GPUFL_E_UNAVAILABLE; /* not asked for, or the reason is reported */
    t->config.windows = true;       /* launches are counted inside windows */
    pthread_mutex_lock(&me.lock);
    me.every = t->config.pc_window_every_ns;
    me.length = t->config.pc_window_for_ns;
    me.stopped = me.recording = me.stuck_said = false;
    me.stuck = NULL;
    me.windows = 0;
    me.switching = 0;
    me.edge_count = 0;
    atomic_store_explicit(&me.missed, 0, memory_order_relaxed);
    atomic_store_explicit(&me.due, 0, memory_order_relaxed);
    driver_gate_open();
    pthread_mutex_unlock(&me.lock);
    return 0;
}

/* ---- with the lock, and no thread in the driver -------------------------------------------- */

static void edge(bool opens)
{
    if (me.edge_count < EDGES)
        me.edges[me.edge_count++] = (struct edge){clock_mono(), opens};
}

static void window_ends(struct trace *t)
{
    atomic_store(&t->window, 0);
    edge(false);
    atomic_store(&t->recording, false);
    activity_kinds_disable(t);
    me.recording = false;
}

static bool window_begins(struct trace *t)
{
    atomic_store(&t->recording, true);
    bool on = activity_kinds_enable(t) == CUPTI_OK;
    atomic_store_explicit(&t->announce, true, memory_order_release);
    me.recording = true;
    edge(true);
    if (on)
        atomic_store(&t->window, atomic_fetch_add(&t->last_window, 1) + 1);
    else
        window_ends(t);
    return on;
}

static int64_t stay(const char *why)
{
    me.stuck = why;
    return INT64_MAX;
}

/* Nothing can be sampled: sampling is not tried in new contexts either. */
static int64_t record_all(struct trace *t)
{
    pc_sampling_stop(t, true);
    if (!window_begins(t))
        return stay("CUPTI did not begin kernel records, and no program counters are sampled");
    me.windows++;
    return stay("no program counters are sampled, so that every kernel is recorded");
}

/* Switches to kernel records. Returns when to switch again. */
static int64_t to_records(struct trace *t)
{
    if (pc_sampling_refused(t))
        return record_all(t);
    if (pc_sampling_failed()) /* activity_kinds_disable would leave them on */
        return stay("sampling could not begin in some context, and kernel records must not be "
                    "disabled after that: the program is only sampled");
    if (!pc_sampling_pause(t))
        return stay("CUPTI did not end sampling, so that no more kernels are recorded");
    if (!window_begins(t)) {
        pc_sampling_resume(t);
        return stay("CUPTI did not begin kernel records, so that the program is sampled only");
    }
    me.windows++;
    return clock_mono() + me.length;
}

static int64_t to_samples(struct trace *t)
{
    window_ends(t);
    if (pc_sampling_resume(t))
        return clock_mono() + me.every;
    window_begins(t);
    return stay(
        "no program counters are sampled any more, so that every kernel is recorded from here on");
}

/* If sampling was refused in every context, every kernel is recorded. [any, not in a launch] */
static void look_unsampled(struct trace *t)
{
    if (!pc_sampling_refused(t))
        return;
    atomic_store_explicit(&me.due, 1,
                          memory_order_relaxed); /* at the next call that waits, else here */
    if (pthread_mutex_trylock(&me.lock))
        return;
    if (!me.stopped && !me.stuck && !me.recording)
        atomic_store_explicit(&me.due, record_all(t), memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
}

static void take_turns(void *arg)
{
    struct trace *t = arg;
    int64_t begin = clock_mono(), next = INT64_MAX;
    if (pthread_mutex_trylock(&me.lock))
        return; /* the collector has the lock: the next call tries again */
    if (!me.stopped && !me.stuck)
        next = me.recording ? to_samples(t) : to_records(t);
    atomic_store_explicit(&me.due, next, memory_order_relaxed);
    me.switching += clock_mono() - begin;
    pthread_mutex_unlock(&me.lock);
}

/* ---- the program's calls --------------------------------------------------------------------- */

static void pc_alternate_enter(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)t, (void)id, (void)c;
    driver_gate_enter();
}

/* Switches if it is time. */
static void pc_alternate_left(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (!driver_gate_leave() || !call_waited(id, c))
        return;
    int64_t now = clock_mono(), at = atomic_load_explicit(&me.due, memory_order_relaxed);
    if (!at)
        atomic_compare_exchange_strong(&me.due, &at, now + me.every);
    if (!at || now < at || atomic_load_explicit(&t->captures, memory_order_relaxed) > 0)
        return;
    if (driver_gate_shut(take_turns, t))
        return;
    atomic_fetch_add_explicit(&me.missed, 1, memory_order_relaxed);
    atomic_compare_exchange_strong(&me.due, &at, now + RETRY);
}

/* ---- reports to the session ------------------------------------------------------------------ */

static void pc_alternate_stop(struct trace *t, bool quiet)
{
    (void)quiet;
    pthread_mutex_lock(&me.lock);
    me.stopped = true;
    if (me.recording) {
        atomic_store(&t->window, 0);
        edge(false); /* kinds of records are disabled as in every session */
    }
    me.recording = false;
    pthread_mutex_unlock(&me.lock);
}

/* From here on no thread switches any more. */
static const char *pc_alternate_yield(struct trace *t)
{
    pc_alternate_stop(t, true);
    return NULL;
}

static void conclude(struct sink *s)
{
    setting_number(s, ENGINE, 0, "kernel_windows", (int64_t)me.windows);
    setting_number(s, ENGINE, 0, "kernel_windows_switch_us", me.switching / 1000);
    if (me.windows || me.stuck)
        return;
    s->ops->message(
        s, SEVERITY_NOTE, "pc_sampling.no_window", "no kernels were recorded: %s",
        atomic_load_explicit(&me.missed, memory_order_relaxed)
            ? "each time a window of kernel records was due, another thread was inside the driver"
            : "no call that waits for the device returned after pc_window_every_ms");
}

static void pc_alternate_drain(struct trace *t)
{
    struct sink *s = t->sink;
    pthread_mutex_lock(&me.lock);
    for (size_t i = 0; i < me.edge_count; i++) {
        struct window_row row = {.time = me.edges[i].time,
                                 .name = s->ops->name(s, "pc_kernel_collect"),
                                 .phase = !me.edges[i].opens,
                                 .capture = CAPTURE_TURNS};
        s->ops->row(s, RECORD_window, &row);
    }
    me.edge_count = 0;
    if (me.stuck && !me.stuck_said) {
        me.stuck_said = true;
        s->ops->message(s, SEVERITY_WARNING, "pc_sampling.turns", "%s", me.stuck);
    }
    if (t->stopped)
        conclude(s);
    pthread_mutex_unlock(&me.lock);
}

static void pc_alternate_context(struct trace *t, cuda_context context)
{
    (void)context;
    look_unsampled(t);
}

const struct nv_engine_ops pc_alternate_engine = {
    .asks = ENGINE_PC_SAMPLING,
    .open = pc_alternate_open,
    .start = look_unsampled,
    .stop = pc_alternate_stop,
    .yield = pc_alternate_yield,
    .context = pc_alternate_context,
    .enter = pc_alternate_enter,
    .left = pc_alternate_left,
    .drain = pc_alternate_drain,
};
