/* engines.c - see engines.h. */
#include "capture/session/engines.h"

#include "backend/engine_texts.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/log/messages.h"
#include "capture/log/writer.h"
#include "capture/records/sink.h"
#include "capture/windows/windows.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

/* Says why the session's engine is not the one asked for; "": it is. Used by the owner until the
 * collector starts, and by the collector from then on. */
static char why[320];

__attribute__((format(printf, 1, 2))) static void why_set(const char *fmt, ...)
{
    va_list args;
    if (*why)
        return; /* the first reason is the one that counts */
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
}

unsigned engines_bits(enum gpufl_engine engine)
{
    return engine_table[engine].asks;
}

static bool has_windows(const struct options *o, const struct backend *b, enum gpufl_engine engine)
{
    return windows_wanted(o) && !engines_windows_lack(o, b, engine);
}

static bool asks_for_turns(const struct options *o)
{
    return strcasecmp(o->pc_kernel_collect, "windows") == 0;
}

/* In sessions with windows kernels are not recorded in addition to samples, because kernel records
 * would have to stay on outside of windows, too (ADR 10). */
enum pc_collect engines_collect(const struct options *o, const struct backend *b,
                                enum gpufl_engine engine)
{
    unsigned bits = engines_bits(engine);
    bool none = strcasecmp(o->pc_kernel_collect, "none") == 0;
    bool stay = (bits & ENGINE_PC_SAMPLING) && b->trace && b->trace->records_stay;
    bool alone = (bits & ENGINE_PC_SAMPLING) && has_windows(o, b, engine);
    bool turns =
        (bits & ENGINE_PC_SAMPLING) && !(bits & ENGINE_SASS_METRICS) && b->trace && b->trace->turns;
    if (stay)
        return PC_COLLECT_ALL;
    if (none || alone || (asks_for_turns(o) && !turns))
        return PC_COLLECT_NONE;
    return asks_for_turns(o) ? PC_COLLECT_WINDOWS : PC_COLLECT_ALL;
}

bool engines_record_kernels(const struct options *o, const struct backend *b,
                            enum gpufl_engine engine)
{
    unsigned bits = engines_bits(engine);
    return (bits & ENGINE_TRACE) && !(b->trace && (bits & b->trace->alone)) &&
           (!(bits & (ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING)) ||
            engines_collect(o, b, engine) != PC_COLLECT_NONE);
}

static bool has_engine(enum gpufl_engine engine, const struct backend *b)
{
    const struct engine_row *r = &engine_table[engine];
    unsigned have = b->trace ? b->trace->engines : 0;
    return !*r->feature || !(r->asks & ~have); /* attaching reports what Trace and Sync lack */
}

const struct backend *engines_backend(const struct options *o)
{
    struct err e = {0};
    const struct backend *b = backend_select(o->backend, &e);
    if (!b) {
        message_say(SEVERITY_WARNING, "backend_unavailable", "%s; this session has none", e.text);
        return &backend_none;
    }
    if (o->backend != GPUFL_BACKEND_AUTO)
        log_debug_each("probe: backend %s is named, and not looked for", b->name);
    if (o->backend == GPUFL_BACKEND_AUTO && b == &backend_none)
        message_say(SEVERITY_WARNING, "no_gpu",
                    "no GPU that can be asked was found: scopes and the host are recorded, no "
                    "kernels; `gpufl info` says what is missing");
    const struct backend *other =
        o->backend == GPUFL_BACKEND_AUTO && b != &backend_none ? backend_other(b) : NULL;
    if (other)
        message_say(SEVERITY_NOTE, "backend.chosen",
                    "this machine has GPUs of two vendors: this session records those of %s, %s; "
                    "backend (GPUFL_BACKEND) chooses those of %s",
                    b->name,
                    b->loaded && b->loaded() ? "whose runtime the program has loaded"
                                             : "which come first, since the program has loaded no "
                                               "runtime yet",
                    other->name);
    if (b->caution)
        message_say(SEVERITY_NOTE, "backend.unverified", "%s", b->caution);
    return b;
}

/* Notes the reason why a backend has no such engine. */
static void note_not_had(const struct backend *b, const struct engine_row *r)
{
    char reason[96];
    snprintf(reason, sizeof reason,
             b->simulated ? "the simulated GPU has no engine %s"
             : b->devices ? "engine %s is not available on this GPU"
                          : "there is no engine %s without a GPU",
             r->name);
    feature_set(r->feature, true, "unavailable", reason);
    why_set("%s", reason);
}

static bool counts_kernels(const struct options *o)
{
    return strcasecmp(o->range_mode, "kernels") == 0;
}

static struct trace_config config_of(const struct options *o, const struct backend *b,
                                     enum gpufl_engine engine, bool injected)
{
    bool sync = engine == GPUFL_ENGINE_SYNC;
    bool windows = has_windows(o, b, engine);
    return (struct trace_config){
        .engines = engines_bits(engine),
        .waits = o->enable_synchronization || sync,
        .synchronization = o->enable_synchronization,
        .external_correlation = o->enable_external_correlation,
        .external_always = option_asked(o, OPT_enable_external_correlation),
        .memory = o->enable_memory_tracking,
        .graph_launches = o->enable_cuda_graphs_tracking,
        .graphs_whole = strcasecmp(o->cuda_graph_activity, "launches") == 0,
        .peer_copies = o->peer_copies,
        .managed = o->managed_memory,
        .yield = o->yield_cupti,
        .keep = o->keep_cupti,
        .injected = injected,
        .windows = windows,
        .passed = windows && windows_counts_launches(o),
        .pc_collect = engines_collect(o, b, engine),
        .pc_window_every_ns = o->pc_window_every_ms * 1000000,
        .pc_window_for_ns = o->pc_window_for_ms * 1000000,
        .rest_ns = o->window_rest_ms * 1000000,
        .detach = o->window_detach,
        .pc_period = (unsigned)o->pc_sampling_period,
        .pc_hardware_bytes = o->pc_hardware_buffer_bytes,
        .deep_sample_ns = o->deep_sample_ms * 1000000,
        .counter_metrics = o->counter_metrics,
        .range_kernels = counts_kernels(o),
        .range_launches = (unsigned)o->range_kernel_launches,
        .pm_interval_us = o->pm_sampling_interval_us,
        .pm_hardware_bytes = o->pm_hardware_buffer_bytes,
        .buffer_bytes = o->activity_buffer_bytes,
        .pool_bytes = o->activity_pool_bytes,
    };
}

/* Returns the counters of single kernels that are recorded in place of an engine, in words; NULL:
 * none are. */
static const char *kernel_counters(enum gpufl_engine engine, const struct backend *b)
{
    unsigned asks = engines_bits(engine);
    bool in_place = asks & (ENGINE_PC_SAMPLING | ENGINE_SASS_METRICS | ENGINE_RANGE_PROFILER);
    return b->trace && in_place ? b->trace->kernel_counters : NULL;
}

/* Returns the next engine down the ladder that this backend has. */
static enum gpufl_engine next_had(enum gpufl_engine e, const struct backend *b)
{
    while (!has_engine(e, b)) {
        note_not_had(b, &engine_table[e]);
        e = engine_table[e].next;
    }
    return e;
}

static enum gpufl_engine use_instead(const struct options *o, enum gpufl_engine e)
{
    if (e != o->profiling_engine)
        message_say(SEVERITY_WARNING, "engine_unavailable",
                    "%s: %s is used instead; profiling_engine (GPUFL_PROFILING_ENGINE) chooses "
                    "another",
                    why, engine_table[e].name);
    return e;
}

/* Returns false, with a noted reason, if this machine is not one of those on which PCs are
 * sampled. */
static bool samples(const struct options *o, const struct backend *b, enum gpufl_engine e)
{
    struct err lack = {0};
    if (!(engines_bits(e) & ENGINE_PC_SAMPLING) || !b->trace || !b->trace->sample)
        return false;
    struct trace_config c = config_of(o, b, GPUFL_ENGINE_PC_SAMPLING, false);
    if (b->trace->sample(&c, &lack) == 0)
        return true;
    feature_set(engine_table[GPUFL_ENGINE_PC_SAMPLING].feature, true, "unavailable", lack.text);
    why_set("%s", lack.text);
    return false;
}

enum gpufl_engine engines_effective(const struct options *o, const struct backend *b)
{
    enum gpufl_engine e = o->profiling_engine;
    why[0] = '\0';
    const char *instead = kernel_counters(e, b);
    if (!instead || samples(o, b, e))
        return use_instead(o, next_had(e, b));
    if (e == GPUFL_ENGINE_RANGE_PROFILER && counts_kernels(o))
        return e; /* the options ask for counters of kernels */
    if (e == GPUFL_ENGINE_RANGE_PROFILER)
        why_set("engine RangeProfiler counts no scopes on this GPU");
    else if (!*why || !has_engine(e, b))
        note_not_had(b, &engine_table[e]);
    message_say(SEVERITY_WARNING, "engine_unavailable",
                "%s: %s are recorded instead (RangeProfiler with range_mode=kernels); "
                "profiling_engine (GPUFL_PROFILING_ENGINE) chooses another",
                why, instead);
    return GPUFL_ENGINE_RANGE_PROFILER;
}

/* Notes for every feature of a trace that it is missing, for this reason. */
static void trace_failed(const char *status, const char *reason)
{
    feature_set("kernels", true, status, reason);
    feature_set("copies", true, status, reason);
    why_set("%s", reason);
}

static const char *status_of(int rc)
{
    switch (rc) {
    case GPUFL_E_NOT_BUILT:
        return "not_built";
    case GPUFL_E_UNAVAILABLE:
    case GPUFL_E_NOENT:
    case GPUFL_E_PERM:
    case GPUFL_E_BUSY:
        return "unavailable";
    default:
        return "failed";
    }
}

const char *engines_windows_lack(const struct options *o, const struct backend *b,
                                 enum gpufl_engine engine)
{
    unsigned bits = engines_bits(engine);
    bool uncounted = (bits & ENGINE_PM_SAMPLING) && strcasecmp(o->pc_kernel_collect, "all") != 0;
    if (!b->trace || !b->trace->window || !bits)
        return "this engine cannot be switched while the program runs";
    if (uncounted && (o->window_after_launches > 0 || o->window_launches > 0))
        return "with pc_kernel_collect=none PmSampling counts no launches: use scopes, the clock "
               "or gpufl ctl, or pc_kernel_collect=all";
    return NULL;
}

bool engines_detach(const struct backend *b, enum gpufl_engine engine)
{
    unsigned off = ENGINE_TRACE | ENGINE_SYNC;
    if (b->trace && b->trace->kernel_counters)
        off |= ENGINE_RANGE_PROFILER;
    if (b->trace && b->trace->records_stay)
        off |= ENGINE_PC_SAMPLING;
    return !(engines_bits(engine) & ~off);
}

/* Says that only samples are taken although more was asked for. */
static void say_alone(const struct options *o, const struct backend *b, enum gpufl_engine engine)
{
    unsigned bits = engines_bits(engine);
    if (b->trace->records_stay || !(bits & ENGINE_PC_SAMPLING) || (bits & ENGINE_SASS_METRICS) ||
        strcasecmp(o->pc_kernel_collect, "none") == 0)
        return;
    message_say(option_asked(o, OPT_pc_kernel_collect) ? SEVERITY_WARNING : SEVERITY_NOTE,
                "windows.samples_alone",
                "windows of this engine have samples and launches, but no kernel records, which "
                "could not be switched off outside of them: kernels' times are estimated from the "
                "samples; windows of engine Trace have them");
}

int engines_open(const struct options *o, const struct backend *b, enum gpufl_engine engine,
                 bool injected, struct trace **out, struct err *e)
{
    struct trace_config c = config_of(o, b, engine, injected);
    return b->trace->open(out, &c, &capture_sink.sink, e);
}

struct trace *engines_attach(const struct options *o, const struct backend *b,
                             enum gpufl_engine engine, bool injected)
{
    struct trace *t = NULL;
    struct err e = {0};
    if (engine == GPUFL_ENGINE_MONITOR)
        return NULL;
    if (!b->trace) {
        trace_failed("unavailable", "the backend traces nothing");
        return NULL;
    }
    if (has_windows(o, b, engine))
        say_alone(o, b, engine);
    if ((engines_bits(engine) & ENGINE_PC_SAMPLING) && b->trace->records_stay &&
        strcasecmp(o->pc_kernel_collect, "all") != 0)
        message_say(
            SEVERITY_WARNING, "pc_sampling.kernels",
            "pc_kernel_collect=%s has no effect on GPUs of this vendor: kernels are recorded, too",
            o->pc_kernel_collect);
    else if (asks_for_turns(o) && engines_collect(o, b, engine) != PC_COLLECT_WINDOWS &&
             (engines_bits(engine) & (ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING)))
        message_say(SEVERITY_WARNING, "pc_sampling.no_turns",
                    "pc_kernel_collect=windows has no effect here: it needs engine PcSampling, a "
                    "session without windows of capture, and a vendor that can alternate");
    int rc = engines_open(o, b, engine, injected, &t, &e);
    if (!rc)
        return t;
    const char *reason = *e.text ? e.text : err_text(rc);
    message_say(SEVERITY_WARNING, "trace_unavailable", "no kernels are recorded: %s", reason);
    trace_failed(status_of(rc), reason);
    return NULL;
}

/* A later session of the same engines says nothing if the first session began in time, because
  * what happened since then is known. If the first one was late, what it missed is still missing.
  * Work that ran before a later session need not be reported. */
void engines_say_late(const struct backend *b, enum gpufl_engine engine, bool injected)
{
    static unsigned in_time; /* engine bits of sessions that began in time */
    static bool again;       /* a session of this process has traced before */
    const struct engine_row *r = &engine_table[engine];
    const char *missing = b->engines ? b->engines->words[engine].late : "";
    bool late = !injected && b->in_use && b->in_use();
    if (!late)
        in_time |= r->asks;
    if (*missing && (r->asks & ~in_time))
        message_say(SEVERITY_NOTE, "engine.late",
                    "the program had used the GPU before %s began: %s%s", r->name,
                    again ? "" : "what ran until then is not in this session; ", missing);
    again = true;
}

bool engines_start(const struct options *o, const struct backend *b, struct trace *t)
{
    struct err e = {0};
    (void)o;
    if (!t)
        return false;
    int rc = b->trace->start(t, &e);
    if (!rc)
        return true;
    const char *reason = *e.text ? e.text : err_text(rc);
    message_say(SEVERITY_WARNING, "trace_failed", "no kernels are recorded: %s", reason);
    trace_failed(status_of(rc), reason);
    return false;
}

void engines_debug(const struct options *o, enum gpufl_engine engine)
{
    bool other = engine != o->profiling_engine;
    log_debug_each("engine: %s, asked for %s (%s)%s%s", engine_table[engine].name,
                   engine_table[o->profiling_engine].name,
                   option_sources[o->source[OPT_profiling_engine]], other && *why ? ": " : "",
                   other ? why : "");
}

/* ---- the session's record ----------------------------------------------------------------- */

static void put_setting(struct writer *w, struct intern *names, const char *engine,
                        const char *name, const char *value)
{
    struct setting_row row = {
        .time = clock_mono(),
        .engine = intern_str(names, engine),
        .name = intern_str(names, name),
        .value = intern_str(names, value),
    };
    writer_row(w, RECORD_setting, (const int64_t *)&row);
}

void engines_describe(const struct options *o, const struct backend *b, enum gpufl_engine engine,
                      struct trace *t, struct writer *w, struct intern *names)
{
    const char *asked = engine_table[o->profiling_engine].name, *reason = NULL;
    unsigned running = t ? engines_bits(engine) : 0;
    if (t && b->trace->running)
        running = b->trace->running(t, &reason);
    while (engines_bits(engine) & ~running)
        engine = engine_table[engine].next;
    if (running == ENGINE_SYNC)
        engine = GPUFL_ENGINE_SYNC;
    if (reason && *reason)
        why_set("%s", reason);
    put_setting(w, names, asked, "ran_as", engine_table[engine].name);
    if (engine != o->profiling_engine && *why)
        put_setting(w, names, asked, "why", why);
}
