/* trace.c - the Trace engine: attaching to CUPTI, its activity kinds, and the way
 * of a buffer from CUPTI to the decoder.
 *
 * Order of attaching: subscribe first, so that another profiler is refused rather
 * than getting half of the records; then the clock, before the first kind is
 * enabled; then buffers, callbacks and kinds. The driver is never initialized from
 * here. Inside its own initialization (injection), or before it, all of this is
 * allowed; should a library want an initialized driver to enable a kind, enabling
 * waits for the callback that says it is.
 *
 * Order of detaching: kinds off, launch callbacks inert, unsubscribed. CUPTI is
 * finalized between windows only (see there): at the end that gains nothing. Callbacks that come late find `live` NULL, buffers
 * that come late go back to the pool.
 *
 * After fork the child's copy of CUPTI lacks its worker thread: it runs on, but a
 * flush in it never returns (seen on an H200). The child stays silent: nothing calls
 * CUPTI there, and callbacks find nothing to do. */
#include "backend/nvidia/trace.h"

#include "backend/nvidia/cubins.h"
#include "backend/nvidia/cuda.h"
#include "backend/nvidia/graphs.h"
#include "backend/nvidia/launches.h"
#include "backend/nvidia/pc_sampling.h"
#include "backend/nvidia/pm_sampling.h"
#include "backend/nvidia/range_profiler.h"
#include "backend/nvidia/records.h"
#include "backend/nvidia/sass_metrics.h"
#include "base/clock.h"
#include "base/dl.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The one of this process; see trace.h. */
static struct trace the_trace;

/* Activity kinds and what they are called in the session's capabilities. */
static const struct {
    int kind;
    const char *feature; /* NULL: part of the row before */
    size_t wanted;       /* offset of the bool in struct trace_config; 0: always */
    bool required;
} kinds[] = {
    {CUPTI_KIND_CONTEXT, NULL, 0, false},
    {CUPTI_KIND_OVERHEAD, "overhead", 0, false},
    {CUPTI_KIND_MEMCPY, "copies", 0, false},
    {CUPTI_KIND_PEER, NULL, 0, false},
    {CUPTI_KIND_MEMSET, NULL, 0, false},
    {CUPTI_KIND_SYNC, "synchronizations", offsetof(struct trace_config, synchronization), false},
    {CUPTI_KIND_EXTERNAL, "external_correlation",
     offsetof(struct trace_config, external_correlation), false},
    /* Ids stand before records of the calls that they are pushed around, and nowhere else. */
    {CUPTI_KIND_DRIVER, NULL, offsetof(struct trace_config, external_correlation), false},
    {CUPTI_KIND_RUNTIME, NULL, offsetof(struct trace_config, external_correlation), false},
    {CUPTI_KIND_MEMORY, "memory", offsetof(struct trace_config, memory), false},
    {CUPTI_KIND_KERNEL, "kernels", 0, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds, NOT_TRIED = -1 };
enum { CALLS_WITHOUT_IDS = 20000 }; /* after which none are looked for any longer */
enum { FLUSH_PATIENCE = 100000000, FLUSH_PAUSE = 1000000 }; /* ns */

/* Nothing but counters: no callback comes with a launch or a wait. */
static bool counters_alone(const struct trace *t)
{
    return (t->config.engines & ENGINE_PM_SAMPLING) && t->config.pc_collect == PC_COLLECT_NONE;
}

/* Engine Sync takes callbacks alone, and so do samples alone. */
static bool kinds_wanted(const struct trace *t)
{
    return (t->config.engines & ENGINE_TRACE) &&
           !((t->config.engines & (ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING)) &&
             t->config.pc_collect == PC_COLLECT_NONE);
}

static bool kind_wanted(const struct trace *t, unsigned i)
{
    if (!kinds_wanted(t))
        return false;
    if (t->sass && !atomic_load(&t->kernels_instead))
        return false; /* nothing is recorded beside instrumented kernels: sass_metrics.h */
    bool calls = kinds[i].kind == CUPTI_KIND_DRIVER || kinds[i].kind == CUPTI_KIND_RUNTIME;
    bool stays =
        t->config.engines & ENGINE_PC_SAMPLING; /* could not be given up: see kinds_disable */
    if (calls && (t->no_ids || (stays && !t->config.external_always)))
        return false;
    if (!kinds[i].wanted)
        return true;
    return *(const bool *)((const char *)&t->config + kinds[i].wanted);
}

/* ---- fork ------------------------------------------------------------------------------ */

/* In the child: CUPTI's own thread is gone, so that calling it may never return. What
 * it still calls us for is refused. Stores only: other threads' locks are lost too. */
static void on_fork_child(void)
{
    atomic_store(&the_trace.live, NULL);
    atomic_store(&the_trace.hold, HOLD_NONE);
    atomic_store(&the_trace.passing, false);
    atomic_store(&the_trace.pool, NULL);
}

/* True in a child of the process that attached. */
static bool forked(const struct trace *t)
{
    return t->process && t->process != getpid();
}

static void fork_watch(void)
{
    static bool watching; /* owner's, as all of open */
    if (!watching)
        watching = pthread_atfork(NULL, NULL, on_fork_child) == 0;
}

/* ---- buffers --------------------------------------------------------------------------- */

static uint64_t on_clock(void)
{
    return (uint64_t)clock_mono();
}

/* [hot] On a thread of the program, or CUPTI's own. */
static void on_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct buffers *pool = atomic_load_explicit(&the_trace.pool, memory_order_acquire);
    bool hears = atomic_load_explicit(&the_trace.hears, memory_order_relaxed);
    *buffer = pool && hears ? buffers_take(pool) : NULL;
    *size = *buffer ? pool->size : 0;
    *max_records = 0;
    struct sink *s = atomic_load_explicit(&the_trace.live, memory_order_acquire);
    if (*buffer || !s || !hears)
        return;
    s->ops->lost(s, LOSS_POOL, 1);
    s->ops->wake(s);
}

/* [hot] On a thread of CUPTI's, or on the collector's inside a flush. */
static void on_buffer_completed(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid)
{
    (void)context, (void)stream, (void)size;
    struct buffers *pool = atomic_load_explicit(&the_trace.pool, memory_order_acquire);
    bool floor = atomic_load_explicit(&the_trace.floor, memory_order_relaxed);
    if (!pool || !buffer || !buffers_give(pool, buffer, valid, floor))
        return;
    struct sink *s = atomic_load_explicit(&the_trace.live, memory_order_acquire);
    if (s && buffers_pressing(pool))
        s->ops->wake(s);
}

/* [collector] */
static void trace_take(struct trace *t)
{
    if (forked(t))
        return;
    struct queue_node *list = buffers_filled(atomic_load_explicit(&t->pool, memory_order_relaxed));
    struct queue_node **end = &t->taken;
    while (*end)
        end = &(*end)->next;
    *end = list;
}

static void prescan_from(struct trace *t, struct buffers *pool, struct queue_node *n)
{
    for (; n; n = n->next) {
        struct buffer *b = (struct buffer *)n;
        if (!b->floor)
            records_prescan(t->records, buffers_memory(pool, b), b->valid);
    }
}

static void announce(struct trace *t);
static void window_taken(struct trace *t);

static void kind_disable(struct trace *t, int kind);

/* Records of calls cost a launch some 0.1 us, and few programs push ids: where none came with the
 * first calls, these records are given up, unless the ids were asked for by name. */
static void look_for_ids(struct trace *t)
{
    bool ids;
    if (t->no_ids || !t->config.external_correlation || t->config.external_always || t->pc ||
        records_calls(t->records, &ids) < CALLS_WITHOUT_IDS || ids)
        return;
    t->no_ids = true;
    int hold = atomic_load_explicit(&t->hold, memory_order_acquire);
    if (t->config.windows && hold != HOLD_OPEN && hold != HOLD_SHUT)
        return; /* CUPTI is not there */
    kind_disable(t, CUPTI_KIND_DRIVER);
    kind_disable(t, CUPTI_KIND_RUNTIME);
}

/* [collector] */
static void trace_drain(struct trace *t)
{
    if (forked(t))
        return;
    struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    struct queue_node *next;
    bool scanned = records_want_prescan(t->records);
    if (atomic_exchange_explicit(&t->announce, false, memory_order_acquire))
        announce(t);
    if (scanned)
        prescan_from(t, pool, t->taken);
    for (struct queue_node *n = t->taken; n; n = next) {
        struct buffer *b = (struct buffer *)n;
        uint8_t *memory = buffers_memory(pool, b);
        next = n->next;
        if (b->floor)
            t->sink->ops->lost(t->sink, LOSS_FLOOR,
                               records_count_kernels(t->cupti, memory, b->valid));
        else
            records_decode(t->records, memory, b->valid);
        if (!scanned && records_want_prescan(t->records)) {
            prescan_from(t, pool, next);
            scanned = true;
        }
        buffers_release(pool, b);
    }
    t->taken = NULL;
    look_for_ids(t);
    if (t->pm)
        pm_sampling_drain(t, t->stopped);
    if (t->ranges)
        range_profiler_drain(t);
    if (t->config.windows)
        window_taken(t);
    if (t->pc)
        pc_sampling_drain(t);
    if (t->pc && t->stopped)
        pc_sampling_totals(t);
    if (t->sass)
        sass_metrics_drain(t);
    if (t->sass && t->stopped)
        sass_metrics_close(t);
}

/* Says once a session that a call failed: it is made again with every flush. */
static void say_failure(struct trace *t, bool *said, enum severity severity, int result,
                        const char *code, const char *doing)
{
    struct err e;
    if (*said || result == CUPTI_OK || result == CUPTI_E_NOT_INITIALIZED)
        return;
    *said = true;
    cupti_error(t->cupti, result, doing, &e);
    t->sink->ops->message(t->sink, severity, code, "%s", e.text);
}

static void dropped_count(struct trace *t)
{
    size_t dropped = 0;
    if (!atomic_load_explicit(&t->hears, memory_order_relaxed))
        return; /* records that nobody wants */
    int result = t->cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    if (result == CUPTI_OK && dropped)
        t->sink->ops->lost(t->sink, LOSS_DRIVER, dropped);
    say_failure(t, &t->dropped_failed, SEVERITY_NOTE, result, "cupti.dropped",
                "to tell how many records it dropped");
}

/* A forced flush hands over records of kernels that still run, without times: they
 * are lost. So the end waits a moment for what is in flight. */
static void flush_finished(struct trace *t)
{
    const struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    int64_t deadline = clock_mono() + FLUSH_PATIENCE;
    while (t->cupti->cuptiActivityFlushAll(0) == CUPTI_OK && buffers_out(pool) &&
           clock_mono() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_PAUSE}, NULL);
}

/* [collector] About 7 ms at full rate, on this thread only. */
static int trace_flush(struct trace *t, bool all)
{
    int hold = atomic_load_explicit(&t->hold, memory_order_acquire);
    if (forked(t))
        return GPUFL_E_STATE;
    if (t->config.windows && hold != HOLD_OPEN && hold != HOLD_SHUT)
        return 0; /* CUPTI is not there, or about to go */
    bool shut = t->config.windows && hold == HOLD_SHUT;
    all |= shut;
    if (t->pc && !t->stopped)
        pc_sampling_flush(t);
    if (t->pm)
        pm_sampling_flush(t, t->stopped);
    if (t->sass && !atomic_load(&t->kernels_instead))
        return 0;
    if (all)
        flush_finished(t);
    int result = t->cupti->cuptiActivityFlushAll(all ? CUPTI_FLUSH_FORCED : 0);
    say_failure(t, &t->flush_failed, SEVERITY_WARNING, result, "cupti.flush",
                "to hand over its records");
    dropped_count(t);
    t->flushed = shut;
    return result == CUPTI_OK || result == CUPTI_E_NOT_INITIALIZED ? 0 : GPUFL_E_VENDOR;
}

/* ---- kinds ----------------------------------------------------------------------------- */

/* One feature is one row of kinds or several. What failed is said, unless kernels
 * failed: they are required, and whoever enabled them has said it. */
static void announce_feature(struct trace *t, unsigned i)
{
    struct sink *s = t->sink;
    struct err e = {0};
    int first = t->statuses[kinds[i].kind], result = first;
    for (unsigned j = i + 1; j < KINDS && !kinds[j].feature && result == CUPTI_OK; j++)
        result = t->statuses[kinds[j].kind];
    if (result > CUPTI_OK)
        cupti_error(t->cupti, result, "to enable all records of this kind", &e);
    s->ops->capability(s, kinds[i].feature, kind_wanted(t, i),
                       first == NOT_TRIED   ? "not_requested"
                       : result == CUPTI_OK ? "collected"
                       : first == CUPTI_OK  ? "partial"
                                            : "unavailable",
                       e.text);
    if (*e.text && t->statuses[CUPTI_KIND_KERNEL] <= CUPTI_OK)
        s->ops->message(s, SEVERITY_WARNING, "cupti.enable", "%s of the session are incomplete: %s",
                        kinds[i].feature, e.text);
}

/* CUPTI has one subscriber. Who else in this process will want to be it is told now,
 * before a person wonders why that tool is empty. */
static void announce_holder(struct trace *t)
{
    if (dl_find_loaded("libtorch_cpu.so", NULL, 0))
        t->sink->ops->message(t->sink, SEVERITY_NOTE, "cupti.held",
                              "gpufl holds CUPTI: torch.profiler records no GPU events in this "
                              "program; GPUFL_YIELD_CUPTI=1 leaves CUPTI to it, and then gpufl "
                              "records no kernels");
}

static void announce(struct trace *t)
{
    if (!t->announced)
        announce_holder(t);
    t->announced = true;
    struct sink *s = t->sink;
    for (unsigned i = 0; i < KINDS; i++)
        if (kinds[i].feature)
            announce_feature(t, i);
    s->ops->capability(s, "graphs", t->config.graph_launches,
                       t->config.graph_launches ? "collected" : "not_requested", "");
}

static void kind_disable(struct trace *t, int kind)
{
    uint64_t bit = UINT64_C(1) << kind;
    if (atomic_fetch_and(&t->kinds, ~bit) & bit)
        t->cupti->cuptiActivityDisable(kind);
}

/* Returns an enum cupti_result: of the first required kind that failed. Those after it
 * are not tried, and failed with it. */
static int kinds_enable(struct trace *t)
{
    int failed = CUPTI_OK;
    for (unsigned i = 0; i < KINDS; i++) {
        int kind = kinds[i].kind;
        t->statuses[kind] = kind_wanted(t, i) ? failed : NOT_TRIED;
        if (t->statuses[kind] != CUPTI_OK || atomic_load(&t->kinds) >> kind & 1)
            continue; /* those of a session before may have had to stay on */
        int result = t->cupti->cuptiActivityEnable(kind);
        t->statuses[kind] = result;
        if (result == CUPTI_OK)
            atomic_fetch_or(&t->kinds, UINT64_C(1) << kind);
        else if (kinds[i].required || result == CUPTI_E_NOT_INITIALIZED)
            failed = result;
    }
    return failed;
}

/* Beside sampling they stay on: its library faults where they are disabled (ADR 10). Nobody hears
 * them then. */
static void kinds_disable(struct trace *t)
{
    if (pc_sampling_binds())
        return;
    for (unsigned i = 0; i < KINDS; i++)
        kind_disable(t, kinds[i].kind);
}

/* A context counts its instructions, or cannot: kernels are then recorded after all.
 *
 * Enabled alone, CUPTI instruments the first kernel that is launched and no other, and that only until
 * its counts are taken; asked for kernel records afterwards, which it refuses (error 14), it
 * instruments every kernel, for good (CUDA 13.0 on an H200, ADR 11). Should it not refuse,
 * they are switched off again: recorded kernels count 0. */
static void counting_begins(struct trace *t, enum sass_begin how)
{
    const struct cupti *c = t->cupti;
    if (how == SASS_COUNTS && c->cuptiActivityEnable(CUPTI_KIND_KERNEL) == CUPTI_OK)
        c->cuptiActivityDisable(CUPTI_KIND_KERNEL);
    if (how != SASS_FAILED || atomic_exchange(&t->kernels_instead, true))
        return;
    kinds_enable(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
}

/* ---- callbacks ------------------------------------------------------------------------- */

/* [hot] The driver has come up: what could not be enabled before it can be now. */
static void on_driver_up(struct trace *t, struct sink *s)
{
    struct err e;
    int result = kinds_enable(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
    if (result == CUPTI_OK)
        return;
    cupti_error(t->cupti, result, "to enable kernel records", &e);
    s->ops->message(s, SEVERITY_ERROR, "cupti.enable", "%s", e.text);
}

static void on_resource(struct trace *t, struct sink *s, uint32_t id,
                        const struct cupti_resource_event *r)
{
    const struct cupti_module_event *m;
    switch (id) {
    case CUPTI_RESOURCE_INIT_FINISHED:
        on_driver_up(t, s);
        break;
    case CUPTI_RESOURCE_CONTEXT_CREATED:
        if (t->pc)
            pc_sampling_context(t, r->context);
        if (t->pm)
            pm_sampling_context(t, r->context);
        if (t->sass)
            counting_begins(t, sass_metrics_context(t, r->context));
        break;
    case CUPTI_RESOURCE_MODULE_LOADED:
        m = r->detail;
        if (m)
            cubins_loaded(m->cubin, m->cubin_size);
        break;
    case CUPTI_RESOURCE_MODULE_UNLOAD:
        if (t->pc)
            pc_sampling_module_gone(t, r->context);
        break;
    default:
        break;
    }
}

static void context_gone(struct trace *t, cuda_context context)
{
    pc_sampling_context_gone(t, context);
    range_profiler_context_gone(context);
    sass_metrics_context_gone(t, context);
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
    if (domain != CUPTI_DOMAIN_RESOURCE) {
        launches_callback(user, domain, id, data);
        return;
    }
    struct trace *t = user;
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    const struct cupti_resource_event *r = data;
    if (id == CUPTI_RESOURCE_CONTEXT_DESTROY && !forked(t))
        context_gone(t, r->context); /* also between sessions */
    if (s)
        on_resource(t, s, id, data);
}

/* ---- attaching ------------------------------------------------------------------------- */

static int config_check(const struct trace_config *c, struct err *e)
{
    if (c->windows && (c->engines & ~(unsigned)(ENGINE_TRACE | ENGINE_SYNC)))
        return err_set(e, GPUFL_E_STATE,
                       "windows are for the engines Trace and Sync: this one cannot be switched "
                       "while the program runs");
    if (c->yield)
        return err_set(e, GPUFL_E_BUSY,
                       "CUPTI is left to another profiler (GPUFL_YIELD_CUPTI=1): no kernel "
                       "records in this session");
    return 0;
}

/* ns to add to CUPTI's times where it cannot use our clock: the best of some pairs. */
static int64_t clock_offset(const struct cupti *c)
{
    int64_t offset = 0, best = INT64_MAX;
    for (int i = 0; i < 8 && c->cuptiGetTimestamp; i++) {
        uint64_t theirs = 0;
        int64_t before = clock_mono();
        int result = c->cuptiGetTimestamp(&theirs);
        int64_t after = clock_mono();
        if (result != CUPTI_OK || after - before >= best)
            continue;
        best = after - before;
        offset = before + best / 2 - (int64_t)theirs;
    }
    return offset;
}

static void trace_close(struct trace *t);

/* What engines beyond Trace have to hear of. */
static int resources_enable(struct trace *t, struct err *e)
{
    static const int events[] = {CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_RESOURCE_CONTEXT_DESTROY,
                                 CUPTI_RESOURCE_MODULE_LOADED, CUPTI_RESOURCE_MODULE_UNLOAD};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        int result = t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                                   (uint32_t)events[i]);
        if (result != CUPTI_OK)
            return cupti_error(t->cupti, result, "to report contexts and modules", e);
    }
    return 0;
}

/* Sampling that cannot be had costs the session nothing else. */
static void attach_sampling(struct trace *t)
{
    int rc = pc_sampling_open(t, &t->pc_lacks);
    rc = rc ? rc : resources_enable(t, &t->pc_lacks);
    t->pc = !rc;
    if (rc)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "pc_sampling.unavailable",
                              "no program counters are sampled: %s", t->pc_lacks.text);
}

static void attach_counters(struct trace *t)
{
    int rc = pm_sampling_open(t, &t->pm_lacks);
    int result = rc ? CUPTI_OK
                    : t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                                    CUPTI_RESOURCE_CONTEXT_CREATED);
    if (result != CUPTI_OK)
        rc = cupti_error(t->cupti, result, "to report contexts", &t->pm_lacks);
    t->pm = !rc;
    if (rc)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "pm_sampling.unavailable",
                              "no hardware counters are sampled: %s", t->pm_lacks.text);
}

static void attach_ranges(struct trace *t)
{
    int rc = range_profiler_open(t, &t->ranges_lack);
    int result = rc ? CUPTI_OK
                    : t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                                    CUPTI_RESOURCE_CONTEXT_DESTROY);
    if (result != CUPTI_OK)
        rc = cupti_error(t->cupti, result, "to report contexts", &t->ranges_lack);
    t->ranges = !rc;
    if (rc)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "range_profiler.unavailable",
                              "no scopes are counted: %s", t->ranges_lack.text);
}

/* So does counting: kernels are recorded instead. */
static void attach_counting(struct trace *t)
{
    int rc = 0;
    if (t->config.engines & ENGINE_PC_SAMPLING)
        rc = err_set(&t->sass_lacks, GPUFL_E_UNAVAILABLE,
                     "program counters are sampled, and instructions are not counted beside it: "
                     "trace the program once more with engine SassMetrics");
    rc = rc ? rc : sass_metrics_open(t, &t->sass_lacks);
    rc = rc ? rc : resources_enable(t, &t->sass_lacks);
    t->sass = !rc;
    if (!rc)
        return;
    t->sink->ops->capability(t->sink, "sass_metrics", true, "unavailable", t->sass_lacks.text);
    t->sink->ops->message(t->sink, SEVERITY_WARNING, "sass_metrics.unavailable",
                          "no instructions are counted: %s", t->sass_lacks.text);
}

/* Everything that CUPTI forgets when it is finalized. */
static int hook(struct trace *t, struct err *e)
{
    const struct cupti *c = t->cupti;
    int64_t offset = 0;
    int result = t->subscriber ? CUPTI_OK : c->cuptiSubscribe(&t->subscriber, on_callback, t);
    if (result != CUPTI_OK) {
        t->subscriber = NULL;
        return cupti_error(c, result, "to subscribe", e);
    }
    if (!c->cuptiActivityRegisterTimestampCallback ||
        c->cuptiActivityRegisterTimestampCallback(on_clock) != CUPTI_OK)
        offset = clock_offset(c);
    if (offset)
        records_shift(t->records, offset);
    if (c->cuptiSetThreadIdType)
        c->cuptiSetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
    result = c->cuptiActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_OK)
        return cupti_error(c, result, "to take our buffers", e);
    result = counters_alone(t) ? CUPTI_OK : launches_enable(t);
    return result == CUPTI_OK ? 0 : cupti_error(c, result, "to report launches", e);
}

static int attach(struct trace *t, struct err *e)
{
    struct buffers *pool = buffers_open(atomic_load_explicit(&t->pool, memory_order_relaxed),
                                        t->config.buffer_bytes, t->config.pool_bytes);
    if (!pool || records_open(&t->records, t->cupti, t->sink, 0) != 0)
        return err_set(e, GPUFL_E_NOMEM, "out of memory for activity buffers");
    atomic_store_explicit(&t->pool, pool, memory_order_release);
    if (t->config.windows && !t->config.passed)
        return 0; /* with the first window */
    int rc = hook(t, e);
    if (!rc && (t->config.engines & ENGINE_PC_SAMPLING))
        attach_sampling(t);
    if (!rc && (t->config.engines & ENGINE_PM_SAMPLING))
        attach_counters(t);
    if (!rc && (t->config.engines & ENGINE_RANGE_PROFILER))
        attach_ranges(t);
    if (!rc && (t->config.engines & ENGINE_SASS_METRICS))
        attach_counting(t);
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

static int trace_open(struct trace **out, const struct trace_config *config, struct sink *sink,
                      struct err *e)
{
    struct trace *t = &the_trace;
    *out = NULL;
    int rc = config_check(config, e);
    if (rc)
        return rc;
    if (forked(t))
        return err_set(e, GPUFL_E_STATE,
                       "this process was forked from one that CUPTI was attached to, and cannot be "
                       "traced: start it with gpufl trace, or call init in the children only");
    fork_watch();
    if (t->records)
        return err_set(e, GPUFL_E_STATE, "tracing is already open in this process");
    rc = cupti_open(&t->cupti, e);
    if (rc)
        return rc;
    say_ignored(t->cupti, sink);
    t->sink = sink;
    t->config = *config;
    t->process = getpid();
    t->flush_failed = t->dropped_failed = false;
    t->stopped = t->no_ids = t->pc = t->pm = t->ranges = t->sass = t->flushed = t->announced =
        false;
    atomic_store(&t->hold, HOLD_NONE);
    atomic_store(&t->passing, false);
    atomic_store(&t->finalized, 0);
    atomic_store(&t->not_finalized, 0);
    atomic_store(&t->kernels_instead, false);
    atomic_store(&t->quiet, false);
    t->pc_lacks = t->pm_lacks = t->ranges_lack = t->sass_lacks = (struct err){0};
    atomic_store(&t->floor, false);
    atomic_store(&t->captures, 0);
    atomic_store(&t->callback_ns, 0);
    atomic_store(&t->time_graphs, config->graph_launches);
    atomic_store(&t->waits, config->waits);
    if (!t->clock_ns)
        t->clock_ns = launches_clock_cost();
    rc = attach(t, e);
    if (rc) {
        trace_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* Sampling that outlived a session of another kind. */
static int refused_by_sampling(struct trace *t, int result, struct err *e)
{
    if (result != CUPTI_E_NOT_COMPATIBLE || !pc_sampling_lasts())
        return cupti_error(t->cupti, result, "to enable kernel records", e);
    return err_set(e, GPUFL_E_STATE,
                   "program counters are still sampled since an earlier session, beside which "
                   "kernel records cannot be begun: end sessions with gpufl_shutdown on the only "
                   "thread that uses the GPU, or use pc_kernel_collect=none");
}

/* Records come from here on. Returns an enum cupti_result. */
static int switch_on(struct trace *t)
{
    atomic_store_explicit(&t->since, clock_mono(), memory_order_relaxed);
    atomic_store_explicit(&t->hears, kinds_wanted(t), memory_order_relaxed);
    atomic_store_explicit(&t->live, t->sink, memory_order_release);
    int result = kinds_enable(t);
    if (result == CUPTI_E_NOT_INITIALIZED)
        return t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                             CUPTI_RESOURCE_INIT_FINISHED);
    atomic_store_explicit(&t->announce, true, memory_order_release);
    return result;
}

static void switch_off(struct trace *t)
{
    kinds_disable(t);
    atomic_store_explicit(&t->live, NULL, memory_order_release);
}

static int trace_start(struct trace *t, struct err *e)
{
    if (forked(t))
        return err_set(e, GPUFL_E_STATE, "a forked process cannot be traced");
    if (t->config.windows) {
        atomic_store_explicit(&t->hold, t->subscriber ? HOLD_SHUT : HOLD_NONE,
                              memory_order_release);
        atomic_store_explicit(&t->passing, t->config.passed, memory_order_release);
        return 0;
    }
    int result = switch_on(t);
    if (result == CUPTI_OK && t->pc)
        pc_sampling_start(t); /* after the kinds: afterwards they are refused */
    if (result == CUPTI_OK && t->pm)
        pm_sampling_start(t);
    if (result == CUPTI_OK && t->sass)
        counting_begins(t, sass_metrics_start(t));
    if (result == CUPTI_OK)
        return 0;
    switch_off(t);
    return refused_by_sampling(t, result, e);
}

/* ---- windows ------------------------------------------------------------------------------

   Finalizing frees what callbacks of other threads may stand in, so CUPTI's guide has it done at
   the exit of a call of the driver; it waits for the GPU and for those threads. Before that all
   is off and taken, so that nobody of us is inside CUPTI, nor comes: a new window first takes
   the word back, or waits until it is done. A stream that is being captured must not be waited
   for: then it goes on to the next call. */

enum { LET_GO_PATIENCE = 2000 }; /* pauses of FLUSH_PAUSE */

void trace_let_go(struct trace *t)
{
    int state = HOLD_LET_GO;
    if (atomic_load_explicit(&t->hold, memory_order_acquire) != HOLD_LET_GO ||
        atomic_load_explicit(&t->captures, memory_order_relaxed) > 0 ||
        !atomic_compare_exchange_strong(&t->hold, &state, HOLD_FINALIZING))
        return;
    bool done = t->cupti->cuptiFinalize() == CUPTI_OK;
    if (done) {
        t->subscriber = NULL;
        graphs_forget();
    }
    atomic_fetch_add(done ? &t->finalized : &t->not_finalized, 1);
    atomic_store_explicit(&t->hold, done ? HOLD_NONE : HOLD_SHUT, memory_order_release);
}

/* Nobody finalizes from here on: HOLD_NONE, or attached; HOLD_FINALIZING where that takes for ever. */
static int hold_take(struct trace *t)
{
    int state = HOLD_LET_GO;
    if (atomic_compare_exchange_strong(&t->hold, &state, HOLD_SHUT))
        return HOLD_SHUT;
    for (int i = 0; state == HOLD_FINALIZING && i < LET_GO_PATIENCE; i++) {
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_PAUSE}, NULL);
        state = atomic_load_explicit(&t->hold, memory_order_acquire);
    }
    return state;
}

static int window_open(struct trace *t, struct err *e)
{
    int state = hold_take(t);
    if (state == HOLD_FINALIZING)
        return err_set(e, GPUFL_E_TIMEOUT, "CUPTI has not come to an end since the last window");
    int rc = state == HOLD_NONE ? hook(t, e) : 0;
    if (rc && t->subscriber) {
        t->cupti->cuptiUnsubscribe(t->subscriber);
        t->subscriber = NULL;
    }
    if (rc)
        return rc;
    atomic_store_explicit(&t->passing, false, memory_order_release);
    int result = switch_on(t);
    if (result != CUPTI_OK)
        switch_off(t);
    atomic_store_explicit(&t->hold, result == CUPTI_OK ? HOLD_OPEN : HOLD_SHUT,
                          memory_order_release);
    return result == CUPTI_OK ? 0 : cupti_error(t->cupti, result, "to enable kernel records", e);
}

static int trace_window(struct trace *t, bool open, struct err *e)
{
    if (forked(t) || !t->config.windows)
        return err_set(e, GPUFL_E_STATE, "this session has no windows");
    if (open)
        return window_open(t, e);
    switch_off(t);
    atomic_store_explicit(&t->hold, HOLD_SHUT, memory_order_release);
    return 0;
}

static void trace_released(struct trace *t, uint64_t *done, uint64_t *failed)
{
    *done = atomic_load(&t->finalized);
    *failed = atomic_load(&t->not_finalized);
}

/* Nothing is left in CUPTI of a window that was shut: it can go. Where it could not once, it is
 * not tried again. */
static void window_taken(struct trace *t)
{
    int state = HOLD_SHUT;
    if (t->flushed && !t->stopped && t->cupti->cuptiFinalize && !atomic_load(&t->not_finalized) &&
        !atomic_load(&t->passing))
        atomic_compare_exchange_strong(&t->hold, &state, HOLD_LET_GO);
    t->flushed = false;
}

/* Kinds first: of a launch in between, counted is better than unheard of. */
static int trace_stop(struct trace *t)
{
    if (!forked(t) && t->pc)
        pc_sampling_stop(t, atomic_load_explicit(&t->quiet, memory_order_acquire));
    if (!forked(t) && t->ranges)
        range_profiler_stop(t, atomic_load_explicit(&t->quiet, memory_order_acquire));
    if (!forked(t) && t->sass)
        sass_metrics_stop(t);
    t->stopped = true;
    if (t->config.windows && !forked(t) && hold_take(t) == HOLD_OPEN)
        atomic_store_explicit(&t->hold, HOLD_SHUT, memory_order_release);
    atomic_store_explicit(&t->passing, false, memory_order_release);
    if (!forked(t))
        kinds_disable(t);
    atomic_store_explicit(&t->live, NULL, memory_order_release);
    return 0;
}

/* What is complete belongs to the mode before: it is flushed under its flag. */
static int trace_floor(struct trace *t, bool on)
{
    if (forked(t) || !(atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1))
        return GPUFL_E_STATE;
    t->cupti->cuptiActivityFlushAll(0);
    atomic_store_explicit(&t->floor, on, memory_order_relaxed);
    if (!on)
        return kinds_enable(t) == CUPTI_OK ? 0 : GPUFL_E_VENDOR;
    for (unsigned i = 0; i < KINDS; i++)
        if (kinds[i].kind != CUPTI_KIND_KERNEL)
            kind_disable(t, kinds[i].kind);
    return 0;
}

static void trace_range(struct trace *t, uint64_t instance, bool begins)
{
    if (t->ranges && !forked(t))
        range_profiler_scope(t, instance, begins);
}

static void trace_quiet(struct trace *t)
{
    atomic_store_explicit(&t->quiet, true, memory_order_release);
}

/* Sampling without kernel records stands for both: nothing else was asked for. */
static unsigned sampling_lacks(struct trace *t, const char **why)
{
    const char *text = t->pc ? pc_sampling_failure() : t->pc_lacks.text;
    if (!*text)
        return 0;
    *why = text;
    return ENGINE_PC_SAMPLING | (t->config.pc_collect == PC_COLLECT_NONE ? ENGINE_TRACE : 0);
}

static unsigned trace_running(struct trace *t, const char **why)
{
    unsigned bits = t->config.engines, lacks = 0;
    *why = "";
    if (bits & ENGINE_PM_SAMPLING) {
        *why = t->pm ? pm_sampling_failure() : t->pm_lacks.text;
        if (**why && counters_alone(t))
            return 0;
        lacks |= **why ? ENGINE_PM_SAMPLING : 0;
    }
    if (bits & ENGINE_RANGE_PROFILER) {
        *why = t->ranges ? range_profiler_failure() : t->ranges_lack.text;
        lacks |= **why ? ENGINE_RANGE_PROFILER : 0;
    }
    if (bits & ENGINE_SASS_METRICS) {
        *why = t->sass ? sass_metrics_failure() : t->sass_lacks.text;
        lacks |= **why ? ENGINE_SASS_METRICS : 0;
    }
    if (bits & ENGINE_PC_SAMPLING)
        lacks |= sampling_lacks(t, why);
    return bits & ~lacks ? bits & ~lacks : ENGINE_SYNC;
}

static void trace_cost(struct trace *t, struct trace_cost *out)
{
    out->callbacks_ns = launches_cost(t);
    out->launches_counted =
        !counters_alone(t) && !t->config.windows; /* at edges of windows nobody can tell */
}

static void trace_close(struct trace *t)
{
    struct buffers *pool = atomic_load_explicit(&t->pool, memory_order_relaxed);
    if (forked(t))
        return;
    trace_stop(t);
    atomic_store_explicit(&t->hears, false, memory_order_relaxed);
    if (t->subscriber && (!t->pc || !pc_sampling_lasts()) && !range_profiler_lasts()) {
        t->cupti->cuptiUnsubscribe(t->subscriber);
        t->subscriber = NULL;
    }
    if (t->records)
        trace_drain(t); /* taken but not decoded: nothing, where drain was called */
    if (pool)
        buffers_trim(pool);
    if (t->pm)
        pm_sampling_close();
    records_close(t->records);
    t->records = NULL;
}

const struct trace_ops nvidia_trace = {
    .engines = ENGINE_TRACE | ENGINE_SYNC | ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING |
               ENGINE_RANGE_PROFILER | ENGINE_SASS_METRICS,
    .alone = ENGINE_SASS_METRICS,
    .range = trace_range,
    .open = trace_open,
    .start = trace_start,
    .stop = trace_stop,
    .quiet = trace_quiet,
    .flush = trace_flush,
    .take = trace_take,
    .drain = trace_drain,
    .cost = trace_cost,
    .window = trace_window,
    .released = trace_released,
    .running = trace_running,
    .floor = trace_floor,
    .close = trace_close,
};
