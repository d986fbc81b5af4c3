/* trace.c - runs engine Trace: open, start, stop, close, and the functions for the collector.
 *
 * Order of attaching: attach.h, then the kinds. The driver is never initialized here. Inside its
 * own initialization (injection), or before it, all of this is allowed; if a library needs an
 * initialized driver to enable a kind, enabling waits for the callback that reports it.
 *
 * Order of detaching: the kinds are disabled, launch callbacks do nothing any more, then gpufl
 * unsubscribes. CUPTI is finalized between windows only (detach.h): at the end of a session that
 * would gain nothing. Late callbacks find `live` NULL.
 *
 * After fork the child's copy of CUPTI lacks its worker thread: calls work, but a flush never
 * returns (seen on an H200). So the child records nothing: it does not call CUPTI, and callbacks do
 * nothing. */
#include "backend/nvidia/trace.h"

#include "backend/nvidia/engine/pc/sampling.h"
#include "backend/nvidia/engine/yield.h"
#include "backend/nvidia/life/attach.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/cupti_users.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/life/graph_cuts.h"
#include "backend/nvidia/life/handover.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/life/suspend.h"
#include "backend/nvidia/record/activity.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/record/faults.h"
#include "backend/nvidia/record/launches.h"
#include "backend/nvidia/record/records.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct trace the_trace;

/* ---- fork ------------------------------------------------------------------------------ */

/* In the child: CUPTI's own thread does not exist, so that calls of CUPTI may never return. Its
  * callbacks are refused. This function only stores: locks of other threads may be locked for
  * ever. */
static void on_fork_child(void)
{
    atomic_store(&the_trace.live, NULL);
    atomic_store(&the_trace.attach_state, ATTACH_NONE);
    atomic_store(&the_trace.passing, false);
    atomic_store(&the_trace.suspends, false);
    atomic_store(&the_trace.pool, NULL);
    atomic_store(&the_trace.pools.newest, NULL);
}

bool trace_forked(const struct trace *t)
{
    return t->process && t->process != getpid();
}

bool trace_mute(const struct trace *t)
{
    return trace_forked(t) || cupti_fatal(t);
}

void trace_began(struct trace *t, unsigned engine)
{
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    if (s)
        s->ops->began(s, engine);
}

static void fork_watch(void)
{
    if (!the_trace.fork_watched)
        the_trace.fork_watched = pthread_atfork(NULL, NULL, on_fork_child) == 0;
}

/* ---- collector ------------------------------------------------------------------------- */

/* [collector] */
static int trace_flush(struct trace *t, bool all)
{
    if (!t->config.keep)
        cupti_users_watch_new();
    if (trace_mute(t))
        return trace_forked(t) ? GPUFL_E_STATE : GPUFL_E_VENDOR;
    if (atomic_load_explicit(&t->suspends, memory_order_relaxed))
        suspend_look(t);
    detach_look(t);
    if (detach_is_away(t))
        return 0;
    nv_engines_flush(t);
    cupti_fatal_look(t);
    if (cupti_fatal(t))
        return GPUFL_E_VENDOR;
    int rc = nv_engines_alone(t) ? 0 : activity_flush(t, all);
    if (!all)
        detach_flush(t);
    return rc;
}

/* [collector] */
static void trace_take(struct trace *t)
{
    if (trace_forked(t))
        return;
    if (!cupti_fatal(t))
        detach_return(t);
    activity_take(t);
}

/* [collector] */
static void say_cuts(struct sink *s)
{
    if (graph_cuts_count())
        s->ops->message(
            s, SEVERITY_NOTE, "windows.cut",
            "%" PRIu64 " kernels, copies and fills of graphs were at work as a window "
            "closed, or the session ended: CUPTI does not report when they ended, so that "
            "they are reported up to that moment",
            graph_cuts_count());
}

static void drain(struct trace *t)
{
    if (atomic_exchange(&t->announce_holder, false))
        activity_kinds_announce_holder(t);
    if (atomic_exchange_explicit(&t->announce, false, memory_order_acquire))
        activity_kinds_announce(t);
    activity_decode(t);
    cupti_fatal_report(t);
    if (!cupti_fatal(t))
        activity_kinds_look_for_ids(t);
    activity_kinds_look_for_peers(t);
    nv_engines_drain(t);
    detach_taken(t);
    if (t->stopped)
        detach_conclude(t);
    if (t->stopped && !t->graph_cuts_said)
        say_cuts(t->sink);
    t->graph_cuts_said = t->stopped;
    if (t->stopped && atomic_load_explicit(&t->suspends, memory_order_relaxed))
        suspend_conclude(t);
}

static void trace_drain(struct trace *t)
{
    if (trace_forked(t))
        return;
    drain(t);
    atomic_fetch_add(&t->drains, 1);
}

/* ---- life ------------------------------------------------------------------------------ */

/* Refuses if CUPTI is left to the program (ADR 18). */
static int config_check(const struct trace_config *c, struct err *e)
{
    char library[64];
    if (c->yield)
        return err_set(e, GPUFL_E_BUSY,
                       "CUPTI is left to another profiler (GPUFL_YIELD_CUPTI=1): no kernel "
                       "records in this session");
    if (c->injected && !c->keep && cupti_users_linked(library, sizeof library))
        return err_set(
            e, GPUFL_E_BUSY,
            "the program is built to use CUPTI itself (its executable needs %s), so that "
            "CUPTI is left to the program; --keep-cupti (option keep_cupti) takes it",
            library);
    return 0;
}

/* [any thread of the program] */
static void on_program_begins(const char *function)
{
    handover_begin(&the_trace, function);
}

/* Makes the buffers and their reader, then attaches CUPTI, unless a window has to come first. */
static int prepare(struct trace *t, struct err *e)
{
    struct buffers *pool = buffers_open(&t->pools, t->config.buffer_bytes, t->config.pool_bytes);
    if (!pool || records_open(&t->records, t->cupti, t->sink, 0) != 0)
        return err_nomem(e);
    atomic_store_explicit(&t->pool, pool, memory_order_release);
    struct err unused; /* windows try again, and report a failure */
    bool waits = t->detaches && !t->config.passed;
    int rc = waits ? attach_watch(t, &unused) : attach_on(t, e);
    if (!rc && t->detaches)
        object_calls_begin(t); /* also if an earlier session has left its subscription */
    if (waits) {
        atomic_store(&t->announce_holder, rc == 0);
        return 0;
    }
    if (!rc)
        nv_engines_open(t);
    return rc;
}

static void say_ignored(const struct cupti *c, struct sink *s)
{
    const char *chosen;
    if (cupti_ignored(c->path, &chosen))
        s->ops->message(s, SEVERITY_WARNING, "cupti.path",
                        "GPUFL_CUPTI_PATH=%.200s is not used, but %.200s: a copy that the program "
                        "has loaded comes first, otherwise it must name a libcupti.so that loads, "
                        "or its directory",
                        chosen, c->path);
}

/* Reports a CUPTI with which gpufl was not tested. */
static void say_unverified(const struct cupti *c, struct sink *s)
{
    if (c->version < CUPTI_VERIFIED)
        s->ops->message(s, SEVERITY_NOTE, "cupti.unverified",
                        "this CUPTI (API version %u) is older than CUDA 13: " CUPTI_UNVERIFIED,
                        c->version);
}

/* Resets what an earlier session may have left. */
static void begin_again(struct trace *t)
{
    t->flush_failed = t->dropped_failed = t->kinds_said = false;
    t->stopped = t->no_ids = t->announced = t->peers_said = false;
    atomic_store_explicit(&t->peer_calls, false, memory_order_relaxed);
    memset(t->engines, 0, sizeof t->engines);
    memset(&t->calls, 0, sizeof t->calls);
    atomic_store(&t->attach_state, ATTACH_NONE);
    atomic_store(&t->suspends, false);
    atomic_store(&t->passing, false);
    atomic_store(&t->gone, false);
    t->unquiet = t->fatal_said = false;
    cupti_fatal_session();
    activity_kinds_session(t);
    faults_open();
    object_calls_session();
    atomic_store(&t->shut_since, 0);
    atomic_store(&t->window, 0);
    atomic_store(&t->last_window, 0);
    atomic_store(&t->finalized, 0);
    atomic_store(&t->not_finalized, 0);
    atomic_store(&t->kernels_instead, false);
    atomic_store(&t->quiet, false);
    atomic_store(&t->floor, false);
    atomic_store(&t->captures, 0);
    atomic_store(&t->callback_ns, 0);
    atomic_store(&t->time_graphs, t->config.graph_launches);
    atomic_store(&t->waits, t->config.waits && !t->switched);
    atomic_store(&t->recording, false);
    atomic_store(&t->windowed, t->config.windows);
    atomic_store(&t->plain, false);
    atomic_store(&t->gated, false);
    t->graph_cuts_said = false;
    graph_cuts_open();
}

static void trace_close(struct trace *t);

static int trace_open(struct trace **out, const struct trace_config *config, struct sink *sink,
                      struct err *e)
{
    struct trace *t = &the_trace;
    *out = NULL;
    int rc = config_check(config, e);
    if (rc)
        return rc;
    if (trace_forked(t))
        return err_set(e, GPUFL_E_STATE,
                       "this process was forked from one that CUPTI was attached to, and cannot be "
                       "traced: start it with gpufl trace, or call init in the children only");
    if (cupti_fatal(t))
        return err_set(e, GPUFL_E_UNAVAILABLE, "%s", cupti_fatal_why(t));
    fork_watch();
    if (t->records)
        return err_set(e, GPUFL_E_STATE, "tracing is already open in this process");
    rc = cupti_open(&t->cupti, e);
    if (rc)
        return rc;
    say_ignored(t->cupti, sink);
    say_unverified(t->cupti, sink);
    t->sink = sink;
    t->config = *config;
    if (!config->keep)
        cupti_users_watch(on_program_begins);
    t->detaches = config->windows && !(config->engines & ~(unsigned)(ENGINE_TRACE | ENGINE_SYNC));
    t->switched = config->windows && !t->detaches;
    t->process = getpid();
    begin_again(t);
    if (!t->clock_ns)
        t->clock_ns = launches_clock_cost();
    rc = prepare(t, e);
    if (rc) {
        trace_close(t);
        return rc;
    }
    bool none = !t->calls.enter[0] && !t->calls.entered[0] && !t->calls.left[0];
    atomic_store(&t->plain, !t->config.windows && none);
    atomic_store(&t->gated, !t->config.windows && yield_is_alone(t));
    *out = t;
    return 0;
}

/* Sets the error of kernel records that cannot be enabled: that sampling goes on since an earlier
 * session with another engine, else the library's. */
static int refused_by_sampling(struct trace *t, int result, struct err *e)
{
    if (result != CUPTI_E_NOT_COMPATIBLE || !pc_sampling_lasts())
        return cupti_error(t->cupti, result, "to enable kernel records", e);
    return err_set(e, GPUFL_E_STATE,
                   "program counters are still sampled for an earlier session, and kernel records "
                   "cannot begin meanwhile: end sessions with gpufl_shutdown on the only "
                   "thread that uses the GPU, or use pc_kernel_collect=none");
}

static int trace_start(struct trace *t, struct err *e)
{
    if (trace_forked(t))
        return err_set(e, GPUFL_E_STATE, "a forked process cannot be traced");
    if (t->detaches) {
        detach_start(t);
        return 0;
    }
    atomic_store_explicit(&t->passing, t->config.passed, memory_order_release);
    if (t->switched)
        suspend_start(t);
    int result = activity_kinds_begin(t);
    if (result == CUPTI_OK) {
        nv_engines_start(t);
        return 0;
    }
    activity_kinds_end(t);
    return refused_by_sampling(t, result, e);
}

/* Kinds are disabled before launches stop being counted: a launch in between is counted as lost
 * rather than missed. */
static int trace_stop(struct trace *t)
{
    bool mute = trace_mute(t);
    if (!mute && atomic_load_explicit(&t->suspends, memory_order_relaxed))
        detach_stop(t);
    if (!mute)
        nv_engines_stop(t);
    t->stopped = true;
    if (t->detaches && !mute)
        detach_stop(t);
    if (!mute)
        cupti_fatal_look(t);
    atomic_store_explicit(&t->passing, false, memory_order_release);
    if (!trace_mute(t))
        activity_kinds_disable(t);
    atomic_store_explicit(&t->live, NULL, memory_order_release);
    return 0;
}

/* Complete records belong to the mode before: they are flushed with its flag. */
static int trace_floor(struct trace *t, bool on)
{
    if (trace_mute(t) || !(atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1))
        return GPUFL_E_STATE;
    t->cupti->cuptiActivityFlushAll(0);
    atomic_store_explicit(&t->floor, on, memory_order_relaxed);
    if (!on)
        return activity_kinds_enable(t) == CUPTI_OK ? 0 : GPUFL_E_VENDOR;
    activity_kinds_keep(t, CUPTI_KIND_KERNEL);
    return 0;
}

static int trace_window(struct trace *t, bool open, struct err *e)
{
    if (cupti_fatal(t))
        return cupti_fatal_window(t, open, e);
    if (!t->switched || trace_forked(t))
        return detach_window(t, open, e);
    return atomic_load_explicit(&t->suspends, memory_order_relaxed) ? suspend_window(t, open, e)
                                                                    : nv_engines_window(t, open, e);
}

static void trace_quiet(struct trace *t)
{
    atomic_store_explicit(&t->quiet, true, memory_order_release);
}

static void trace_cost(struct trace *t, struct trace_cost *out)
{
    out->callbacks_ns = launches_cost(t);
    out->stacks_apart = true;
    out->launches_counted = !nv_engines_need_no_calls(t);
    out->graphs_whole = activity_kinds_graphs_whole(t);
}

static void trace_close(struct trace *t)
{
    struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    if (trace_forked(t))
        return;
    trace_stop(t);
    atomic_store_explicit(&t->wants_records, false, memory_order_relaxed);
    if (!cupti_fatal(t) && !nv_engines_last())
        attach_off(t);
    if (t->records)
        trace_drain(t); /* decodes buffers that were taken; there are none if drain was called */
    if (pool)
        buffers_trim(pool);
    if (!cupti_fatal(t))
        nv_engines_close(t);
    records_close(t->records);
    t->records = NULL;
    atomic_store(&t->suspends, false);
}

const struct trace_ops nvidia_trace = {
    .engines = ENGINE_TRACE | ENGINE_SYNC | NV_ENGINE_BITS,
    .alone = ENGINE_SASS_METRICS,
    .turns = true,
    .syncs_as_waits = true,
    .range = nv_engines_range,
    .open = trace_open,
    .start = trace_start,
    .stop = trace_stop,
    .quiet = trace_quiet,
    .flush = trace_flush,
    .take = trace_take,
    .drain = trace_drain,
    .cost = trace_cost,
    .window = trace_window,
    .released = detach_released,
    .running = nv_engines_running,
    .floor = trace_floor,
    .close = trace_close,
};
