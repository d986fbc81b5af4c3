/* metrics.c - see sass/metrics.h: the contexts, and how they are configured.
 *
 * Taking the counts waits for running kernels, on the calling thread; other threads wait at the
 * gate meanwhile. */
#include "backend/nvidia/engine/sass/metrics.h"

#include "backend/common/engine_lock.h"
#include "backend/nvidia/engine/sass/context.h"
#include "backend/nvidia/engine/sass/gate.h"
#include "backend/nvidia/engine/sass/missing.h"
#include "backend/nvidia/engine/sass/write.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/record/call_table.h"
#include "backend/nvidia/record/cubins.h"
#include "backend/nvidia/record/faults.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const int64_t PERIOD = 1000000000; /* ns between two times at which counts are taken */
/* Limits, in ns, how long launches may take to return, when a context is destroyed or code is
 * unloaded. */
#define PATIENCE INT64_C(2000000000)
static const int64_t ENDING_PATIENCE = 100000000;
/* Sets the ns between two attempts to begin counting in contexts: launches wait a tenth of that at
 * most. */
static const int64_t RETRY = 1000000000;
_Static_assert(DETACH_PATIENCE + ENGINE_PATIENCE + PATIENCE <= TRACE_STOP_MOST,
               "a session's end may wait for all of them");

/* This is guarded by the engines' lock, unless the comment of a member says otherwise. */
static struct {
    struct sass_library library; /* constant once it is filled */
    bool opened;                 /* [owner] */
    struct sass_context contexts[SASS_CONTEXTS];
    struct sass_device devices[SASS_DEVICES]; /* by the driver's ordinal; for the process */
    uint64_t described;                       /* bit by device: its settings were written */
    bool started;
    bool stayed;        /* a context goes on counting: sass_context.unloaded */
    bool resting;       /* between windows, or ended early: no context counts */
    bool after_samples; /* Deep: program counters were sampled before */
    bool keeping;       /* counts are kept: there are no windows, or one is open */
    bool counted;       /* something other than 0 was written in this session */
    struct sass_missing missing;

    _Atomic bool deferred; /* engine Deep samples first, then begins this. Release, acquire */
    _Atomic bool pending;  /* a context begins counting with the next launch; relaxed */
    _Atomic int64_t
        retry; /* ns: not before that, as launches did not return; 0: at once; relaxed */
    _Atomic uint64_t launches, graphs; /* kernels and graphs, or graphs alone; relaxed */
    _Atomic int64_t due;               /* ns: when the counts are to be taken next; relaxed */
} me;

/* ---- contexts ---------------------------------------------------------------------------- */

/* Begins counting in idle contexts; in a context that was too new for it, counting begins with the
 * first launch. The lock is held, and the gate is shut. */
static int enable_all(struct trace *t, cuda_context launching, struct err *e)
{
    bool young = false;
    int rc = 0;
    for (size_t i = 0; !rc && i < SASS_CONTEXTS; i++) {
        struct sass_context *c = &me.contexts[i];
        struct sass_device *d = &me.devices[c->device];
        if (c->state != SASS_IDLE)
            continue;
        rc = sass_device_configure(d, c->device, &me.library, t->cupti, e);
        rc = rc ? rc : sass_context_enable(c, d, &me.library, t->cupti, e);
        c->due = clock_mono() + PERIOD;
        if (rc && e->vendor == CUPTI_E_INVALID_CONTEXT && c->handle != launching) {
            young = true;
            rc = 0;
        }
    }
    atomic_store_explicit(&me.pending, young && !rc, memory_order_relaxed);
    atomic_store_explicit(&me.retry, 0, memory_order_relaxed);
    trace_began(t, ENGINE_SASS_METRICS);
    return rc;
}

/* Notes that idle contexts begin with a later launch, so that counts of earlier launches are
 * missing. The lock is held. */
static void note_late(void)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++) {
        struct sass_context *c = &me.contexts[i];
        me.missing.late += c->state == SASS_IDLE && !c->late;
        c->late |= c->state == SASS_IDLE;
    }
}

/* Puts the beginning off: counting must not begin while launches run, and they did not return. The
 * lock is held. */
static void put_off(void)
{
    if (me.keeping)
        note_late();
    atomic_store_explicit(&me.retry, clock_mono() + RETRY, memory_order_relaxed);
    atomic_store_explicit(&me.pending, true, memory_order_relaxed);
    cupti_fatal_suspect(); /* CUPTI may have ended, and not reported the end of a launch */
}

/* Begins counting. The lock is held. launching: the context in which a launch begins, or NULL; if
 * it is still too new, that is a failure. patience: ns, how long launches of other threads may take
 * to return; if they do not, nothing is switched. False: counting was refused. */
static bool contexts_begin(struct trace *t, cuda_context launching, int64_t patience)
{
    struct err e = {0};
    int rc = 0;
    if (nv_engine_failed(t, NV_SASS_METRICS))
        return true;
    if (sass_gate_shut(patience))
        rc = enable_all(t, launching, &e);
    else
        put_off();
    sass_gate_open();
    if (rc)
        nv_engine_fail(t, NV_SASS_METRICS, e.text);
    return rc == 0;
}

/* The lock is held. */
static void context_add(struct trace *t, cuda_context handle)
{
    uint32_t device = 0, number = 0;
    if (sass_contexts_find(me.contexts, handle))
        return;
    struct sass_context *c = sass_contexts_room(me.contexts);
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(handle, &device);
    if (!c || device >= SASS_DEVICES) {
        me.missing.crowd++;
        return;
    }
    if (me.library.cuptiGetContextId)
        me.library.cuptiGetContextId(handle, &number);
    sass_context_init(c, handle, number, device);
}

static bool begin_in(struct trace *t, cuda_context context)
{
    bool counts = true;
    if (!me.opened || !context || !engine_enter(ENGINE_PATIENCE))
        return counts;
    if (me.started && !me.resting) {
        context_add(t, context);
        counts = contexts_begin(t, NULL, ENDING_PATIENCE);
    }
    engine_leave();
    return counts;
}

static bool begin_pending(struct trace *t)
{
    bool counts = true;
    if (!atomic_load_explicit(&me.pending, memory_order_relaxed) || !me.opened ||
        clock_mono() < atomic_load_explicit(&me.retry, memory_order_relaxed))
        return counts;
    cuda_context current = cuda_current();
    if (!current || !engine_enter(ENGINE_PATIENCE))
        return counts;
    if (me.started && !me.resting && atomic_load_explicit(&me.pending, memory_order_relaxed))
        counts = contexts_begin(t, current, ENDING_PATIENCE);
    engine_leave();
    return counts;
}

static void sass_context_gone(struct trace *t, cuda_context context)
{
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    struct sass_context *c = sass_contexts_find(me.contexts, context);
    if (c && c->state == SASS_ON) {
        /* If launches do not return, they are in other contexts, or the program is faulty. A
         * context that is destroyed while it counts would end the process. */
        bool alone = sass_gate_shut(ENDING_PATIENCE);
        sass_context_disable(c, &me.library, me.keeping);
        me.missing.concurrent += !alone && me.keeping;
        sass_gate_open();
    }
    if (c) {
        c->state = SASS_GONE;
        c->handle = NULL;
    }
    engine_leave();
    if (c && s)
        s->ops->wake(s); /* the collector frees its entry for another context */
}

/* ---- taking ------------------------------------------------------------------------------ */

static void count_launch(bool graph)
{
    atomic_fetch_add_explicit(&me.launches, 1, memory_order_relaxed);
    if (graph)
        atomic_fetch_add_explicit(&me.graphs, 1, memory_order_relaxed);
}

/* Takes the counts of all contexts. False: the library did not give those of a context, and keeps
 * them. The lock is held. */
static bool take_all(void)
{
    bool taken = true;
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if (me.contexts[i].state == SASS_ON)
            taken &= sass_context_drain(&me.contexts[i], &me.library, me.keeping) == CUPTI_OK;
    return taken;
}

/* Returns when the next context is due, at most a period from now. The lock is held. */
static int64_t next_due(void)
{
    int64_t next = clock_mono() + PERIOD;
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        if (me.contexts[i].state == SASS_ON && me.contexts[i].due < next)
            next = me.contexts[i].due;
    return next;
}

/* Takes the counts of the calling thread's context only: kernels of another context may wait for
 * the next launch of this thread. The lock is held. */
static void take_own(int64_t time)
{
    cuda_context current = cuda_current();
    struct sass_context *c = current ? sass_contexts_find(me.contexts, current) : NULL;
    if (!c || c->state != SASS_ON || time < c->due)
        return;
    if (sass_gate_shut(0))
        c->due =
            sass_context_drain(c, &me.library, me.keeping) == CUPTI_OK ? time + PERIOD : INT64_MAX;
    sass_gate_open();
}

static void take_done(void)
{
    int64_t time = clock_mono();
    if (time < atomic_load_explicit(&me.due, memory_order_relaxed) || !me.opened ||
        !engine_enter(0))
        return;
    take_own(time);
    atomic_store_explicit(&me.due, next_due(), memory_order_relaxed);
    engine_leave();
}

/* Ends counting. The lock is held, the gate is shut. alone: no launch is running; else contexts go
 * on counting, because the library would fault. So do contexts whose code was unloaded. ended: at
 * the end of the session; else contexts stay known. */
static void contexts_end(bool alone, bool ended)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++) {
        struct sass_context *c = &me.contexts[i];
        bool on = c->state == SASS_ON, stays = on && c->unloaded;
        if (on && alone && !stays)
            sass_context_disable(c, &me.library, me.keeping);
        else if (on)
            sass_context_drain(c, &me.library, me.keeping);
        me.stayed |= stays;
        if (c->state != SASS_FREE && (ended || !stays))
            c->state = SASS_GONE;
    }
}

/* Takes the counts when a call begins that unloads code or destroys a context. Where program
 * counters were sampled before, counting ends before code is unloaded: a CUDA graph that is made
 * later would fault (ADR 11). If launches of other threads do not return, counting goes on. */
static void take_ending(bool code)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    bool ends = code && me.after_samples && sass_contexts_whole(me.contexts);
    bool alone = sass_gate_shut(ends ? PATIENCE : ENDING_PATIENCE);
    take_all();
    if (ends && alone) {
        contexts_end(true, false);
        me.resting = me.missing.ended = true;
    }
    for (size_t i = 0; code && i < SASS_CONTEXTS; i++)
        me.contexts[i].unloaded |= me.contexts[i].state == SASS_ON;
    me.missing.concurrent += !alone && me.keeping;
    sass_gate_open();
    engine_leave();
}

/* ---- life -------------------------------------------------------------------------------- */

static int sass_open(struct trace *t, struct err *e)
{
    struct sass_library l;
    int rc = sass_library_open(&l, t->cupti, e);
    if (rc || !engine_enter(ENGINE_PATIENCE))
        return rc ? rc : err_set(e, GPUFL_E_STATE, "the session before is still ending");
    me.library = l;
    for (size_t i = 0; i < SASS_CONTEXTS; i++)
        sass_context_close(&me.contexts[i]);
    me.stayed = me.counted = false;
    me.keeping = !t->switched;
    me.described = 0;
    me.resting = me.after_samples = false;
    me.missing = (struct sass_missing){0};
    atomic_store(&me.pending, false);
    atomic_store(&me.retry, 0);
    atomic_store(&me.deferred, false);
    atomic_store(&me.launches, 0);
    atomic_store(&me.graphs, 0);
    atomic_store(&me.due, 0);
    sass_gate_begin();
    code_copies_begin();
    me.opened = true;
    engine_leave();
    return 0;
}

static bool begin_here(struct trace *t)
{
    cuda_context current = cuda_current();
    bool counts = true;
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return counts;
    me.started = true;
    if (current) {
        context_add(t, current);
        counts = contexts_begin(t, NULL, PATIENCE);
    }
    engine_leave();
    return counts;
}

/* The lock is held; the gate is shut if a context counts. Counts from before the switch are kept
  * or dropped as before the switch; counts that the library does not give when a window closes are
  * lost.
 */
static int switch_keeping(bool open, struct err *e)
{
    for (size_t i = 0; i < SASS_CONTEXTS; i++) {
        struct sass_context *c = &me.contexts[i];
        bool taken =
            c->state != SASS_ON || sass_context_drain(c, &me.library, me.keeping) == CUPTI_OK;
        if (!taken && open)
            return err_set(e, GPUFL_E_VENDOR, "CUPTI does not deliver what was counted before");
        c->dropped += !taken;
    }
    for (size_t i = 0; i < SASS_CONTEXTS && open; i++)
        if (me.contexts[i].state == SASS_ON)
            drain_window_open(&me.contexts[i].kept, clock_mono());
    if (open && atomic_load_explicit(&me.retry, memory_order_relaxed))
        note_late();
    me.keeping = open;
    return 0;
}

static int sass_window(struct trace *t, bool open, struct err *e)
{
    bool alone = true;
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return err_set(e, GPUFL_E_STATE, "counts are being delivered: try again");
    bool counts = sass_contexts_count(me.contexts);
    if (counts)
        alone = sass_gate_shut(PATIENCE);
    int rc = open && nv_engine_failed(t, NV_SASS_METRICS)
                 ? nv_engine_unavailable(t, NV_SASS_METRICS, e)
                 : switch_keeping(open, e);
    me.missing.concurrent += !rc && !alone;
    if (!alone) /* CUPTI may have ended, and not reported the end of a launch */
        cupti_fatal_suspect();
    if (counts)
        sass_gate_open();
    engine_leave();
    return rc;
}

static void sass_stop(struct trace *t, bool quiet)
{
    (void)t, (void)quiet;
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    me.started = false;
    if (sass_contexts_count(me.contexts)) {
        bool alone = sass_gate_shut(PATIENCE);
        contexts_end(alone, true);
        sass_gate_open();
        if (!alone)
            cupti_fatal_suspect();
    } else { /* else calls would be waited for that ended while CUPTI was detached */
        contexts_end(true, true);
    }
    engine_leave();
}

static enum suspended sass_suspend(struct trace *t)
{
    (void)t;
    if (!me.opened || !engine_enter(ENGINE_PATIENCE_SUSPEND))
        return SUSPEND_LATER;
    bool alone = sass_gate_shut(0);
    if (alone)
        contexts_end(true, false);
    me.resting |= alone;
    sass_gate_open();
    engine_leave();
    return alone ? SUSPEND_DONE : SUSPEND_LATER;
}

static bool counts_anywhere(struct trace *t)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return false;
    bool counts =
        me.started && (!nv_engine_failed(t, NV_SASS_METRICS) || sass_contexts_count(me.contexts));
    engine_leave();
    return counts;
}

static void sass_wake(struct trace *t)
{
    (void)t;
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    me.resting = false;
    engine_leave();
}

/* ---- the collector's rounds -------------------------------------------------------------- */

static void context_write(struct trace *t, struct sass_context *c)
{
    uint64_t device = UINT64_C(1) << c->device, lost = c->dropped + c->tally.lost;
    if (!c->kept.count)
        return;
    me.counted |= sass_context_write(t, c, me.described & device ? NULL : &me.devices[c->device]);
    me.described |= device;
    me.missing.lost += lost;
}

static void conclude(struct trace *t)
{
    uint64_t all = atomic_load_explicit(&me.launches, memory_order_relaxed);
    uint64_t of_graphs = atomic_load_explicit(&me.graphs, memory_order_relaxed);
    struct sink *s = t->sink;
    bool failed = nv_engine_failed(t, NV_SASS_METRICS);
    bool nothing = me.opened && all && !me.counted && !failed && !me.missing.ended &&
                   !t->switched && !cupti_fatal(t);
    if (nothing && faults_seen())
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.nothing",
                        "what was counted of %" PRIu64
                        " launches is lost with the context, in which a "
                        "kernel faulted",
                        all);
    else if (nothing && me.missing.late_said)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.nothing",
                        "no instruction of %" PRIu64 " launches is counted: launches of other "
                        "threads did not return while counting was to begin",
                        all);
    else if (nothing)
        s->ops->message(s, SEVERITY_WARNING, "sass_metrics.nothing",
                        "CUPTI counted no instruction of %" PRIu64
                        " launches: use another version of it (GPUFL_CUPTI_PATH), and end "
                        "other tools that trace kernels",
                        all);
    if (me.opened && of_graphs && !failed)
        s->ops->message(s, SEVERITY_NOTE, "sass_metrics.graphs",
                        "kernels of %" PRIu64 " graph launches may be missing among the counts: "
                        "CUPTI does not instrument all graphs",
                        of_graphs);
    if (me.opened && me.stayed)
        s->ops->message(s, SEVERITY_NOTE, "sass_metrics.stays",
                        "kernels stay instrumented until the process ends, and whether CUPTI "
                        "dropped counts is not known: the program had unloaded code");
    me.opened = false;
}

static void sass_drain(struct trace *t)
{
    if (!me.opened || !engine_enter(ENGINE_PATIENCE))
        return;
    cubins_drain(me.library.cuptiGetCubinCrc, t->sink);
    for (size_t i = 0; i < SASS_CONTEXTS; i++) {
        struct sass_context *c = &me.contexts[i];
        if (c->state == SASS_FREE)
            continue;
        context_write(t, c);
        if (c->state == SASS_GONE)
            sass_context_close(c);
    }
    sass_missing_say(&me.missing, t->sink);
    engine_leave();
    if (t->stopped)
        conclude(t);
}

/* ---- the engine ---------------------------------------------------------------------------- */

/* If a context cannot count, kernels are recorded instead. */
static void begun(struct trace *t, bool counts)
{
    if (!counts)
        nv_engines_record(t);
}

static void sass_start(struct trace *t)
{
    if (!atomic_load_explicit(&me.deferred, memory_order_acquire))
        begun(t, begin_here(t));
}

static void sass_context(struct trace *t, cuda_context context)
{
    begun(t, begin_in(t, context));
}

void sass_metrics_defer(void)
{
    atomic_store_explicit(&me.deferred, true, memory_order_release);
}

bool sass_metrics_begin(struct trace *t, const cuda_context *contexts, size_t count)
{
    me.after_samples = true; /* no thread is in the driver, so nobody reads it */
    begin_here(t);
    for (size_t i = 0; i < count; i++)
        begin_in(t, contexts[i]);
    bool counts = counts_anywhere(t);
    if (counts)
        atomic_store_explicit(&me.deferred, false, memory_order_release);
    return counts;
}

/* [hot] */
static void sass_entered(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)c;
    if (atomic_load_explicit(&me.deferred, memory_order_acquire))
        return;
    if (call_moments[id] == MOMENT_ENDING)
        take_ending(call_unloads[id]);
    if (call_launches(id)) {
        count_launch(call_roles[id] == ROLE_GRAPH);
        begun(t, begin_pending(t));
    }
    if (call_loads[id])
        sass_gate_enters();
}

/* [hot] */
static void sass_left(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)t, (void)c;
    if (atomic_load_explicit(&me.deferred, memory_order_acquire))
        return;
    if (call_moments[id] == MOMENT_DONE)
        take_done();
    if (call_loads[id])
        sass_gate_leaves();
}

/* The call may have begun while the engine still counted. [hot] */
static void sass_left_outside(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)t, (void)c;
    if (call_loads[id])
        sass_gate_leaves();
}

const struct nv_engine_ops sass_metrics_engine = {
    .asks = ENGINE_SASS_METRICS,
    .brings = ENGINE_SASS_METRICS,
    .feature = "sass_metrics",
    .code = "sass_metrics.unavailable",
    .nothing = "no instructions are counted",
    .events = NV_CONTEXT_AND_MODULE_EVENTS,
    .contexts = NV_EVERY_CONTEXT,
    .moments = true,
    .alone = true,
    .edges_wait = true,
    .open = sass_open,
    .start = sass_start,
    .stop = sass_stop,
    .window = sass_window,
    .suspend = sass_suspend,
    .wake = sass_wake,
    .context = sass_context,
    .context_gone = sass_context_gone,
    .entered = sass_entered,
    .left = sass_left,
    .left_outside = sass_left_outside,
    .drain = sass_drain,
};
