/* deep.c - see deep.h. Which engine is at work is the phase; they are switched at the driver's gate. */
#include "backend/nvidia/deep.h"

#include "backend/nvidia/driver_gate.h"
#include "backend/nvidia/pc_sampling.h"
#include "backend/nvidia/profilers.h"
#include "backend/nvidia/sass_metrics.h"
#include "backend/nvidia/setting.h"
#include "base/clock.h"

#include <stdatomic.h>

static const char ENGINE[] = "Deep";

enum phase {
    PHASE_SAMPLING,
    PHASE_STUCK,     /* the library would not end sampling */
    PHASE_UNCOUNTED, /* the library would not count: sampling goes on, where there is any */
    PHASE_COUNTING,
};

enum { CONTEXTS = 64 };

static const int64_t RETRY = 2000000; /* ns, where another thread was inside */

static _Atomic int phase;
static _Atomic int64_t first,
    due; /* ns: of the first launch, and of the switch; 0: not yet. Relaxed */
static _Atomic uint64_t missed;       /* that it was time, and another thread was inside. Relaxed */
static int64_t sample;                /* ns; constant in a session */
static _Atomic int64_t sampled, took; /* ns; took is written last: release, acquire */
static _Atomic bool unsampled;        /* none of it was to be had. Relaxed */
static bool said;                     /* collector's */

void deep_open(int64_t sample_ns)
{
    sample = sample_ns;
    driver_gate_open();
    atomic_store(&first, 0);
    atomic_store(&due, INT64_MAX);
    atomic_store(&missed, 0);
    atomic_store(&took, 0);
    atomic_store(&unsampled, false);
    said = false;
    atomic_store(&phase, PHASE_SAMPLING);
}

bool deep_sampling(void)
{
    return atomic_load_explicit(&phase, memory_order_acquire) < PHASE_COUNTING;
}

/* Sampling is to be ended yet. */
static bool to_be_switched(void)
{
    return atomic_load_explicit(&phase, memory_order_acquire) == PHASE_SAMPLING;
}

static void first_launch(void)
{
    int64_t none = 0, now = clock_mono();
    if (atomic_compare_exchange_strong(&first, &none, now))
        atomic_store_explicit(&due, now + sample, memory_order_relaxed);
}

void deep_enter(bool launch)
{
    if (!to_be_switched())
        return;
    if (launch && !atomic_load_explicit(&first, memory_order_relaxed))
        first_launch();
    driver_gate_enter();
}

/* What is refused is sampled again: half of what was asked for is more than nothing. */
static enum phase count_instead(struct trace *t, const cuda_context *contexts, size_t count)
{
    if (profilers_count(t, contexts, count)) {
        pc_sampling_stop(t, true); /* nothing is sampled, and no context that comes shall be */
        return PHASE_COUNTING;
    }
    if (!pc_sampling_resume(t))
        profilers_record(t);
    return PHASE_UNCOUNTED;
}

/* From one engine to the other. Nobody is inside the driver but this thread, at the exit of a call. */
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
    atomic_store_explicit(&sampled, begin - atomic_load(&first), memory_order_relaxed);
    atomic_store_explicit(&took, clock_mono() - begin, memory_order_release);
    atomic_store(&phase, (int)next);
}

/* Not counted: CUPTI must not be told to give up kernel records once sampling was tried (ADR 10), which
 * counting does (ADR 11). */
void deep_unsampled(struct trace *t)
{
    if (!to_be_switched())
        return;
    pc_sampling_stop(t, true);
    profilers_record(t);
    atomic_store_explicit(&unsampled, true, memory_order_relaxed);
    atomic_store(&phase, PHASE_UNCOUNTED);
}

void deep_leave(struct trace *t, bool waited)
{
    if (!to_be_switched() || !driver_gate_leave() || !waited ||
        atomic_load_explicit(&due, memory_order_relaxed) == INT64_MAX)
        return;
    int64_t now = clock_mono();
    if (now < atomic_load_explicit(&due, memory_order_relaxed) ||
        atomic_load_explicit(&t->captures, memory_order_relaxed) > 0)
        return;
    if (driver_gate_shut(switch_engines, t))
        return;
    atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
    atomic_store_explicit(&due, now + RETRY, memory_order_relaxed);
}

/* ---- what the session is told --------------------------------------------------------------- */

static const char *why_uncounted(void)
{
    const char *refused = sass_metrics_failure();
    if (atomic_load_explicit(&unsampled, memory_order_relaxed))
        return "no program counters are sampled, and what samples is tried first";
    return *refused ? refused : "CUPTI was busy when the time of sampling was over";
}

const char *deep_failure(void)
{
    switch (atomic_load(&phase)) {
    case PHASE_COUNTING:
        return "";
    case PHASE_STUCK:
        return "CUPTI did not end sampling, and counts nothing beside it";
    case PHASE_UNCOUNTED:
        return why_uncounted();
    default:
        return atomic_load_explicit(&missed, memory_order_relaxed)
                   ? "whenever a call that waits for the device returned, another thread was "
                     "inside "
                     "the driver, so that sampling could not be ended"
                   : "after the time of sampling (deep_sample_ms) no call that waits for the "
                     "device "
                     "returned";
    }
}

static void say_sampled_only(struct sink *s, bool refused)
{
    s->ops->message(s, SEVERITY_WARNING, "deep.sampled_only",
                    "the program was sampled, and no instruction was counted: %s%s", deep_failure(),
                    refused ? ""
                            : ". Run it once more with engine SassMetrics (gpufl trace -e "
                              "SassMetrics -- …)");
}

static void say_phases(struct sink *s, int64_t switching)
{
    setting_number(s, ENGINE, 0, "sampled_ms",
                   atomic_load_explicit(&sampled, memory_order_relaxed) / 1000000);
    setting_number(s, ENGINE, 0, "switch_us", switching / 1000);
    s->ops->message(
        s, SEVERITY_NOTE, "deep.phases",
        "the driver does not let both live: program counters were sampled for the first "
        "%.1f s from the first launch, and instructions are counted from then on",
        (double)atomic_load_explicit(&sampled, memory_order_relaxed) * 1e-9);
}

void deep_drain(struct trace *t, bool last)
{
    struct sink *s = t->sink;
    int64_t switching = atomic_load_explicit(&took, memory_order_acquire);
    enum phase now = (enum phase)atomic_load(&phase); /* read first: it is written last */
    bool none = atomic_load_explicit(&unsampled, memory_order_relaxed);
    if (said || (!switching && !none && !last))
        return;
    said = true;
    if (none)
        s->ops->message(s, SEVERITY_NOTE, "deep.recorded",
                        "no program counters are sampled, so that every kernel is recorded. For "
                        "instructions, counted, run it once more with engine SassMetrics (gpufl "
                        "trace -e SassMetrics -- …)");
    else if (now == PHASE_COUNTING)
        say_phases(s, switching);
    else
        say_sampled_only(s, now == PHASE_UNCOUNTED);
}
