/* profilers.c - see profilers.h. */
#include "backend/nvidia/profilers.h"

#include "backend/nvidia/deep.h"
#include "backend/nvidia/ended.h"
#include "backend/nvidia/engine_time.h"
#include "backend/nvidia/kinds.h"
#include "backend/nvidia/pc_sampling.h"
#include "backend/nvidia/pm_sampling.h"
#include "backend/nvidia/range_profiler.h"
#include "backend/nvidia/records.h"
#include "backend/nvidia/rest.h"
#include "backend/nvidia/sass_metrics.h"
#include "backend/nvidia/turns.h"
#include "base/float_env.h"

#include <stddef.h>

bool profilers_counters_alone(const struct trace *t)
{
    return (t->config.engines & ENGINE_PM_SAMPLING) && t->config.pc_collect == PC_COLLECT_NONE;
}

/* ---- what each needs ------------------------------------------------------------------- */

void profilers_record(struct trace *t)
{
    if (atomic_exchange(&t->kernels_instead, true))
        return;
    kinds_enable(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
}

/* A context counts its instructions, or cannot: kernels are then recorded after all. */
static void counting_begins(struct trace *t, bool counts)
{
    if (!counts)
        profilers_record(t);
}

/* Nothing could be sampled: those that wait for it begin without it. */
static void without_samples(struct trace *t)
{
    if (!t->pc || !(t->deep || t->turns) || !pc_sampling_refused())
        return;
    if (t->deep)
        deep_unsampled(t);
    else
        turns_unsampled(t);
}

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

/* The contexts that come (PmSampling), those that go (RangeProfiler), and both where they are remembered
 * (rest.h). */
static int contexts_enable(struct trace *t, struct err *e)
{
    const struct {
        int event;
        bool wanted;
    } rows[] = {
        {CUPTI_RESOURCE_CONTEXT_CREATED, t->switched || t->config.engines & ENGINE_PM_SAMPLING},
        {CUPTI_RESOURCE_CONTEXT_DESTROY, t->switched || t->config.engines & ENGINE_RANGE_PROFILER},
    };
    int result = CUPTI_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && result == CUPTI_OK; i++)
        if (rows[i].wanted)
            result = t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                                   (uint32_t)rows[i].event);
    return result == CUPTI_OK ? 0 : cupti_error(t->cupti, result, "to report contexts", e);
}

/* Kernel records are on since an earlier session, and cannot be switched off: no turns are taken, and every kernel
 * is recorded. */
static bool kernels_stay(struct trace *t)
{
    bool stay = (atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1) && pc_sampling_binds();
    if (stay)
        t->sink->ops->message(t->sink, SEVERITY_NOTE, "pc_sampling.turns",
                              "kernel records are on since an earlier session of the process and "
                              "cannot be switched off, so that every kernel is recorded");
    return stay;
}

/* Sampling that cannot be had costs the session nothing else. */
static void prepare_sampling(struct trace *t)
{
    int rc = pc_sampling_open(t, &t->pc_lacks);
    rc = rc ? rc : resources_enable(t, &t->pc_lacks);
    t->pc = !rc;
    t->turns = t->pc && t->config.pc_collect == PC_COLLECT_WINDOWS && !kernels_stay(t);
    if (t->turns) {
        t->config.windows = true; /* launches count in them */
        turns_open(t->config.pc_window_every_ns, t->config.pc_window_for_ns);
    }
    if (rc)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "pc_sampling.unavailable",
                              "no program counters are sampled: %s", t->pc_lacks.text);
}

static void prepare_counters(struct trace *t)
{
    int rc = pm_sampling_open(t, &t->pm_lacks);
    rc = rc ? rc : contexts_enable(t, &t->pm_lacks);
    t->pm = !rc;
    if (rc)
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "pm_sampling.unavailable",
                              "no hardware counters are sampled: %s", t->pm_lacks.text);
}

static void prepare_ranges(struct trace *t)
{
    int rc = range_profiler_open(t, &t->ranges_lack);
    rc = rc ? rc : contexts_enable(t, &t->ranges_lack);
    t->ranges = !rc;
    if (!rc)
        records_ranges(t->records);
    else
        t->sink->ops->message(t->sink, SEVERITY_WARNING, "range_profiler.unavailable",
                              "nothing is counted: %s", t->ranges_lack.text);
}

/* So does counting: kernels are recorded instead. */
static void prepare_counting(struct trace *t)
{
    int rc = sass_metrics_open(t, &t->sass_lacks);
    rc = rc ? rc : resources_enable(t, &t->sass_lacks);
    t->sass = !rc;
    t->deep = t->sass && t->pc;
    if (t->deep)
        deep_open(t->config.deep_sample_ns);
    if (!rc)
        return;
    t->sink->ops->capability(t->sink, "sass_metrics", true, "unavailable", t->sass_lacks.text);
    t->sink->ops->message(t->sink, SEVERITY_WARNING, "sass_metrics.unavailable",
                          "no instructions are counted: %s", t->sass_lacks.text);
}

void profilers_open(struct trace *t)
{
    engine_time_open();
    static const struct {
        unsigned bit;
        void (*prepare)(struct trace *t);
    } rows[] = {
        {ENGINE_PC_SAMPLING, prepare_sampling},
        {ENGINE_PM_SAMPLING, prepare_counters},
        {ENGINE_RANGE_PROFILER, prepare_ranges},
        {ENGINE_SASS_METRICS, prepare_counting},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (t->config.engines & rows[i].bit)
            rows[i].prepare(t);
}

/* ---- begin and end --------------------------------------------------------------------- */

void profilers_start(struct trace *t)
{
    int64_t begin = engine_time_begin();
    if (t->pc)
        pc_sampling_start(t);
    if (t->pm)
        pm_sampling_start(t);
    if (t->sass && !t->deep)
        counting_begins(t, sass_metrics_start(t));
    without_samples(t);
    engine_time_end_start(begin);
}

bool profilers_count(struct trace *t, const cuda_context *contexts, size_t count)
{
    sass_metrics_start(t);
    for (size_t i = 0; i < count; i++)
        sass_metrics_context(t, contexts[i]);
    return sass_metrics_counts();
}

void profilers_stop(struct trace *t)
{
    bool quiet = atomic_load_explicit(&t->quiet, memory_order_acquire);
    if (t->turns)
        turns_stop(t);
    if (t->pc)
        pc_sampling_stop(t, quiet);
    if (t->ranges)
        range_profiler_stop(t, quiet);
    if (t->sass)
        sass_metrics_stop(t);
}

bool profilers_last(const struct trace *t)
{
    return (t->pc && pc_sampling_lasts()) || range_profiler_lasts();
}

void profilers_close(struct trace *t)
{
    if (t->pm)
        pm_sampling_close();
}

/* ---- windows --------------------------------------------------------------------------- */

typedef int window_fn(struct trace *t, bool open, struct err *e);

static const struct {
    enum engine_bit bit;
    size_t runs, lacks; /* offsets in struct trace: bool, struct err */
    window_fn *window;
} windowed[] = {
    {ENGINE_PC_SAMPLING, offsetof(struct trace, pc), offsetof(struct trace, pc_lacks),
     pc_sampling_window},
    {ENGINE_SASS_METRICS, offsetof(struct trace, sass), offsetof(struct trace, sass_lacks),
     sass_metrics_window},
    {ENGINE_PM_SAMPLING, offsetof(struct trace, pm), offsetof(struct trace, pm_lacks),
     pm_sampling_window},
    {ENGINE_RANGE_PROFILER, offsetof(struct trace, ranges), offsetof(struct trace, ranges_lack),
     range_profiler_window},
};
enum { WINDOWED = sizeof windowed / sizeof *windowed };

/* One engine. What can never be had is GPUFL_E_UNAVAILABLE. */
static int switch_one(struct trace *t, size_t i, bool open, struct err *e)
{
    if (*(const bool *)((const char *)t + windowed[i].runs))
        return windowed[i].window(t, open, e);
    *e = *(const struct err *)((const char *)t + windowed[i].lacks);
    return GPUFL_E_UNAVAILABLE;
}

static void close_engines(struct trace *t, size_t count)
{
    struct err unused;
    for (size_t i = 0; i < count; i++)
        if (t->config.engines & windowed[i].bit)
            (void)switch_one(t, i, false, &unused);
}

/* Refused by one that may be had the next time, or because none of them can be, nor kernel records. */
static int open_engines(struct trace *t, struct err *e)
{
    bool any = kinds_wanted(t) && (!t->sass || atomic_load(&t->kernels_instead));
    int lacks = 0;
    for (size_t i = 0; i < WINDOWED; i++) {
        if (!(t->config.engines & windowed[i].bit))
            continue;
        int rc = switch_one(t, i, true, e);
        any |= !rc;
        lacks = rc ? rc : lacks;
        if (rc && rc != GPUFL_E_UNAVAILABLE) {
            close_engines(t, i);
            return rc;
        }
    }
    return any ? 0 : lacks;
}

static int switch_window(struct trace *t, bool open, struct err *e)
{
    int rc = open ? open_engines(t, e) : 0;
    if (rc)
        return rc;
    if (open) {
        atomic_store_explicit(&t->passing, false, memory_order_release);
        kinds_window(t, true);
    }
    atomic_store_explicit(&t->waits, open && t->config.waits && !profilers_counters_alone(t),
                          memory_order_relaxed);
    atomic_store(&t->window, open ? atomic_fetch_add(&t->last_window, 1) + 1 : 0);
    if (!open) {
        kinds_window(t, false);
        close_engines(t, WINDOWED);
    }
    return 0;
}

int profilers_window(struct trace *t, bool open, struct err *e)
{
    FLOAT_ENV_DEFAULT;
    int64_t begin = engine_time_begin();
    int rc = switch_window(t, open, e);
    engine_time_end(begin);
    return rc;
}

/* ---- between them ------------------------------------------------------------------------ */

/* Ranges first: only their own thread can. */
enum rested profilers_rest(struct trace *t)
{
    if ((t->ranges && !range_profiler_rest()) || (t->sass && !sass_metrics_rest()) ||
        (t->pm && !pm_sampling_rest()))
        return REST_LATER;
    enum rested result = t->pc ? pc_sampling_rest(t) : REST_DONE;
    if (result != REST_LATER)
        kinds_end(t);
    return result;
}

int profilers_wake(struct trace *t, bool anew, struct err *e)
{
    int rc = !anew ? 0 : t->pc || t->sass ? resources_enable(t, e) : contexts_enable(t, e);
    if (rc)
        return rc;
    if (t->pc)
        pc_sampling_wake();
    if (t->sass)
        sass_metrics_wake();
    if (t->pm)
        pm_sampling_wake(t);
    if (t->ranges)
        range_profiler_wake();
    return 0;
}

/* ---- contexts and modules -------------------------------------------------------------- */

void profilers_context(struct trace *t, cuda_context context)
{
    FLOAT_ENV_DEFAULT;
    int64_t begin = engine_time_begin();
    rest_context(t, context);
    if (t->pc)
        pc_sampling_context(t, context);
    if (t->pm)
        pm_sampling_context(t, context);
    without_samples(t);
    if (t->sass)
        counting_begins(t, sass_metrics_context(t, context));
    engine_time_end(begin);
}

void profilers_launch(struct trace *t, bool graph)
{
    sass_metrics_launch(graph);
    counting_begins(t, sass_metrics_pending(t));
}

void profilers_context_gone(struct trace *t, cuda_context context)
{
    engine_time_forget(context);
    rest_context_gone(t, context);
    pc_sampling_context_gone(t, context);
    range_profiler_context_gone(context);
    sass_metrics_context_gone(t, context);
}

void profilers_module_gone(struct trace *t, cuda_context context)
{
    if (t->pc)
        pc_sampling_module_gone(t, context);
}

/* ---- collector ------------------------------------------------------------------------- */

void profilers_flush(struct trace *t)
{
    if (t->pc && !t->stopped)
        pc_sampling_flush(t);
    if (t->pm)
        pm_sampling_flush(t, t->stopped);
}

void profilers_drain(struct trace *t)
{
    engine_time_drain(t->sink);
    if (t->pm)
        pm_sampling_drain(t, t->stopped);
    if (t->ranges)
        range_profiler_drain(t);
    if (t->pc)
        pc_sampling_drain(t);
    if (t->turns)
        turns_drain(t, t->stopped);
    if (t->pc && t->stopped)
        pc_sampling_totals(t);
    if (t->deep)
        deep_drain(t, t->stopped);
    if (t->sass)
        sass_metrics_drain(t);
    if (t->sass && t->stopped)
        sass_metrics_close(t);
}

/* Sampling without kernel records stands for both: nothing else was asked for. */
static unsigned sampling_lacks(struct trace *t, const char **why)
{
    const char *text = t->pc ? pc_sampling_failure() : t->pc_lacks.text;
    if (!*text)
        return 0;
    *why = text;
    return ENGINE_PC_SAMPLING |
           (t->config.pc_collect == PC_COLLECT_NONE && !t->sass ? ENGINE_TRACE : 0);
}

void profilers_announce_end(struct trace *t, const char *why)
{
    const struct {
        bool ran;
        const char *feature, *failure;
    } rows[] = {
        {t->pc, "pc_sampling", t->pc ? pc_sampling_failure() : ""},
        {t->sass, "sass_metrics", t->sass ? sass_metrics_failure() : ""},
        {t->pm, "pm_sampling", t->pm && !pm_sampling_any() ? pm_sampling_failure() : ""},
        {t->ranges, "range_counters", t->ranges ? range_profiler_failure() : ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].ran && !*rows[i].failure)
            t->sink->ops->capability(t->sink, rows[i].feature, true, "partial", why);
}

unsigned profilers_running(struct trace *t, const char **why)
{
    unsigned bits = t->config.engines, lacks = 0;
    *why = ended_why(t);
    if (**why && !atomic_load_explicit(&t->handed, memory_order_acquire))
        return ENGINE_SYNC;
    *why = NULL;
    if (bits & ENGINE_PM_SAMPLING) {
        *why = t->pm ? pm_sampling_failure() : t->pm_lacks.text;
        if (**why && profilers_counters_alone(t))
            return 0;
        lacks |= **why ? ENGINE_PM_SAMPLING : 0;
    }
    if (bits & ENGINE_RANGE_PROFILER) {
        *why = t->ranges ? range_profiler_failure() : t->ranges_lack.text;
        lacks |= **why ? ENGINE_RANGE_PROFILER : 0;
    }
    if (bits & ENGINE_SASS_METRICS) {
        *why = t->sass ? sass_metrics_failure() : t->sass_lacks.text;
        if (t->deep && t->stopped && !**why)
            *why = deep_failure();
        lacks |= **why ? ENGINE_SASS_METRICS : 0;
    }
    if (bits & ENGINE_PC_SAMPLING)
        lacks |= sampling_lacks(t, why);
    return bits & ~lacks ? bits & ~lacks : ENGINE_SYNC;
}
