/* trace.c - has the tracing ops of the AMD backend: makes a session of rocprofiler-sdk's records
 * and callbacks.
 *
 * There is one tool (tool.h) per process. If the program was started by `gpufl trace`, it exists
 * before the session; in a program that begins its session itself, it is made here.
 *
 * After fork the child records nothing: the library makes new threads there, but our collector does
 * not exist there. */
#include "backend/amd/trace.h"

#include "backend/amd/trace/calls.h"
#include "backend/amd/trace/counting.h"
#include "backend/amd/trace/delivery.h"
#include "backend/amd/trace/markers.h"
#include "backend/amd/trace/objects.h"
#include "backend/amd/trace/sampling.h"
#include "backend/amd/trace/tool.h"
#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_PATIENCE = 500000000, WINDOW_PATIENCE = 500000000, FLUSH_PAUSE = 1000000 }; /* ns */
enum { QUIET_FLUSHES = 2 }; /* so many empty flushes: all records of finished work have come */

/* Holds the state of the one trace of this process. [owner] */
struct trace {
    struct sink *sink;
    struct trace_config config;
    bool open, fork_watched;
    bool said; /* it was reported what is recorded [collector] */
    bool stopped;
    struct err uncounted; /* why kernels are not counted, though that was asked for */
    struct err unsampled; /* the same for samples */
    pid_t process;
};

static struct trace the_trace;

static bool forked(const struct trace *t)
{
    return t->process && t->process != getpid();
}

static void on_fork_child(void)
{
    delivery_forget();
    calls_report(NULL, NULL);
    counting_report(NULL, NULL);
    markers_report(NULL);
    tool_forget();
}

/* ---- the session --------------------------------------------------------------------- */

static int make_tool(const struct trace_config *c, struct err *e)
{
    struct err not_yet;
    int rc = tool_ready(&not_yet);
    return rc == GPUFL_E_STATE ? tool_force(c, e) : rc ? tool_ready(e) : 0;
}

/* If there is no tool, open reports why. */
static int trace_sample(const struct trace_config *c, struct err *e)
{
    struct err why;
    return forked(&the_trace) || the_trace.open || make_tool(c, &why) ? 0 : tool_sample(c, e);
}

static int trace_open(struct trace **out, const struct trace_config *c, struct sink *sink,
                      struct err *e)
{
    struct trace *t = &the_trace;
    *out = NULL;
    if (forked(t))
        return err_set(e, GPUFL_E_STATE,
                       "this process was forked from one that rocprofiler-sdk was attached to, and "
                       "cannot be traced: start it with gpufl trace, or call init in the children "
                       "only");
    if (t->open)
        return err_set(e, GPUFL_E_STATE, "tracing is already open in this process");
    int rc = make_tool(c, e);
    if (rc)
        return rc;
    if (!t->fork_watched)
        t->fork_watched = pthread_atfork(NULL, NULL, on_fork_child) == 0;
    *t = (struct trace){.sink = sink,
                        .config = *c,
                        .open = true,
                        .fork_watched = t->fork_watched,
                        .process = getpid()};
    if (tool_count(c, &t->uncounted))
        t->config.engines &= ~(unsigned)ENGINE_RANGE_PROFILER; /* kernels are still recorded */
    if ((c->engines & ENGINE_PC_SAMPLING) && tool_sample(c, &t->unsampled))
        t->config.engines &= ~(unsigned)ENGINE_PC_SAMPLING;
    const struct rocp *sdk = tool_sdk();
    log_debug("rocprofiler-sdk %u.%u.%u is %s", sdk->version / 10000, sdk->version / 100 % 100,
              sdk->version % 100, sdk->path);
    *out = t;
    return 0;
}

static bool counts(const struct trace *t)
{
    return t->config.engines & ENGINE_RANGE_PROFILER;
}

static bool samples(const struct trace *t)
{
    return t->config.engines & ENGINE_PC_SAMPLING;
}

/* Ends all reports to the session. */
static void report_none(void)
{
    calls_report(NULL, NULL);
    counting_report(NULL, NULL);
    markers_report(NULL);
}

static int trace_start(struct trace *t, struct err *e)
{
    if (delivery_open(t->sink, &t->config))
        return err_nomem(e);
    objects_begin();
    calls_report(t->sink, &t->config);
    if (counts(t))
        counting_report(t->sink, &t->config);
    if (samples(t))
        sampling_report(t->sink);
    markers_report(t->sink);
    int rc = tool_start(&t->config, e);
    if (!rc)
        return 0;
    objects_end();
    report_none();
    sampling_report(NULL);
    delivery_close();
    return rc;
}

static int trace_stop(struct trace *t)
{
    if (forked(t))
        return GPUFL_E_STATE;
    tool_stop();
    objects_end();
    report_none();
    t->stopped = true;
    return 0;
}

/* Code is written before the kernels in it. */
static void decode(struct trace *t)
{
    objects_drain(t->sink);
    delivery_decode();
}

/* A record comes when its work has ended, so the end of a session waits a moment for running work.
 * The number of kernels that must come is known, the number of copies is not. */
static int trace_flush(struct trace *t, bool all)
{
    int64_t deadline = clock_mono() + FLUSH_PATIENCE;
    if (forked(t))
        return GPUFL_E_STATE;
    for (unsigned quiet = 0; tool_flush() && all && clock_mono() < deadline;) {
        delivery_gather();
        quiet = delivery_came() ? 0 : quiet + 1;
        t->sink->ops->join(t->sink);
        decode(t);
        if (quiet >= QUIET_FLUSHES && delivery_dispatches() >= calls_launched() &&
            !counting_waits())
            break;
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_PAUSE}, NULL);
    }
    return 0;
}

static void trace_take(struct trace *t)
{
    if (!forked(t))
        delivery_gather();
}

/* Reports an engine that was asked for and is missing in the session. */
static void say_lacking(struct trace *t, const struct err *why, const char *code,
                        const char *feature, const char *instead)
{
    struct sink *s = t->sink;
    if (!why->code)
        return;
    s->ops->message(s, SEVERITY_WARNING, code, "%s: %s", instead, why->text);
    s->ops->capability(s, feature, true, "unavailable", why->text);
}

/* Reports a service that the library has and refuses: these messages are on the first screen of a
 * report. */
static void say_refused(struct sink *s, const char *what, const char *why)
{
    s->ops->message(s, SEVERITY_WARNING, "trace.refused", "%s: %s", what, why);
}

/* Without rocTX ranges, a program that uses only these seems to have no ranges. */
static void say_unrecorded(struct sink *s)
{
    const char *graphs = tool_refusal(ROCP_HIP_RUNTIME_API);
    const char *ranges = tool_refusal(ROCP_MARKER_CORE_API);
    if (*graphs)
        say_refused(s, "kernels of graphs are not counted beforehand", graphs);
    if (!*ranges)
        return;
    say_refused(s, "rocTX ranges and marks are not recorded", ranges);
    s->ops->capability(s, "scopes", true, "unavailable", ranges);
}

/* Reports options for which only another vendor's library has a service. */
static void say_unoffered(struct trace *t)
{
    static const struct {
        size_t wanted; /* offset in trace_config */
        const char *feature, *what, *why;
    } all[] = {{offsetof(struct trace_config, managed), "managed_memory",
                "page faults and migrations of managed memory are not recorded",
                "gpufl takes none from rocprofiler-sdk"},
               {offsetof(struct trace_config, graphs_whole), "graph_runs",
                "launches of graphs have no rows of their own",
                "rocprofiler-sdk records the kernels of a graph, and those are recorded"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!*((const bool *)((const char *)&t->config + all[i].wanted)))
            continue;
        say_refused(t->sink, all[i].what, all[i].why);
        t->sink->ops->capability(t->sink, all[i].feature, true, "unavailable", all[i].why);
    }
}

/* Reports the state of each feature. Kernels are always recorded if the tool is ready. */
static void say_recorded(struct trace *t)
{
    static const struct {
        const char *feature, *lack, *without;
        size_t wanted; /* offset in trace_config; 0: always */
        int kind;      /* enum rocp_kind; ROCP_NO_KIND: the library has none for it */
    } features[] = {
        {"kernels", "", "", 0, ROCP_KERNEL_DISPATCH},
        {"copies", "this rocprofiler-sdk records no copies", "copies are not recorded", 0,
         ROCP_MEMORY_COPY},
        {"memory", "rocprofiler-sdk records allocations from ROCm 6.4 on",
         "allocations are not recorded", offsetof(struct trace_config, memory),
         ROCP_MEMORY_ALLOCATION},
        {"external_correlation", "rocprofiler-sdk takes no operation ids from frameworks", "",
         offsetof(struct trace_config, external_correlation), ROCP_NO_KIND},
    };
    struct sink *s = t->sink;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        bool wanted = !features[i].wanted || *((const char *)&t->config + features[i].wanted);
        bool has = features[i].kind >= 0 && delivery_has((enum rocp_kind)features[i].kind);
        const char *refused =
            features[i].kind >= 0 ? tool_refusal((enum rocp_kind)features[i].kind) : "";
        if (wanted && *refused)
            say_refused(s, features[i].without, refused);
        s->ops->capability(s, features[i].feature, wanted,
                           !wanted ? "not_requested"
                           : has   ? "collected"
                                   : "unavailable",
                           !wanted || has ? ""
                           : *refused     ? refused
                                          : features[i].lack);
    }
    say_unrecorded(s);
    say_unoffered(t);
    say_lacking(t, &t->uncounted, "range_profiler.unavailable", "range_counters",
                "kernels are recorded and not counted");
    say_lacking(t, &t->unsampled, "pc_sampling.unavailable", "pc_sampling",
                "kernels are recorded and no PCs are sampled");
    if (samples(t))
        s->ops->message(s, SEVERITY_NOTE_ALOUD, "pc_sampling.beta",
                        "AMD calls rocprofiler-sdk's PC sampling a beta, which may freeze a GPU; "
                        "the ledger does not have the samples that the GPU's own buffers dropped, "
                        "since the library does not report them");
    t->said = true;
}

static void trace_drain(struct trace *t)
{
    if (forked(t))
        return;
    if (!t->said)
        say_recorded(t);
    decode(t);
    if (counts(t))
        delivery_describe_counted(t->stopped);
    if (samples(t))
        delivery_write_samples();
}

static unsigned trace_running(struct trace *t, const char **why)
{
    *why = t->uncounted.code ? t->uncounted.text : t->unsampled.code ? t->unsampled.text : "";
    return t->config.engines;
}

static void trace_cost(struct trace *t, struct trace_cost *out)
{
    (void)t;
    *out = (struct trace_cost){
        .callbacks_ns = calls_cost(), .stacks_apart = true, .launches_counted = true};
}

/* The library's context runs only while a window is open, so that there is no overhead outside. It
 * starts before calls are counted and stops after the last of them has returned, so that no call is
 * recorded in part. */
static int trace_window(struct trace *t, bool open, struct err *e)
{
    if (forked(t))
        return err_set(e, GPUFL_E_STATE, "this process was forked, and cannot be traced");
    if (open) {
        int rc = tool_resume(e);
        return rc ? rc : (calls_window(true, 0), 0);
    }
    if (!calls_window(false, clock_mono() + WINDOW_PATIENCE))
        log_debug("launches of a window have not returned");
    tool_suspend();
    return 0;
}

static void trace_close(struct trace *t)
{
    if (!t)
        return;
    (void)trace_stop(t);
    delivery_close();
    counting_close();
    sampling_report(NULL);
    t->open = false;
}

const struct trace_ops amd_trace = {
    .engines = ENGINE_TRACE | ENGINE_SYNC | ENGINE_RANGE_PROFILER | ENGINE_PC_SAMPLING,
    .kernel_counters = "hardware counters of single kernels (rocprofiler-sdk's dispatch counters)",
    .records_stay = true,
    .syncs_as_waits = true,
    .sample = trace_sample,
    .open = trace_open,
    .start = trace_start,
    .stop = trace_stop,
    .flush = trace_flush,
    .take = trace_take,
    .drain = trace_drain,
    .cost = trace_cost,
    .running = trace_running,
    .window = trace_window,
    .close = trace_close,
};
