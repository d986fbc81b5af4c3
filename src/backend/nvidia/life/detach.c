/* detach.c - see detach.h. */
#include "backend/nvidia/life/detach.h"

#include "backend/nvidia/life/attach.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/record/activity.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/record/graphs.h"
#include "base/clock.h"

#include <time.h>

enum { PAUSES = HOLD_PATIENCE / 1000000, PAUSE = 1000000 /* ns */ };
enum { UNFINISHED_MOST = 2000000000 }; /* ns */

void hold_let_go(struct trace *t, uint32_t correlation)
{
    int state = HOLD_LET_GO;
    if (atomic_load_explicit(&t->hold, memory_order_acquire) != HOLD_LET_GO ||
        atomic_load_explicit(&t->captures, memory_order_relaxed) > 0 ||
        !object_calls_quiet(t->config.rest_ns) ||
        !atomic_compare_exchange_strong(&t->hold, &state, HOLD_FINALIZING))
        return;
    struct sink *s = t->sink; /* behind HOLD_NONE the session may be another */
    bool done = t->cupti->cuptiFinalize() == CUPTI_OK;
    if (done) {
        t->subscriber = NULL;
        atomic_fetch_add_explicit(&t->ids_before, correlation, memory_order_relaxed);
        graphs_forget();
    }
    atomic_fetch_add(done ? &t->finalized : &t->not_finalized, 1);
    atomic_store(&t->gone, done);
    atomic_store_explicit(&t->hold, done ? HOLD_NONE : HOLD_SHUT, memory_order_release);
    if (done)
        s->ops->wake(s);
}

/* Not on the thread that finalized it, which is still inside CUPTI's frame of its callback. A context usually
 * takes longer to be made than the collector to come here. Where another tool has been quicker, the
 * next window says so. */
void hold_return(struct trace *t)
{
    struct err unused;
    int state = HOLD_NONE;
    if (t->stopped || !atomic_load(&t->gone) ||
        !atomic_compare_exchange_strong(&t->hold, &state, HOLD_RETURNING))
        return;
    (void)attach_watch(t, &unused);
    atomic_store_explicit(&t->hold, HOLD_NONE, memory_order_release);
}

bool hold_is_busy(int state)
{
    return state == HOLD_FINALIZING || state == HOLD_FORCING || state == HOLD_RESTING ||
           state == HOLD_RETURNING;
}

int hold_take(struct trace *t, int to)
{
    int state = atomic_load_explicit(&t->hold, memory_order_acquire);
    for (int i = 0; i < PAUSES;) {
        if (!hold_is_busy(state) && atomic_compare_exchange_weak(&t->hold, &state, to))
            return state;
        if (!hold_is_busy(state))
            continue;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        state = atomic_load_explicit(&t->hold, memory_order_acquire);
        i++;
    }
    return state;
}

static int window_open(struct trace *t, struct err *e)
{
    int state = hold_take(t, HOLD_OPENING);
    if (hold_is_busy(state))
        return err_set(e, GPUFL_E_TIMEOUT, "CUPTI has not come to an end since the last window");
    int rc = state == HOLD_NONE ? attach_on(t, e) : 0;
    if (rc) {
        attach_off(t);
        atomic_store(&t->gone, true);
        atomic_store_explicit(&t->hold, HOLD_NONE, memory_order_release);
        return rc;
    }
    atomic_store_explicit(&t->passing, false, memory_order_release);
    int result = kinds_begin(t);
    if (result != CUPTI_OK)
        kinds_end(t);
    atomic_store(&t->shut_since, clock_mono());
    atomic_store_explicit(&t->hold, result == CUPTI_OK ? HOLD_OPEN : HOLD_SHUT,
                          memory_order_release);
    return result == CUPTI_OK ? 0 : cupti_error(t->cupti, result, "to enable kernel records", e);
}

void hold_start(struct trace *t)
{
    atomic_store_explicit(&t->hold, t->config.passed ? HOLD_SHUT : HOLD_NONE, memory_order_release);
    atomic_store_explicit(&t->passing, t->config.passed, memory_order_release);
}

void hold_stop(struct trace *t)
{
    if (hold_take(t, t->held ? HOLD_SHUT : HOLD_OVER) == HOLD_NONE)
        atomic_store_explicit(&t->hold, HOLD_NONE, memory_order_release);
}

bool hold_away(struct trace *t)
{
    int hold = atomic_load_explicit(&t->hold, memory_order_acquire);
    return (t->held || atomic_load_explicit(&t->rests, memory_order_relaxed)) &&
           (hold == HOLD_NONE || hold == HOLD_OPENING || hold == HOLD_LET_GO ||
            hold == HOLD_FINALIZING || hold == HOLD_RETURNING || hold == HOLD_RESTING);
}

int hold_switch(struct trace *t, bool open, struct err *e)
{
    if (trace_forked(t) || !t->held)
        return err_set(e, GPUFL_E_STATE, "this session has no windows");
    if (open)
        return window_open(t, e);
    kinds_end(t);
    atomic_store(&t->shut_since, clock_mono());
    atomic_store_explicit(&t->hold, HOLD_SHUT, memory_order_release);
    return 0;
}

void hold_released(struct trace *t, uint64_t *done, uint64_t *failed)
{
    *done = atomic_load(&t->finalized);
    *failed = atomic_load(&t->not_finalized);
}

bool hold_goes(const struct trace *t)
{
    return t->config.let_go || nv_engines_edges_wait(t);
}

bool hold_unquiet(struct trace *t)
{
    return hold_goes(t) && t->cupti->cuptiFinalize && atomic_load(&t->last_window) > 0 &&
           !object_calls_quiet(t->config.rest_ns);
}

/* The last window was shut long enough ago (that is also since CUPTI came, so that a context whose making began
 * unheard of is made by now), and what was launched in windows is complete, as far as CUPTI tells, or
 * has not been so for so long that the rest is given up. */
static bool can_go(struct trace *t)
{
    int64_t since = clock_mono() - atomic_load(&t->shut_since);
    if (!hold_goes(t))
        return false;
    if (t->held && (!t->config.rest_ns || since < t->config.rest_ns))
        return false;
    t->unquiet = hold_unquiet(t);
    if (!object_calls_quiet(t->config.rest_ns))
        return false;
    return !activity_unfinished(t) || since >= UNFINISHED_MOST;
}

void hold_flush(struct trace *t)
{
    int state = HOLD_SHUT;
    if (atomic_load_explicit(&t->hold, memory_order_acquire) != HOLD_SHUT || !can_go(t) ||
        !atomic_compare_exchange_strong(&t->hold, &state, HOLD_FORCING))
        return;
    (void)activity_flush(t, true);
    atomic_store_explicit(&t->hold, HOLD_FLUSHED, memory_order_release);
}

void hold_taken(struct trace *t)
{
    int state = HOLD_FLUSHED;
    bool lasts = t->held && nv_engines_last(); /* of a session before */
    bool can = !t->stopped && t->cupti->cuptiFinalize && !atomic_load(&t->not_finalized) &&
               !atomic_load(&t->passing) && !lasts;
    atomic_compare_exchange_strong(&t->hold, &state, can ? HOLD_LET_GO : HOLD_SHUT);
}

void hold_look(struct trace *t)
{
    if (atomic_load_explicit(&t->hold, memory_order_acquire) == HOLD_LET_GO)
        t->unquiet = hold_unquiet(t);
}

void hold_conclude(struct trace *t)
{
    struct sink *s = t->sink;
    if (t->unquiet && !atomic_load(&t->finalized) && !atomic_load(&t->not_finalized))
        s->ops->message(
            s, SEVERITY_NOTE, "windows.not_quiet",
            "launches stayed up to 0.7 us dearer behind windows: the profiling library is let "
            "go of where no context, code, stream or graph has been made or destroyed "
            "for ten times as long as the program ever paused between two of them (a "
            "minute is enough), where another call returns, which did not come about");
    t->unquiet = false;
}
