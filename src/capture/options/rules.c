/* rules.c - applies rules between options, after every source has been read: the defaults of an
 * injected library, the engine if none was set, values that must fit together, and messages about
 * what was asked for and the engine cannot record. */
#include "capture/options/inside.h"

#include "base/alloc.h"
#include "capture/options/process_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Sampled counters are read before the device's buffer is full: after COUNTERS_A_DRAIN samples, but
 * within these least and greatest times. */
enum { COUNTERS_A_DRAIN = 100, COUNTERS_DRAIN_MOST_MS = 100, COUNTERS_DRAIN_LEAST_MS = 20 };

/* This is the default of flush_interval_ms: if a longer one is asked for, there are no short
 * intervals at the beginning. */
enum { FLUSH_STANDARD_MS = 200 };

static int default_log_path(struct options *o)
{
    if (!*o->log_path) {
        char *copy = mem_strdup(*o->app_name ? o->app_name : "gpufl");
        if (!copy)
            return GPUFL_E_NOMEM;
        for (char *c = copy; *c; c++)
            if (*c == '/')
                *c = '_'; /* a name, not a path */
        mem_free(o->log_path);
        o->log_path = copy;
    }
    size_t len = strlen(o->log_path);
    if (len > 4 && strcmp(o->log_path + len - 4, ".log") == 0)
        o->log_path[len - 4] = '\0';
    return 0;
}

/* Raises a limit that is too small, so that every session has room to say why it ended. */
static void raise_spool_limit(struct options *o, const struct options_say *s)
{
    enum { LEAST = 64 << 10 };
    if (o->log_max_spool_bytes == 0 || o->log_max_spool_bytes >= LEAST)
        return;
    options_report(s, SEVERITY_WARNING, "bad_option_value",
                   "log_max_spool_bytes: %" PRId64
                   " bytes hold no session; 64 KiB is the limit now; 0 means no limit",
                   o->log_max_spool_bytes);
    o->log_max_spool_bytes = LEAST;
}

/* Checks an option that has two words; any other value becomes the first word. */
static int one_of(struct options *o, enum option_id id, const char *value, const char *first,
                  const char *second, const struct options_say *s)
{
    const char *name = option_table[id].name;
    if (strcasecmp(value, first) == 0 || strcasecmp(value, second) == 0)
        return 0;
    options_report(s, SEVERITY_WARNING, "bad_option_value",
                   "%s: '%.80s' is not possible here: it takes %s or %s; %s is used", name, value,
                   first, second, first);
    return option_set(o, id, first, SOURCE_DEFAULT, name, s);
}

static int kernel_collect(struct options *o, const struct options_say *s)
{
    static const char *const takes[] = {"all", "none", "windows"};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (strcasecmp(o->pc_kernel_collect, takes[i]) == 0)
            return 0;
    options_report(
        s, SEVERITY_WARNING, "bad_option_value",
        "pc_kernel_collect: '%.80s' is not possible here: it takes all, none or windows; all is "
        "used",
        o->pc_kernel_collect);
    return option_set(o, OPT_pc_kernel_collect, takes[0], SOURCE_DEFAULT, "pc_kernel_collect", s);
}

static int share_samples(struct options *o, const struct options_say *s)
{
    const char *value = o->share_system_samples;
    if (value[0] == '/' || strcasecmp(value, "folder") == 0 || strcasecmp(value, "host") == 0 ||
        strcasecmp(value, "none") == 0)
        return 0;
    options_report(
        s, SEVERITY_WARNING, "bad_option_value",
        "share_system_samples: '%.80s' is not possible here: it takes folder, host, none "
        "or the absolute path of a directory; folder is used",
        value);
    return option_set(o, OPT_share_system_samples, "folder", SOURCE_DEFAULT, "share_system_samples",
                      s);
}

/* Windows that repeat have to close by the clock, before the next one opens. */
static void check_every(struct options *o, const struct options_say *s)
{
    const char *lack = NULL;
    if (!o->window_every_ms)
        return;
    if (o->window_launches > 0 || o->window_after_launches > 0)
        lack = "it goes with window_after_ms and window_for_ms, not with numbers of launches";
    else if (o->window_for_ms <= 0)
        lack = "it needs window_for_ms, how long each window is open";
    else if (o->window_every_ms <= o->window_for_ms)
        lack = "it must be longer than window_for_ms";
    if (!lack)
        return;
    options_report(s, SEVERITY_WARNING, "bad_option_value",
                   "window_every_ms: no windows come again: %s", lack);
    o->window_every_ms = 0;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Lists the options that only some engines can serve; bits: enum engine_bit, of which one
 * suffices. */
static const struct {
    enum option_id id;
    unsigned bits;
    const char *engines;
} needs[] = {
    {OPT_enable_stack_trace, ENGINE_TRACE | ENGINE_SYNC, "Sync or Trace"},
    {OPT_enable_synchronization, ENGINE_TRACE | ENGINE_SYNC, "Sync or Trace"},
    {OPT_launch_stacks, ENGINE_TRACE, "Trace"},
    {OPT_idle_stacks, ENGINE_TRACE | ENGINE_SYNC, "Sync or Trace"},
    {OPT_enable_external_correlation, ENGINE_TRACE, "Trace"},
    {OPT_enable_memory_tracking, ENGINE_TRACE, "Trace"},
    {OPT_enable_cuda_graphs_tracking, ENGINE_TRACE, "Trace"},
    {OPT_peer_copies, ENGINE_TRACE, "Trace"},
    {OPT_managed_memory, ENGINE_TRACE, "Trace"},
    {OPT_cuda_graph_activity, ENGINE_TRACE, "Trace"},
    {OPT_pc_kernel_collect, ENGINE_PC_SAMPLING | ENGINE_PM_SAMPLING, "PcSampling or PmSampling"},
    {OPT_pc_sampling_period, ENGINE_PC_SAMPLING, "PcSampling"},
    {OPT_counter_metrics, ENGINE_PM_SAMPLING | ENGINE_RANGE_PROFILER,
     "PmSampling or RangeProfiler"},
    {OPT_pm_sampling_interval_us, ENGINE_PM_SAMPLING, "PmSampling"},
    {OPT_range_mode, ENGINE_RANGE_PROFILER, "RangeProfiler"},
    {OPT_range_kernel_launches, ENGINE_RANGE_PROFILER, "RangeProfiler"},
    {OPT_deep_sample_ms, ENGINE_SASS_METRICS, "Deep"},
};

unsigned option_engines_of(enum option_id id, const char **names)
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].id == id) {
            *names = needs[i].engines;
            return needs[i].bits;
        }
    *names = "";
    return 0;
}

/* Returns true if the option was set, and not to off. */
static bool wants(const struct options *o, enum option_id id)
{
    char text[8];
    if (!option_asked(o, id))
        return false;
    if (option_table[id].kind != OPTION_BOOL)
        return true;
    options_text(o, id, text, sizeof text);
    return strcmp(text, "true") == 0;
}

/* Chooses Sync if stacks are asked for: they are the stacks of waits, and Monitor has no waits. */
static void engine_for_stacks(struct options *o, const struct options_say *s)
{
    if (o->source[OPT_profiling_engine] != SOURCE_DEFAULT ||
        o->profiling_engine != GPUFL_ENGINE_MONITOR || !wants(o, OPT_enable_stack_trace))
        return;
    bool launches = o->launch_stacks;
    o->profiling_engine = launches ? GPUFL_ENGINE_TRACE : GPUFL_ENGINE_SYNC;
    options_report(s, SEVERITY_NOTE, "default_engine",
                   "enable_stack_trace is set and profiling_engine is not: engine %s is used",
                   launches ? "Trace" : "Sync");
}

/* Says once, in one sentence, what was asked for and the engine does not record. A pass says
 * nothing, because other passes record it; why there are no windows is said where windows begin. */
static void say_lacks(const struct options *o, const struct options_say *s)
{
    char list[320] = "";
    size_t len = 0;
    unsigned bits = engine_table[o->profiling_engine].asks;
    for (size_t i = 0; i < sizeof needs / sizeof *needs && len < sizeof list && !o->passes; i++)
        if (!(bits & needs[i].bits) && wants(o, needs[i].id))
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s needs %s", len ? ", " : "",
                                    option_table[needs[i].id].name, needs[i].engines);
    if (len)
        options_report(s, SEVERITY_WARNING, "engine_lacks",
                       "engine %s does not give all that is asked for: %s; set profiling_engine "
                       "(GPUFL_PROFILING_ENGINE%s)",
                       option_engines[o->profiling_engine], list,
                       o->traced ? ", or gpufl trace --engine" : "");
    if (o->launch_stacks && !o->enable_stack_trace)
        options_report(s, SEVERITY_WARNING, "launch_stacks",
                       "launch_stacks needs enable_stack_trace: no stacks are captured");
    else if (wants(o, OPT_idle_stacks) && !o->enable_stack_trace)
        options_report(s, SEVERITY_WARNING, "idle_stacks",
                       "idle_stacks needs enable_stack_trace: no stacks are captured");
}

/* Sets other defaults: a library is injected in order to record, and "gpufl" is no program's name.
 * Stacks of waits are taken while the program waits anyway. */
int options_injected(struct options *o)
{
    char program[64];
    if (o->source[OPT_profiling_engine] == SOURCE_DEFAULT)
        o->profiling_engine = GPUFL_ENGINE_TRACE;
    if (o->source[OPT_enable_stack_trace] == SOURCE_DEFAULT)
        o->enable_stack_trace = o->profiling_engine != GPUFL_ENGINE_MONITOR;
    if (o->source[OPT_app_name] != SOURCE_DEFAULT)
        return 0;
    process_info_program(program, sizeof program);
    char *copy = mem_strdup(program);
    if (!copy)
        return GPUFL_E_NOMEM;
    mem_free(o->app_name);
    o->app_name = copy;
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* By default `gpufl trace` samples all the time; an interval that was set to 0 turns that off. */
static void sampling_interval(struct options *o, const struct options_say *s)
{
    bool asked = option_asked(o, OPT_continuous_system_sampling);
    if (!o->continuous_system_sampling || o->system_sample_rate_ms)
        return;
    if (!asked && option_asked(o, OPT_system_sample_rate_ms)) {
        o->continuous_system_sampling = false;
        return;
    }
    o->system_sample_rate_ms = 1000;
    options_report(
        s, SEVERITY_NOTE, "sampling_interval",
        "continuous_system_sampling is on and system_sample_rate_ms is 0: sampling every "
        "1000 ms");
}

static int check_words(struct options *o, const struct options_say *s)
{
    int rc = one_of(o, OPT_log_format, o->log_format, "native", "gpuflight", s);
    if (!rc)
        rc = one_of(o, OPT_cuda_graph_activity, o->cuda_graph_activity, "nodes", "launches", s);
    if (!rc)
        rc = one_of(o, OPT_range_mode, o->range_mode, "scopes", "kernels", s);
    if (!rc)
        rc = share_samples(o, s);
    return rc ? rc : kernel_collect(o, s);
}

static void say_deprecated(const struct options *o, const struct options_say *s)
{
    if (o->remote_upload)
        options_report(s, SEVERITY_WARNING, "deprecated_option",
                       "remote_upload has no effect any more: call gpufl_upload_logs after "
                       "gpufl_shutdown, or run gpufl upload");
    if (o->kernel_sample_rate_ms)
        options_report(s, SEVERITY_WARNING, "deprecated_option",
                       "kernel_sample_rate_ms has no effect any more: every kernel is recorded");
}

int options_finish(struct options *o, const struct options_say *s)
{
    sampling_interval(o, s);
    check_every(o, s);
    engine_for_stacks(o, s);
    say_lacks(o, s);
    say_deprecated(o, s);
    int rc = check_words(o, s);
    if (rc)
        return rc;
    if (o->pc_sampling_period && o->pc_sampling_period < 5)
        o->pc_sampling_period = 5;
    if (o->profiling_engine == GPUFL_ENGINE_PM_SAMPLING) {
        int64_t drains = o->pm_sampling_interval_us * COUNTERS_A_DRAIN / 1000;
        drains = drains < COUNTERS_DRAIN_LEAST_MS  ? COUNTERS_DRAIN_LEAST_MS
                 : drains > COUNTERS_DRAIN_MOST_MS ? COUNTERS_DRAIN_MOST_MS
                                                   : drains;
        o->flush_interval_ms = o->flush_interval_ms < drains ? o->flush_interval_ms : drains;
    }
    if (!option_asked(o, OPT_flush_first_ms) && option_asked(o, OPT_flush_interval_ms) &&
        o->flush_interval_ms > FLUSH_STANDARD_MS)
        o->flush_first_ms = 0; /* a user who asks for rare flushes means it */
    raise_spool_limit(o, s);
    return default_log_path(o);
}
