/* engines.c - see engines.h. */
#include "capture/engines.h"

#include "capture/messages.h"
#include "capture/sink.h"

/* The ladder: what each engine asks of a backend, and what it falls back to where the backend
 * cannot. Monitor asks nothing; what Trace and Sync miss is said when they attach. */
static const struct {
    const char *feature; /* of the capability row; NULL: none of its own */
    enum gpufl_engine next;
    unsigned bits; /* enum engine_bit */
} ladder[] = {
    [GPUFL_ENGINE_MONITOR] = {NULL, GPUFL_ENGINE_MONITOR, 0},
    [GPUFL_ENGINE_TRACE] = {NULL, GPUFL_ENGINE_MONITOR, ENGINE_TRACE},
    [GPUFL_ENGINE_PC_SAMPLING] = {"pc_sampling", GPUFL_ENGINE_TRACE,
                                  ENGINE_TRACE | ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_SASS_METRICS] = {"sass_metrics", GPUFL_ENGINE_TRACE,
                                   ENGINE_TRACE | ENGINE_SASS_METRICS},
    [GPUFL_ENGINE_RANGE_PROFILER] = {"range_counters", GPUFL_ENGINE_TRACE,
                                     ENGINE_TRACE | ENGINE_RANGE_PROFILER},
    [GPUFL_ENGINE_DEEP] = {"sass_metrics", GPUFL_ENGINE_PC_SAMPLING,
                           ENGINE_TRACE | ENGINE_PC_SAMPLING | ENGINE_SASS_METRICS},
    [GPUFL_ENGINE_PM_SAMPLING] = {"pm_sampling", GPUFL_ENGINE_TRACE,
                                  ENGINE_TRACE | ENGINE_PM_SAMPLING},
    [GPUFL_ENGINE_SYNC] = {NULL, GPUFL_ENGINE_MONITOR, ENGINE_SYNC},
};

unsigned engines_bits(enum gpufl_engine engine)
{
    return ladder[engine].bits;
}

static bool is_built(enum gpufl_engine engine, const struct backend *b)
{
    unsigned have = b->trace ? b->trace->engines : 0;
    return !ladder[engine].feature || !(ladder[engine].bits & ~have);
}

const struct backend *engines_backend(const struct options *o)
{
    struct err e = {0};
    const struct backend *b = backend_select(o->backend, &e);
    if (!b) {
        message_say(SEVERITY_WARNING, "backend_unavailable", "%s; this session has none", e.text);
        return &backend_none;
    }
    if (o->backend == GPUFL_BACKEND_AUTO && b == &backend_none)
        message_say(SEVERITY_WARNING, "no_gpu",
                    "no GPU that can be asked was found: scopes and the host are recorded, no "
                    "kernels; `gpufl info` says what is missing");
    return b;
}

enum gpufl_engine engines_effective(const struct options *o, const struct backend *b)
{
    enum gpufl_engine e = o->profiling_engine;
    while (!is_built(e, b)) {
        feature_set(ladder[e].feature, true, "not_built", "comes with a later release");
        message_say(SEVERITY_WARNING, "engine_not_built",
                    "engine %s is not built yet: %s is used instead", option_engines[e],
                    option_engines[ladder[e].next]);
        e = ladder[e].next;
    }
    return e;
}

/* Everything a trace would have brought is missing, for this reason. */
static void trace_failed(const char *status, const char *reason)
{
    feature_set("kernels", true, status, reason);
    feature_set("copies", true, status, reason);
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

struct trace *engines_attach(const struct options *o, const struct backend *b,
                             enum gpufl_engine engine)
{
    struct trace *t = NULL;
    struct err e = {0};
    if (engine == GPUFL_ENGINE_MONITOR)
        return NULL;
    if (!b->trace) {
        trace_failed("unavailable", "the backend traces nothing");
        return NULL;
    }
    bool sync = engine == GPUFL_ENGINE_SYNC;
    struct trace_config c = {
        .engines = engines_bits(engine),
        .waits = o->enable_synchronization || sync,
        .synchronization = o->enable_synchronization,
        .external_correlation = o->enable_external_correlation,
        .memory = o->enable_memory_tracking,
        .graph_launches = o->enable_cuda_graphs_tracking,
        .yield = o->yield_cupti,
        .buffer_bytes = o->activity_buffer_bytes,
        .pool_bytes = o->activity_pool_bytes,
    };
    int rc = b->trace->open(&t, &c, &capture_sink.sink, &e);
    if (!rc)
        return t;
    const char *why = *e.text ? e.text : err_text(rc);
    message_say(SEVERITY_WARNING, "trace_unavailable", "no kernels are recorded: %s", why);
    trace_failed(status_of(rc), why);
    return NULL;
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
    const char *why = *e.text ? e.text : err_text(rc);
    message_say(SEVERITY_WARNING, "trace_failed", "no kernels are recorded: %s", why);
    trace_failed(status_of(rc), why);
    return false;
}
