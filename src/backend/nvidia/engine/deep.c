/* deep.c - see deep.h. The phase tells which engine is working; the engines are switched while the
 * driver's gate is shut. */
#include "backend/nvidia/engine/deep.h"

#include "backend/common/setting.h"
#include "backend/nvidia/engine/driver_gate.h"
#include "backend/nvidia/engine/pc/sampling.h"
#include "backend/nvidia/engine/sass/metrics.h"
#include "backend/nvidia/record/call_table.h"
#include "base/clock.h"

#include <stdatomic.h>

static const char ENGINE[] = "Deep";

enum phase {
    PHASE_SAMPLING,
    PHASE_STUCK,     /* the library would not end sampling */
    PHASE_UNCOUNTED, /* the library would not count: sampling goes on, if it runs anywhere */
    PHASE_COUNTING,
    PHASE_YIELDED, /* the program began a profiler of its own while it was sampled */
};

enum { CONTEXTS = 64 };

static const int64_t RETRY = 2000000; /* ns, if another thread was inside the driver */

static struct {
    _Atomic int phase;
    _Atomic int64_t first,
        due;                 /* ns: of the first launch, and of the switch; 0: not yet. Relaxed */
    _Atomic uint64_t missed; /* how often it was time, but another thread was inside. Relaxed */
    int64_t sample;          /* ns; constant in a session */
    _Atomic int64_t sampled, took; /* ns; took is written last: release, acquire */
    _Atomic bool unsampled;        /* nothing could be sampled. Relaxed */
    bool said;                     /* the switch was reported [collector] */
    struct err refused;            /* why nothing is counted [collector] */
} me;

static int deep_open(struct trace *t, struct err *e)
{
    (void)e;
    if (!t->engines[NV_PC_SAMPLING].runs || !t->engines[NV_SASS_METRICS].runs)
        return GPUFL_E_UNAVAILABLE; /* the reason is reported; the other engine works alone */
    me.sample = t->config.deep_sample_ns;
    sass_metrics_defer();
    driver_gate_open();
    atomic_store(&me.first, 0);
    atomic_store(&me.due, INT64_MAX);
    atomic_store(&me.missed, 0);
    atomic_store(&me.took, 0);
    atomic_store(&me.unsampled, false);
    me.said = false;
    atomic_store(&me.phase, PHASE_SAMPLING);
    return 0;
}

/* Returns true if sampling has still to be ended. */
static bool to_be_switched(void)
{
    return atomic_load_explicit(&me.phase, memory_order_acquire) == PHASE_SAMPLING;
}

static void first_launch(void)
{
    int64_t none = 0, now = clock_mono();
    if (atomic_compare_exchange_strong(&me.first, &none, now))
        atomic_store_explicit(&me.due, now + me.sample, memory_order_relaxed);
}

static void deep_enter(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)c;
    if (!to_be_switched())
        return;
    bool outside = t->config.windows && !atomic_load_explicit(&t->window, memory_order_acquire);
    if (call_launches(id) && !outside && !atomic_load_explicit(&me.first, memory_order_relaxed))
        first_launch();
    driver_gate_enter();
}

/* Contexts in which counting is refused are sampled again, so that there is at least that. */
static enum phase count_instead(struct trace *t, const cuda_context *contexts, size_t count)
{
    if (sass_metrics_begin(t, contexts, count)) {
        pc_sampling_stop(t, true); /* nothing is sampled; new contexts must not be sampled either */
        return PHASE_COUNTING;
    }
    if (!pc_sampling_resume(t))
        nv_engines_record(t);
    return PHASE_UNCOUNTED;
}

/* Switches from one engine to the other, at the exit of a call. No other thread is inside the
 * driver. */
static void switch_engines(void *arg)
{
    struct trace *t = arg;
    cuda_context contexts[CONTEXTS];
    int64_t begin = clock_mono();
    enum phase next = PHASE_STUCK;
    size_t count = pc_sampling_contexts(contexts, CONTEXTS);
    if (pc_sampling_pause(t))
        next = count_instead(t, contexts, count);
    else
        pc_sampling_resume(t);
    atomic_store_explicit(&me.sampled, begin - atomic_load(&me.first), memory_order_relaxed);
    atomic_store_explicit(&me.took, clock_mono() - begin, memory_order_release);
    atomic_store(&me.phase, (int)next);
}

/* If sampling was refused in every context, every kernel is recorded. Then nothing is counted
 * either: counting switches CUPTI's kernel records off (ADR 11), which must not be done after an
 * attempt to sample (ADR 10). [any, not in a launch] */
static void look_unsampled(struct trace *t)
{
    if (!to_be_switched() || !pc_sampling_refused(t))
        return;
    pc_sampling_stop(t, true);
    nv_engines_record(t);
    atomic_store_explicit(&me.unsampled, true, memory_order_relaxed);
    atomic_store(&me.phase, PHASE_UNCOUNTED);
}

/* The engines are switched here. */
static void deep_left(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    if (!to_be_switched() || !driver_gate_leave() || !call_waited(id, c) ||
        atomic_load_explicit(&me.due, memory_order_relaxed) == INT64_MAX)
        return;
    int64_t now = clock_mono();
    if (now < atomic_load_explicit(&me.due, memory_order_relaxed) ||
        atomic_load_explicit(&t->captures, memory_order_relaxed) > 0)
        return;
    if (driver_gate_shut(switch_engines, t))
        return;
    atomic_fetch_add_explicit(&me.missed, 1, memory_order_relaxed);
    atomic_store_explicit(&me.due, now + RETRY, memory_order_relaxed);
}

/* After the switch the gate counts no calls: then sampling, if it goes on, cannot be ended. */
static const char *deep_yield(struct trace *t)
{
    (void)t;
    int sampling = PHASE_SAMPLING;
    return atomic_compare_exchange_strong(&me.phase, &sampling, PHASE_YIELDED)
               ? NULL
               : "sampling cannot be ended after deep_sample_ms";
}

/* ---- reports to the session ----------------------------------------------------------------- */

static const char *why_uncounted(struct trace *t)
{
    if (atomic_load_explicit(&me.unsampled, memory_order_relaxed))
        return "program counters could not be sampled, and Deep samples before it counts";
    me.refused = nv_engine_failure(t, NV_SASS_METRICS);
    return me.refused.text[0] ? me.refused.text : "CUPTI was busy at the end of sampling";
}

/* Returns why no instruction was counted in a session that has ended; "": some were. [collector] */
static const char *why_sampled_only(struct trace *t)
{
    switch (atomic_load(&me.phase)) {
    case PHASE_COUNTING:
        return "";
    case PHASE_STUCK:
        return "CUPTI did not end sampling, and counts nothing while it samples";
    case PHASE_UNCOUNTED:
        return why_uncounted(t);
    case PHASE_YIELDED:
        return "the program began a profiler of its own before the time of sampling was over";
    default:
        return atomic_load_explicit(&me.missed, memory_order_relaxed)
                   ? "each time a call that waits for the device returned, another thread was "
                     "inside the driver, so sampling could not be ended"
                   : "after the time of sampling (deep_sample_ms) no call that waits for the "
                     "device "
                     "returned";
    }
}

static void say_sampled_only(struct trace *t, bool refused)
{
    struct sink *s = t->sink;
    s->ops->message(
        s, SEVERITY_WARNING, "deep.sampled_only",
        "the program was sampled, and no instruction was counted: %s%s", why_sampled_only(t),
        refused ? ""
                : ". To count them, run the program again with engine SassMetrics (gpufl trace -e "
                  "SassMetrics -- …)");
}

static void say_phases(struct sink *s, int64_t switching)
{
    setting_number(s, ENGINE, 0, "sampled_ms",
                   atomic_load_explicit(&me.sampled, memory_order_relaxed) / 1000000);
    setting_number(s, ENGINE, 0, "switch_us", switching / 1000);
    s->ops->message(
        s, SEVERITY_NOTE, "deep.phases",
        "the driver cannot sample and count at the same time: program counters were sampled for "
        "%.1f s after the first launch, and instructions are counted since then",
        (double)atomic_load_explicit(&me.sampled, memory_order_relaxed) * 1e-9);
}

static void deep_drain(struct trace *t)
{
    struct sink *s = t->sink;
    int64_t switching = atomic_load_explicit(&me.took, memory_order_acquire);
    enum phase now = (enum phase)atomic_load(&me.phase); /* read first: it is written last */
    bool none = atomic_load_explicit(&me.unsampled, memory_order_relaxed);
    if (me.said || (!switching && !none && !t->stopped))
        return;
    me.said = true;
    if (none)
        s->ops->message(s, SEVERITY_NOTE, "deep.recorded",
                        "program counters could not be sampled, so every kernel is recorded. To "
                        "count instructions, run the program again with engine SassMetrics (gpufl "
                        "trace -e SassMetrics -- …)");
    else if (now == PHASE_COUNTING)
        say_phases(s, switching);
    else
        say_sampled_only(t, now == PHASE_UNCOUNTED);
}

static const char *deep_failure(struct trace *t)
{
    return t->stopped ? why_sampled_only(t) : "";
}

static void deep_context(struct trace *t, cuda_context context)
{
    (void)context;
    look_unsampled(t);
}

const struct nv_engine_ops deep_engine = {
    .asks = ENGINE_PC_SAMPLING | ENGINE_SASS_METRICS,
    .brings = ENGINE_SASS_METRICS,
    .open = deep_open,
    .start = look_unsampled,
    .context = deep_context,
    .enter = deep_enter,
    .left = deep_left,
    .yield = deep_yield,
    .drain = deep_drain,
    .failure = deep_failure,
};
