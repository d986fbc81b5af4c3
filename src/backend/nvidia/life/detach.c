/* detach.c - see detach.h. */
#include "backend/nvidia/life/detach.h"

#include "backend/nvidia/life/attach.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/record/activity.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/record/graphs.h"
#include "base/clock.h"

#include <time.h>

enum { PAUSES = DETACH_PATIENCE / 1000000, PAUSE = 1000000 /* ns */ };
enum { UNFINISHED_MOST = 2000000000 }; /* ns */

void detach_now(struct trace *t, uint32_t correlation)
{
    int state = ATTACH_ENDING;
    if (atomic_load_explicit(&t->attach_state, memory_order_acquire) != ATTACH_ENDING ||
        atomic_load_explicit(&t->captures, memory_order_relaxed) > 0 ||
        !object_calls_quiet(t->config.rest_ns) ||
        !atomic_compare_exchange_strong(&t->attach_state, &state, ATTACH_FINALIZING))
        return;
    struct sink *s = t->sink; /* read before ATTACH_NONE: later it may be another session's */
    bool done = t->cupti->cuptiFinalize() == CUPTI_OK;
    if (done) {
        t->subscriber = NULL;
        atomic_fetch_add_explicit(&t->ids_before, correlation, memory_order_relaxed);
        graphs_forget();
    }
    atomic_fetch_add(done ? &t->finalized : &t->not_finalized, 1);
    atomic_store(&t->gone, done);
    atomic_store_explicit(&t->attach_state, done ? ATTACH_NONE : ATTACH_SHUT, memory_order_release);
    if (done)
        s->ops->wake(s);
}

/* This is not done on the thread that finalized CUPTI, which is still inside CUPTI's callback.
 * Usually the collector is here before a new context is complete. If another tool has subscribed
 * meanwhile, the next window reports it. */
void detach_return(struct trace *t)
{
    struct err unused;
    int state = ATTACH_NONE;
    if (t->stopped || !atomic_load(&t->gone) ||
        !atomic_compare_exchange_strong(&t->attach_state, &state, ATTACH_RETURNING))
        return;
    (void)attach_watch(t, &unused);
    atomic_store_explicit(&t->attach_state, ATTACH_NONE, memory_order_release);
}

bool attach_state_is_busy(int state)
{
    return state == ATTACH_FINALIZING || state == ATTACH_FORCING || state == ATTACH_SUSPENDING ||
           state == ATTACH_RETURNING;
}

int attach_state_take(struct trace *t, int to)
{
    int state = atomic_load_explicit(&t->attach_state, memory_order_acquire);
    for (int i = 0; i < PAUSES;) {
        if (!attach_state_is_busy(state) &&
            atomic_compare_exchange_weak(&t->attach_state, &state, to))
            return state;
        if (!attach_state_is_busy(state))
            continue;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        state = atomic_load_explicit(&t->attach_state, memory_order_acquire);
        i++;
    }
    return state;
}

static int window_open(struct trace *t, struct err *e)
{
    int state = attach_state_take(t, ATTACH_OPENING);
    if (attach_state_is_busy(state))
        return err_set(e, GPUFL_E_TIMEOUT, "CUPTI has not finished since the last window");
    int rc = state == ATTACH_NONE ? attach_on(t, e) : 0;
    if (rc) {
        attach_off(t);
        atomic_store(&t->gone, true);
        atomic_store_explicit(&t->attach_state, ATTACH_NONE, memory_order_release);
        return rc;
    }
    atomic_store_explicit(&t->passing, false, memory_order_release);
    int result = activity_kinds_begin(t);
    if (result != CUPTI_OK)
        activity_kinds_end(t);
    atomic_store(&t->shut_since, clock_mono());
    atomic_store_explicit(&t->attach_state, result == CUPTI_OK ? ATTACH_OPEN : ATTACH_SHUT,
                          memory_order_release);
    return result == CUPTI_OK ? 0 : cupti_error(t->cupti, result, "to enable kernel records", e);
}

void detach_start(struct trace *t)
{
    atomic_store_explicit(&t->attach_state, t->config.passed ? ATTACH_SHUT : ATTACH_NONE,
                          memory_order_release);
    atomic_store_explicit(&t->passing, t->config.passed, memory_order_release);
}

void detach_stop(struct trace *t)
{
    if (attach_state_take(t, t->detaches ? ATTACH_SHUT : ATTACH_OVER) == ATTACH_NONE)
        atomic_store_explicit(&t->attach_state, ATTACH_NONE, memory_order_release);
}

bool detach_is_away(struct trace *t)
{
    int hold = atomic_load_explicit(&t->attach_state, memory_order_acquire);
    return (t->detaches || atomic_load_explicit(&t->suspends, memory_order_relaxed)) &&
           (hold == ATTACH_NONE || hold == ATTACH_OPENING || hold == ATTACH_ENDING ||
            hold == ATTACH_FINALIZING || hold == ATTACH_RETURNING || hold == ATTACH_SUSPENDING);
}

int detach_window(struct trace *t, bool open, struct err *e)
{
    if (trace_forked(t) || !t->detaches)
        return err_set(e, GPUFL_E_STATE, "this session has no windows");
    if (open)
        return window_open(t, e);
    activity_kinds_end(t);
    atomic_store(&t->shut_since, clock_mono());
    atomic_store_explicit(&t->attach_state, ATTACH_SHUT, memory_order_release);
    return 0;
}

void detach_released(struct trace *t, uint64_t *done, uint64_t *failed)
{
    *done = atomic_load(&t->finalized);
    *failed = atomic_load(&t->not_finalized);
}

bool detach_wanted(const struct trace *t)
{
    return t->config.detach || nv_engines_edges_wait(t);
}

bool detach_is_held_up(struct trace *t)
{
    return detach_wanted(t) && t->cupti->cuptiFinalize && atomic_load(&t->last_window) > 0 &&
           !object_calls_quiet(t->config.rest_ns);
}

/* Returns true if the last window was closed long enough ago (then CUPTI was attached for as long,
 * so that a context whose creation it did not report is complete), and the work of windows is
 * complete, as far as CUPTI reports, or was incomplete for so long that the rest is given up. */
static bool can_go(struct trace *t)
{
    int64_t since = clock_mono() - atomic_load(&t->shut_since);
    if (!detach_wanted(t))
        return false;
    if (t->detaches && (!t->config.rest_ns || since < t->config.rest_ns))
        return false;
    t->unquiet = detach_is_held_up(t);
    if (!object_calls_quiet(t->config.rest_ns))
        return false;
    return !activity_unfinished(t) || since >= UNFINISHED_MOST;
}

void detach_flush(struct trace *t)
{
    int state = ATTACH_SHUT;
    if (atomic_load_explicit(&t->attach_state, memory_order_acquire) != ATTACH_SHUT || !can_go(t) ||
        !atomic_compare_exchange_strong(&t->attach_state, &state, ATTACH_FORCING))
        return;
    (void)activity_flush(t, true);
    atomic_store_explicit(&t->attach_state, ATTACH_FLUSHED, memory_order_release);
}

void detach_taken(struct trace *t)
{
    int state = ATTACH_FLUSHED;
    bool lasts = t->detaches && nv_engines_last(); /* an engine of an earlier session goes on */
    bool can = !t->stopped && t->cupti->cuptiFinalize && !atomic_load(&t->not_finalized) &&
               !atomic_load(&t->passing) && !lasts;
    atomic_compare_exchange_strong(&t->attach_state, &state, can ? ATTACH_ENDING : ATTACH_SHUT);
}

void detach_look(struct trace *t)
{
    if (atomic_load_explicit(&t->attach_state, memory_order_acquire) == ATTACH_ENDING)
        t->unquiet = detach_is_held_up(t);
}

void detach_conclude(struct trace *t)
{
    struct sink *s = t->sink;
    if (t->unquiet && !atomic_load(&t->finalized) && !atomic_load(&t->not_finalized))
        s->ops->message(
            s, SEVERITY_NOTE, "windows.not_quiet",
            "launches after windows cost up to 0.7 us more, since the profiling library stayed "
            "attached. It is detached when a call of the driver returns and the program has not "
            "created or destroyed a context, code, a stream or a graph for ten times its longest "
            "pause between two of them, or for a minute. No call returned at such a time");
    t->unquiet = false;
}
