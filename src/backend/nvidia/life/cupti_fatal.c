/* cupti_fatal.c - see cupti_fatal.h. */
#include "backend/nvidia/life/cupti_fatal.h"

#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/record/activity_kinds.h"

#include <stddef.h>
#include <stdio.h>

static const char SILENT[] =
    "CUPTI has ended itself in this program, which goes on, and answers no more: most likely "
    "another process or tool holds the GPU's profiling hardware (ncu, or DCGM's profiling "
    "metrics). End that, or use engine Trace";

bool cupti_fatal(const struct trace *t)
{
    return atomic_load_explicit(&t->fatal, memory_order_acquire) == FATAL_KNOWN;
}

const char *cupti_fatal_why(const struct trace *t)
{
    return cupti_fatal(t) ? t->fatal_why : "";
}

/* The first of several reasons counts. */
static void end(struct trace *t, const char *why, const char *more)
{
    int state = FATAL_NOT;
    if (!atomic_compare_exchange_strong(&t->fatal, &state, FATAL_NOW))
        return;
    snprintf(t->fatal_why, sizeof t->fatal_why, "%s%s", why, more);
    atomic_store_explicit(&t->fatal, FATAL_KNOWN, memory_order_release);
    struct sink *s = atomic_exchange(&t->live, NULL); /* later callbacks do nothing */
    if (s)
        s->ops->wake(s);
}

/* ---- errors that CUPTI reports -------------------------------------------------------------- */

void cupti_fatal_watch(struct trace *t)
{
    t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL);
}

void cupti_fatal_state(struct trace *t, uint32_t id, const struct cupti_state_event *event)
{
    if (id == CUPTI_STATE_FATAL && !trace_forked(t))
        end(t, "CUPTI has met a fatal error, and has ended itself in this program, which goes on: ",
            event->message ? event->message : "it gives no reason");
}

void cupti_fatal_by_program(struct trace *t, const char *function)
{
    char why[sizeof t->fatal_why];
    snprintf(why, sizeof why,
             "the program began a profiler of its own (%s), and CUPTI serves one at a time; "
             "--keep-cupti (option keep_cupti) keeps CUPTI for gpufl",
             function);
    atomic_store_explicit(&t->handed, true, memory_order_release);
    end(t, why, "");
}

/* ---- checking whether CUPTI still works ------------------------------------------------------ */

bool cupti_fatal_answers(struct trace *t, uint32_t id)
{
    if (id != CUPTI_HARMLESS_CALL)
        return false;
    atomic_store(&t->answered, true);
    return true;
}

/* Returns true if CUPTI does not report a call that changes nothing, although it has to. If the
 * driver has ended with the process, this cannot be checked. */
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

/* Returns true if CUPTI may be detached between windows: then another thread may end this
 * subscription. */
static bool goes_and_comes(struct trace *t)
{
    return (t->detaches || atomic_load_explicit(&t->suspends, memory_order_relaxed)) &&
           detach_wanted(t);
}

void cupti_fatal_session(void)
{
    the_trace.suspicions_examined = atomic_load(&the_trace.suspicions);
}

void cupti_fatal_suspect(void)
{
    atomic_fetch_add(&the_trace.suspicions, 1);
}

void cupti_fatal_look(struct trace *t)
{
    unsigned now = atomic_load(&t->suspicions);
    if (cupti_fatal(t) || !t->subscriber || now == t->suspicions_examined ||
        (goes_and_comes(t) && !t->stopped))
        return;
    t->suspicions_examined = now;
    if (silent(t))
        end(t, SILENT, "");
}

int cupti_fatal_window(struct trace *t, bool open, struct err *e)
{
    if (open)
        return err_set(e, GPUFL_E_UNAVAILABLE, "%s", cupti_fatal_why(t));
    atomic_store(&t->window, 0);
    atomic_store(&t->recording, false);
    atomic_store_explicit(&t->waits, false, memory_order_relaxed);
    return 0;
}

/* ---- report to the session ------------------------------------------------------------------- */

void cupti_fatal_report(struct trace *t)
{
    struct sink *s = t->sink;
    if (!cupti_fatal(t) || t->fatal_said)
        return;
    t->fatal_said = true;
    activity_kinds_announce_end(t, t->fatal_why);
    nv_engines_announce_end(t, t->fatal_why);
    if (atomic_load_explicit(&t->handed, memory_order_acquire))
        s->ops->message(s, SEVERITY_WARNING, "cupti.handed_over",
                        "launches, kernels, copies and waits are recorded up to here: %s",
                        t->fatal_why);
    else
        s->ops->message(s, SEVERITY_ERROR, "cupti.ended",
                        "launches, kernels, copies, waits and counters are missing from here on: "
                        "%s",
                        t->fatal_why);
}
