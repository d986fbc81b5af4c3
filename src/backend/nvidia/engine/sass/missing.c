/* missing.c - see sass/missing.h. */
#include "backend/nvidia/engine/sass/missing.h"

#include "backend/nvidia/engine/sass/context.h"

static void say_lost(struct sass_missing *m, struct sink *s)
{
    if (m->lost && !m->lost_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.lost",
                        "counts of instructions are missing: the driver dropped them, or there "
                        "were more than %d at a time",
                        SASS_TALLY_MAX);
    m->lost_said |= m->lost > 0;
}

static void say_concurrent(struct sass_missing *m, struct sink *s)
{
    if (m->concurrent && !m->concurrent_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.concurrent",
                        "counts were taken while launches of other threads did not return, and "
                        "theirs may be missing");
    m->concurrent_said |= m->concurrent > 0;
}

static void say_crowd(struct sass_missing *m, struct sink *s)
{
    if (m->crowd && !m->crowd_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.contexts",
                        "counts of instructions are missing: there were more than %d contexts "
                        "between two looks, or more than %d devices",
                        SASS_CONTEXTS, SASS_DEVICES);
    m->crowd_said |= m->crowd > 0;
}

static void say_late(struct sass_missing *m, struct sink *s)
{
    if (m->late && !m->late_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.late",
                        "counts of instructions are missing: in some context kernels count from a "
                        "later launch on, or never, since launches of other threads did not return "
                        "when counting was to begin");
    m->late_said |= m->late > 0;
}

static void say_ended(struct sass_missing *m, struct sink *s)
{
    if (m->ended && !m->ended_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.ended",
                        "instructions were counted until the program unloaded code: CUDA graphs "
                        "made after that could fault, because program counters were sampled "
                        "before. Engine SassMetrics counts to the end (gpufl trace -e SassMetrics "
                        "-- …)");
    m->ended_said |= m->ended;
}

void sass_missing_say(struct sass_missing *m, struct sink *s)
{
    say_ended(m, s);
    uint64_t all = m->lost + m->concurrent + m->crowd + m->late;
    if (!all)
        return;
    s->ops->lost(s, LOSS_METRICS, all);
    say_lost(m, s);
    say_concurrent(m, s);
    say_crowd(m, s);
    say_late(m, s);
    m->lost = m->concurrent = m->crowd = m->late = 0;
}
