/* ended.c - see ended.h. */
#include "backend/nvidia/ended.h"

#include "backend/nvidia/cuda.h"
#include "backend/nvidia/kinds.h"
#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>

enum { LOOKS_MOST = 3 };

static const char SILENT[] =
    "CUPTI has ended itself in this program, which goes on, and answers no more: most likely "
    "another process or tool holds the GPU's profiling hardware (ncu, or DCGM's profiling "
    "metrics). "
    "End that, or use engine Trace";

bool ended(const struct trace *t)
{
    return atomic_load_explicit(&t->ended, memory_order_acquire) == ENDED_TOLD;
}

const char *ended_why(const struct trace *t)
{
    return ended(t) ? t->ended_why : "";
}

/* Of several reasons the first counts. */
static void end(struct trace *t, const char *why, const char *more)
{
    int state = ENDED_NOT;
    if (!atomic_compare_exchange_strong(&t->ended, &state, ENDED_NOW))
        return;
    snprintf(t->ended_why, sizeof t->ended_why, "%s%s", why, more);
    atomic_store_explicit(&t->ended, ENDED_TOLD, memory_order_release);
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    if (s)
        s->ops->wake(s);
}

/* ---- it tells ------------------------------------------------------------------------------- */

void ended_watch(struct trace *t)
{
    t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL);
}

void ended_state(struct trace *t, uint32_t id, const struct cupti_state_event *event)
{
    if (id == CUPTI_STATE_FATAL && !trace_forked(t))
        end(t, "CUPTI has met a fatal error, and has ended itself in this program, which goes on: ",
            event->message ? event->message : "it gives no reason");
}

/* ---- it is asked ------------------------------------------------------------------------------ */

bool ended_answers(struct trace *t, uint32_t id)
{
    if (id != CUPTI_HARMLESS_CALL)
        return false;
    atomic_store(&t->answered, true);
    return true;
}

/* The call changes nothing, and CUPTI has to tell of it. Where the driver has ended, with the process,
 * nothing can be learnt. */
static bool silent(struct trace *t)
{
    const struct cuda *cuda = cuda_loaded();
    int count;
    if (!cuda || cuda->cuDeviceGetCount(&count) != CUDA_OK)
        return false;
    if (t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_DRIVER, CUPTI_HARMLESS_CALL) !=
        CUPTI_OK)
        return true;
    atomic_store(&t->answered, false);
    bool called = cuda->cuDeviceGetCount(&count) == CUDA_OK;
    t->cupti->cuptiEnableCallback(0, t->subscriber, CUPTI_DOMAIN_DRIVER, CUPTI_HARMLESS_CALL);
    return called && !atomic_load(&t->answered);
}

void ended_look(struct trace *t)
{
    if (ended(t) || !t->subscriber || t->looks >= LOOKS_MOST)
        return;
    t->looks++;
    if (silent(t))
        end(t, SILENT, "");
}

/* ---- the session is told ---------------------------------------------------------------------- */

void ended_tell(struct trace *t)
{
    static const struct {
        enum engine_bit bit;
        const char *feature;
    } engines[] = {
        {ENGINE_PC_SAMPLING, "pc_sampling"},
        {ENGINE_SASS_METRICS, "sass_metrics"},
        {ENGINE_PM_SAMPLING, "pm_sampling"},
        {ENGINE_RANGE_PROFILER, "range_counters"},
    };
    struct sink *s = t->sink;
    if (!ended(t) || t->ended_said)
        return;
    t->ended_said = true;
    kinds_announce_end(t, t->ended_why);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (t->config.engines & engines[i].bit)
            s->ops->capability(s, engines[i].feature, true, "partial", t->ended_why);
    s->ops->message(s, SEVERITY_ERROR, "cupti.ended",
                    "launches, kernels, copies, waits and counters are missing from here on: %s",
                    t->ended_why);
}
