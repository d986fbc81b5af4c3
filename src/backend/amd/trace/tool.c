/* tool.c - see tool.h. */
#include "backend/amd/trace/tool.h"

#include "backend/amd/trace/agents.h"
#include "backend/amd/trace/calls.h"
#include "backend/amd/trace/counting.h"
#include "backend/amd/trace/delivery.h"
#include "backend/amd/trace/hip_graphs.h"
#include "backend/amd/trace/markers.h"
#include "backend/amd/trace/objects.h"
#include "backend/amd/trace/sampling.h"
#include "backend/amd/trace/symbols.h"
#include "base/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define LIBRARY "libgpufl-rocprofiler.so" /* as vendor_amd.injection_library */

enum { BUFFER_BYTES = 4 << 20, WATERMARK_BYTES = 2 << 20 };

enum tool_state { TOOL_NONE, TOOL_CONFIGURED, TOOL_READY, TOOL_FAILED };

static struct {
    struct rocp sdk;
    struct rocp_tool tool;
    pid_t process;      /* in which the tool was made */
    int (*begin)(void); /* begins a session once the tool is initialized; NULL: it has begun */
    uint64_t main, code, markers, samples, buffer, thread;
    bool has_markers;
    bool initializing;                 /* the library still accepts services [owner] */
    bool counts, sampled;              /* kernels can be counted, GPUs sampled [owner] */
    bool samples_wanted;               /* by the session [owner] */
    const struct trace_config *forced; /* of the session that made the tool; NULL: it came first */
    struct err why;                    /* of TOOL_FAILED */
    struct err refusals[ROCP_KIND_COUNT]; /* why kinds of records are missing in the session */
    struct err count_why;   /* why kernels cannot be counted; "": that was not asked for */
    struct err sample_why;  /* the same for samples */
    _Atomic int state;      /* enum tool_state; release, acquire */
    _Atomic bool finalized; /* release by finalize, acquire */
    _Atomic bool forgotten; /* in the child of a fork; relaxed */
    bool started;           /* the main context runs; [owner], or the opener of a window */
} me;

/* ---- callbacks in both forms --------------------------------------------------------- */

static void on_call(uint64_t correlation, uint32_t operation, uint32_t phase, void *payload,
                    union rocp_user *user)
{
    calls_event(&(struct call_event){correlation, operation, phase, payload, user});
}

static void on_code(uint32_t operation, uint32_t phase, const void *payload)
{
    /* After a fork: a thread of the parent may have held the locks of these tables. */
    if (phase != ROCP_LOAD || !payload || atomic_load_explicit(&me.forgotten, memory_order_relaxed))
        return;
    if (operation == ROCP_CODE_KERNEL)
        (void)symbols_add(payload);
    else if (operation == ROCP_CODE_LOAD)
        objects_loaded(payload);
}

#define TWO_FORMS(name, body)                                                                      \
    static void name##_old(struct rocp_callback_old r, union rocp_user *user, void *data)          \
    {                                                                                              \
        (void)data, (void)user;                                                                    \
        body;                                                                                      \
    }                                                                                              \
    static void name##_new(struct rocp_callback_new r, union rocp_user *user, void *data)          \
    {                                                                                              \
        (void)data, (void)user;                                                                    \
        body;                                                                                      \
    }

TWO_FORMS(call, on_call(r.internal, r.operation, r.phase, r.payload, user))
static void on_graph(uint64_t correlation, uint32_t operation, uint32_t phase, void *payload,
                     union rocp_user *user)
{
    if (!atomic_load_explicit(&me.forgotten, memory_order_relaxed))
        hip_graphs_event(&(struct call_event){correlation, operation, phase, payload, user});
}

TWO_FORMS(graph, on_graph(r.internal, r.operation, r.phase, r.payload, user))
TWO_FORMS(code, on_code(r.operation, r.phase, r.payload))
TWO_FORMS(marker, markers_event(r.operation, r.phase, r.payload))

#define FORM(name)                                                                                 \
    (rocp_new_form(&me.sdk) ? (void *)(uintptr_t)name##_new : (void *)(uintptr_t)name##_old)

/* ---- making -------------------------------------------------------------------------- */

/* Makes an error of a status; calls are chained so that the first failure ends the chain. */
static int ask(int status, const char *doing, struct err *e)
{
    return status == ROCP_OK ? 0 : rocp_error(&me.sdk, status, doing, e);
}

static int make_context(uint64_t *context, const char *doing, struct err *e)
{
    *context = 0; /* the library requires it */
    return ask(me.sdk.rocprofiler_create_context(context), doing, e);
}

/* Kernels of graphs are counted from the beginning, because programs make graphs once. If that
 * fails, the session reports for each launch that its kernels are not known. */
static void make_graphs(void)
{
    uint32_t operations[HIP_GRAPHS_OPERATIONS];
    size_t count = hip_graphs_find(&me.sdk, operations);
    int status = !count ? ROCP_OK
                        : me.sdk.rocprofiler_configure_callback_tracing_service(
                              me.code, me.sdk.kinds[ROCP_HIP_RUNTIME_API], operations, count,
                              FORM(graph), NULL);
    (void)ask(status, "to report how graphs are made", &me.refusals[ROCP_HIP_RUNTIME_API]);
}

static int make_code(struct err *e)
{
    int rc = make_context(&me.code, "to create a context for code objects", e);
    if (!rc && me.sdk.kinds[ROCP_CODE_OBJECT] == ROCP_NO_KIND)
        rc = err_set(e, GPUFL_E_UNAVAILABLE,
                     "%.160s does not report code objects: install a release of ROCm, 6.2 or later "
                     "(package rocprofiler-sdk)",
                     me.sdk.path);
    rc = rc ? rc
            : ask(me.sdk.rocprofiler_configure_callback_tracing_service(
                      me.code, me.sdk.kinds[ROCP_CODE_OBJECT], NULL, 0, FORM(code), NULL),
                  "to report code objects", e);
    if (!rc)
        make_graphs();
    return rc ? rc : ask(me.sdk.rocprofiler_start_context(me.code), "to start a context", e);
}

static int make_calls(struct err *e)
{
    uint32_t operations[CALLS_MOST];
    size_t count = calls_find(&me.sdk, operations);
    if (!count)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "%.160s does not report HIP calls: install a release of ROCm, 6.2 or later "
                       "(package rocprofiler-sdk)",
                       me.sdk.path);
    return ask(
        me.sdk.rocprofiler_configure_callback_tracing_service(
            me.main, me.sdk.kinds[ROCP_HIP_RUNTIME_API], operations, count, FORM(call), NULL),
        "to report HIP calls", e);
}

/* Dispatches are required. If the library refuses other records that it has, the session reports
 * it. */
static int make_records(struct err *e)
{
    static const char *const doing[ROCP_BUFFER_KIND_COUNT] = {
        [ROCP_KERNEL_DISPATCH] = "to record dispatches",
        [ROCP_MEMORY_COPY] = "to record copies",
        [ROCP_MEMORY_ALLOCATION] = "to record allocations",
    };
    for (int i = 0; i < ROCP_BUFFER_KIND_COUNT; i++) {
        bool has = me.sdk.kinds[i] != ROCP_NO_KIND;
        int status = has ? me.sdk.rocprofiler_configure_buffer_tracing_service(
                               me.main, me.sdk.kinds[i], NULL, 0, me.buffer)
                         : -1;
        delivery_kind((enum rocp_kind)i, status == ROCP_OK);
        if (i == ROCP_KERNEL_DISPATCH && !has)
            return err_set(e, GPUFL_E_UNAVAILABLE,
                           "%.160s does not record dispatches: install a release of ROCm, 6.2 or "
                           "later (package rocprofiler-sdk)",
                           me.sdk.path);
        if (i == ROCP_KERNEL_DISPATCH && status != ROCP_OK)
            return ask(status, doing[i], e);
        if (has)
            (void)ask(status, doing[i], &me.refusals[i]);
    }
    return 0;
}

static int make_buffer(struct err *e)
{
    me.buffer = me.thread = 0;
    int rc =
        ask(me.sdk.rocprofiler_create_buffer(me.main, BUFFER_BYTES, WATERMARK_BYTES, ROCP_LOSSLESS,
                                             delivery_take, &me.sdk, &me.buffer),
            "to create a buffer", e);
    rc = rc ? rc : ask(me.sdk.rocprofiler_create_callback_thread(&me.thread), "a thread", e);
    rc = rc ? rc
            : ask(me.sdk.rocprofiler_assign_callback_thread(me.buffer, me.thread),
                  "a thread for the buffer", e);
    return rc ? rc : make_records(e);
}

static void make_markers(void)
{
    struct err *why = &me.refusals[ROCP_MARKER_CORE_API];
    int kind = me.sdk.kinds[ROCP_MARKER_CORE_API];
    int rc =
        kind == ROCP_NO_KIND
            ? err_set(why, GPUFL_E_UNAVAILABLE, "%.160s does not report rocTX ranges", me.sdk.path)
            : make_context(&me.markers, "to create a context for rocTX ranges", why);
    rc = rc ? rc
            : ask(me.sdk.rocprofiler_configure_callback_tracing_service(me.markers, kind, NULL, 0,
                                                                        FORM(marker), NULL),
                  "to report rocTX ranges", why);
    me.has_markers = rc == 0;
}

static int make(struct err *e)
{
    rocp_find_kinds(&me.sdk);
    int rc = agents_find(&me.sdk, e);
    rc = rc ? rc : make_code(e);
    rc = rc ? rc : make_context(&me.main, "to create a context for dispatches", e);
    rc = rc ? rc : make_calls(e);
    rc = rc ? rc : make_buffer(e);
    if (!rc)
        make_markers();
    return rc;
}

/* ---- the tool's life ----------------------------------------------------------------- */

/* Prepares services beyond Trace that a session in the program's own code may want: that session
 * asks again, and then reports what is not available. Counters replace samples that are not
 * available. */
static void make_profile(struct trace_config c)
{
    struct err later;
    if ((c.engines & ENGINE_PC_SAMPLING) && tool_sample(&c, &later))
        c.engines |= ENGINE_RANGE_PROFILER;
    (void)tool_count(&c, &later);
}

static int initialize(void *finalize, void *data)
{
    (void)finalize, (void)data;
    int rc = make(&me.why);
    me.initializing = rc == 0;
    atomic_store_explicit(&me.state, rc ? TOOL_FAILED : TOOL_READY, memory_order_release);
    if (me.begin)
        (void)me.begin(); /* also if making the tool failed: the session reports why */
    else if (me.forced)
        make_profile(*me.forced);
    me.initializing = false;
    return 0;
}

/* The library holds a lock meanwhile: only stopping and flushing is safe. Records that come later
  * use the session's buffers, which are kept. In the child of a fork, a flush would wait for a
  * thread that exists only in the parent. */
static void finalize(void *data)
{
    (void)data;
    if (atomic_load_explicit(&me.state, memory_order_acquire) != TOOL_READY ||
        me.process != getpid())
        return;
    (void)me.sdk.rocprofiler_stop_context(me.main);
    if (me.has_markers)
        (void)me.sdk.rocprofiler_stop_context(me.markers);
    if (me.sampled)
        (void)me.sdk.rocprofiler_stop_context(me.samples);
    if (me.sampled)
        sampling_flush();
    (void)me.sdk.rocprofiler_flush_buffer(me.buffer);
    atomic_store_explicit(&me.finalized, true, memory_order_release);
}

static void name_client(uint32_t version, void *client)
{
    static const char name[] = "gpufl";
    if (version >= ROCP_NEW_FORM)
        ((struct rocp_client_new *)client)->name = name;
    else
        ((struct rocp_client_old *)client)->name = name;
}

void *tool_configure(const struct tool_call *c)
{
    int none = TOOL_NONE;
    if (!atomic_compare_exchange_strong_explicit(&me.state, &none, TOOL_CONFIGURED,
                                                 memory_order_acq_rel, memory_order_acquire))
        return NULL;
    me.begin = c->begin;
    me.process = getpid();
    int rc = rocp_open(&me.sdk, c->code, &me.why);
    if (!rc && c->version < ROCP_OLDEST)
        rc = err_set(&me.why, GPUFL_E_UNAVAILABLE,
                     "%.160s is rocprofiler-sdk %u.%u.%u: ROCm 6.2 or later is needed, install it",
                     me.sdk.path, c->version / 10000, c->version / 100 % 100, c->version % 100);
    if (rc) {
        atomic_store_explicit(&me.state, TOOL_FAILED, memory_order_release);
        if (c->begin)
            (void)c->begin();
        return NULL;
    }
    me.sdk.version = c->version;
    name_client(c->version, c->client);
    me.tool =
        (struct rocp_tool){.size = sizeof me.tool, .initialize = initialize, .finalize = finalize};
    return &me.tool;
}

/* ---- from the program's own code ----------------------------------------------------- */

static struct rocp_tool *configure(uint32_t version, const char *runtime, uint32_t priority,
                                   void *client)
{
    return tool_configure(
        &(struct tool_call){.version = version,
                            .runtime = runtime,
                            .priority = priority,
                            .client = client,
                            .code = (void *)(uintptr_t)me.sdk.rocprofiler_force_configure});
}

/* rocprofiler-register passes the tables of the runtimes to the visible rocprofiler_set_api_table
 * if rocprofiler_configure is visible, too: so the SDK and our tool's library are made visible. No
 * environment variable is set, because other threads may read the environment. */
static int show(struct err *e)
{
    char path[PATH_MAX];
    Dl_info here;
    const char *slash = NULL;
    if (!dlopen(me.sdk.path, RTLD_NOW | RTLD_GLOBAL))
        return err_set(e, GPUFL_E_UNAVAILABLE, "%.160s does not load", me.sdk.path);
    if (dladdr((void *)(uintptr_t)show, &here))
        slash = strrchr(here.dli_fname, '/');
    int folder = slash ? (int)(slash - here.dli_fname) + 1 : 0;
    int n = snprintf(path, sizeof path, "%.*s%s", folder, slash ? here.dli_fname : "", LIBRARY);
    if (n < (int)sizeof path && dlopen(path, RTLD_NOW | RTLD_GLOBAL))
        return 0;
    return err_set(
        e, GPUFL_E_UNAVAILABLE,
        "no kernels can be recorded without " LIBRARY
        ", which does not load from the folder of libgpufl.so: reinstall, or start the program "
        "with gpufl trace");
}

int tool_force(const struct trace_config *c, struct err *e)
{
    int rc = rocp_open(&me.sdk, NULL, e);
    if (rc || (rc = show(e)))
        return rc;
    me.forced = c; /* valid during this call only */
    int status = me.sdk.rocprofiler_force_configure(configure);
    me.forced = NULL;
    if (status == ROCP_OK)
        return tool_ready(e);
    return err_set(e, GPUFL_E_BUSY,
                   "rocprofiler-sdk takes no tool any more (status %d): the program has used HIP, "
                   "or another tool has come first; start it with gpufl trace, or call init before "
                   "the first HIP call",
                   status);
}

int tool_ready(struct err *e)
{
    int state = atomic_load_explicit(&me.state, memory_order_acquire);
    if (state == TOOL_READY)
        return 0;
    if (state == TOOL_FAILED)
        return err_set(e, me.why.code, "%s", me.why.text);
    return err_set(e, GPUFL_E_STATE, "rocprofiler-sdk has not initialized the tool");
}

int tool_count(const struct trace_config *c, struct err *e)
{
    if (!(c->engines & ENGINE_RANGE_PROFILER) || me.counts)
        return 0;
    if (*me.count_why.text)
        return err_set(e, me.count_why.code, "%s", me.count_why.text);
    if (!me.initializing)
        return err_set(e, GPUFL_E_STATE,
                       "rocprofiler-sdk counts kernels only for a session that begins before the "
                       "program's first HIP call, and for later ones of the same process");
    int rc = counting_make(&me.sdk, me.main, me.buffer, c, &me.count_why);
    me.counts = rc == 0;
    return rc ? err_set(e, rc, "%s", me.count_why.text) : 0;
}

int tool_sample(const struct trace_config *c, struct err *e)
{
    if (me.sampled)
        return 0;
    if (*me.sample_why.text)
        return err_set(e, me.sample_why.code, "%s", me.sample_why.text);
    if (!me.initializing)
        return err_set(e, GPUFL_E_STATE,
                       "rocprofiler-sdk samples PCs only for a session that begins before the "
                       "program's first HIP call, and for later ones of the same process");
    int rc = make_context(&me.samples, "to create a context for samples", &me.sample_why);
    rc = rc ? rc : sampling_make(&me.sdk, me.samples, me.thread, c, &me.sample_why);
    me.sampled = rc == 0;
    return rc ? err_set(e, rc, "%s", me.sample_why.text) : 0;
}

const char *tool_refusal(enum rocp_kind kind)
{
    return me.refusals[kind].text;
}

void tool_forget(void)
{
    atomic_store_explicit(&me.forgotten, true, memory_order_relaxed);
}

const struct rocp *tool_sdk(void)
{
    return &me.sdk;
}

/* ---- sessions ------------------------------------------------------------------------ */

static bool gone(void)
{
    return atomic_load_explicit(&me.finalized, memory_order_acquire);
}

int tool_resume(struct err *e)
{
    if (gone())
        return err_set(e, GPUFL_E_STATE, "rocprofiler-sdk has ended: the program is exiting");
    int rc =
        me.started ? 0 : ask(me.sdk.rocprofiler_start_context(me.main), "to start recording", e);
    if (!me.started && rc == 0 && me.samples_wanted)
        sampling_started(me.sdk.rocprofiler_start_context(me.samples));
    me.started = rc == 0;
    return rc;
}

int tool_start(const struct trace_config *c, struct err *e)
{
    bool waits = c->windows && !c->passed; /* recording begins with the first window */
    if (gone())
        return err_set(e, GPUFL_E_STATE, "rocprofiler-sdk has ended: the program is exiting");
    me.samples_wanted = me.sampled && (c->engines & ENGINE_PC_SAMPLING);
    if (waits)
        calls_pause();
    int rc = waits ? 0 : tool_resume(e);
    if (!rc && me.has_markers) {
        struct err *why = &me.refusals[ROCP_MARKER_CORE_API];
        *why = (struct err){0}; /* of the session before */
        (void)ask(me.sdk.rocprofiler_start_context(me.markers), "to start telling of rocTX ranges",
                  why);
    }
    return rc;
}

void tool_suspend(void)
{
    if (!me.started || gone())
        return;
    me.started = false;
    calls_pause();
    if (me.samples_wanted)
        (void)me.sdk.rocprofiler_stop_context(me.samples);
    (void)me.sdk.rocprofiler_stop_context(me.main);
}

void tool_stop(void)
{
    tool_suspend();
    if (me.has_markers && !gone())
        (void)me.sdk.rocprofiler_stop_context(me.markers);
}

bool tool_flush(void)
{
    if (me.sampled && !gone())
        sampling_flush();
    return !gone() && me.sdk.rocprofiler_flush_buffer(me.buffer) == ROCP_OK;
}
