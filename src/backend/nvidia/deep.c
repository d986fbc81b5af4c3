/* deep.c - see deep.h.
 *
 * `inside` counts calls, `phase` is the gate. Both are sequentially consistent: either who switches
 * sees the call, and tries again later, or the call sees the gate, and waits. Calls that the switch
 * itself makes pass. The wait has an end, so that a thread of the library's that the switch needs
 * could not hold it up for ever. It is not sass_gate.c's: here calls that wait for the device
 * count, too, and the switch shuts that one itself, context by context. */
#include "backend/nvidia/deep.h"

#include "backend/nvidia/pc_sampling.h"
#include "backend/nvidia/profilers.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum phase {
    PHASE_SAMPLING,
    PHASE_SWITCHING,
    PHASE_COUNTING,
    PHASE_STUCK, /* the library would not end sampling */
};

enum { CONTEXTS = 64, GATE_PAUSES = 20000, GATE_PAUSE = 50000 /* ns */ };

static const int64_t RETRY = 2000000; /* ns, where another thread was inside */

static _Atomic int phase;
static _Atomic int64_t inside; /* calls */
static _Atomic int64_t first,
    due; /* ns: of the first launch, and of the switch; 0: not yet. Relaxed */
static _Atomic uint64_t missed;       /* that it was time, and another thread was inside. Relaxed */
static _Atomic unsigned session;      /* relaxed: set before the first callback of a session */
static int64_t sample;                /* ns; constant in a session */
static _Atomic int64_t sampled, took; /* ns; took is written last: release, acquire */
static bool said;                     /* collector's */

static __thread struct {
    unsigned session, depth; /* calls that this thread is inside of */
    bool switches;
} mine;

void deep_open(int64_t sample_ns)
{
    sample = sample_ns;
    atomic_store(&inside, 0);
    atomic_store(&first, 0);
    atomic_store(&due, INT64_MAX);
    atomic_store(&missed, 0);
    atomic_store(&took, 0);
    said = false;
    atomic_fetch_add(&session, 1);
    atomic_store(&phase, PHASE_SAMPLING);
}

bool deep_sampling(void)
{
    return atomic_load_explicit(&phase, memory_order_acquire) < PHASE_COUNTING;
}

static void wait_at_gate(void)
{
    for (int i = 0; i < GATE_PAUSES && atomic_load(&phase) == PHASE_SWITCHING; i++)
        nanosleep(&(struct timespec){.tv_nsec = GATE_PAUSE}, NULL);
}

static void first_launch(void)
{
    int64_t none = 0, now = clock_mono();
    if (atomic_compare_exchange_strong(&first, &none, now))
        atomic_store_explicit(&due, now + sample, memory_order_relaxed);
}

void deep_enter(bool launch)
{
    unsigned current = atomic_load_explicit(&session, memory_order_relaxed);
    if (mine.switches || !deep_sampling())
        return;
    if (mine.session != current) {
        mine.session = current;
        mine.depth = 0;
    }
    if (launch && !atomic_load_explicit(&first, memory_order_relaxed))
        first_launch();
    if (mine.depth++)
        return;
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&phase) != PHASE_SWITCHING)
        return;
    atomic_fetch_sub(&inside, 1);
    wait_at_gate();
    atomic_fetch_add(&inside, 1);
}

/* From one engine to the other. Nobody is inside the driver but this thread, at the exit of a call. */
static enum phase switch_engines(struct trace *t)
{
    cuda_context contexts[CONTEXTS];
    size_t count = pc_sampling_contexts(contexts, CONTEXTS);
    pc_sampling_stop(t, true);
    if (pc_sampling_binds())
        return PHASE_STUCK;
    profilers_count(t, contexts, count);
    return PHASE_COUNTING;
}

static void try_to_switch(struct trace *t, int64_t now)
{
    int expected = PHASE_SAMPLING;
    if (atomic_load_explicit(&t->captures, memory_order_relaxed) > 0 ||
        !atomic_compare_exchange_strong(&phase, &expected, PHASE_SWITCHING))
        return;
    if (atomic_load(&inside)) {
        atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
        atomic_store_explicit(&due, now + RETRY, memory_order_relaxed);
        atomic_store(&phase, PHASE_SAMPLING);
        return;
    }
    mine.switches = true;
    enum phase next = switch_engines(t);
    mine.switches = false;
    atomic_store_explicit(&sampled, now - atomic_load(&first), memory_order_relaxed);
    atomic_store_explicit(&took, clock_mono() - now, memory_order_release);
    atomic_store(&phase, (int)next);
}

void deep_leave(struct trace *t, bool waited)
{
    if (mine.switches || !deep_sampling() || !mine.depth ||
        mine.session != atomic_load_explicit(&session, memory_order_relaxed) || --mine.depth)
        return;
    atomic_fetch_sub(&inside, 1);
    if (!waited || atomic_load_explicit(&due, memory_order_relaxed) == INT64_MAX)
        return;
    int64_t now = clock_mono();
    if (now >= atomic_load_explicit(&due, memory_order_relaxed))
        try_to_switch(t, now);
}

/* ---- what the session is told --------------------------------------------------------------- */

static void setting(struct sink *s, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    struct setting_row row = {.time = clock_mono(),
                              .engine = s->ops->name(s, "Deep"),
                              .name = s->ops->name(s, name),
                              .value = s->ops->name(s, text)};
    s->ops->row(s, RECORD_setting, &row);
}

const char *deep_failure(void)
{
    switch (atomic_load(&phase)) {
    case PHASE_COUNTING:
        return "";
    case PHASE_STUCK:
        return "CUPTI did not end sampling, and counts nothing beside it";
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

void deep_drain(struct trace *t, bool last)
{
    struct sink *s = t->sink;
    int64_t switching = atomic_load_explicit(&took, memory_order_acquire);
    bool counts = atomic_load(&phase) == PHASE_COUNTING;
    if (said || (!switching && !last))
        return;
    said = true;
    if (!counts) {
        s->ops->message(s, SEVERITY_WARNING, "deep.sampled_only",
                        "the program was sampled, and no instruction was counted: %s. Run it once "
                        "more with engine SassMetrics (gpufl trace -e SassMetrics -- …)",
                        deep_failure());
        return;
    }
    setting(s, "sampled_ms", atomic_load_explicit(&sampled, memory_order_relaxed) / 1000000);
    setting(s, "switch_us", switching / 1000);
    s->ops->message(
        s, SEVERITY_NOTE, "deep.phases",
        "the driver does not let both live: program counters were sampled for the first "
        "%.1f s from the first launch, and instructions are counted from then on",
        (double)atomic_load_explicit(&sampled, memory_order_relaxed) * 1e-9);
}
