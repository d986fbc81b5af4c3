/* api.c - has the functions of gpufl.h, each a few lines that call session, scopes, sampling or
 * report. While the gate is off, hot functions read only the gate. */
#include <gpufl/gpufl.h>

#include "backend/backend.h"
#include "base/err.h"
#include "base/log.h"
#include "base/process/program_thread.h"
#include "capture/copies.h"
#include "capture/nvtx/nvtx.h"
#include "capture/options/options.h"
#include "capture/records/scopes.h"
#include "capture/report.h"
#include "capture/session/mark.h"
#include "capture/session/sampling.h"
#include "capture/session/server.h"
#include "capture/session/session.h"
#include "capture/threads/gate.h"
#include "capture/upload.h"
#include "capture/windows/windows.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static uint32_t gate(void)
{
    return atomic_load_explicit(&capture_gate.gate, memory_order_acquire);
}

const char *gpufl_error_text(int code)
{
    return err_text(code);
}

const char *gpufl_version(void)
{
    return GPUFL_VERSION;
}

void gpufl_options_init(struct gpufl_options *opts, size_t size)
{
    static const struct gpufl_options defaults = {
#define DEFAULT_FIELD(name, value) .name = value,
#define DEFAULT_NO_FIELD(name, value)
#define OPTION(kind, name, fallback, unit, range, field, doc) DEFAULT_##field(name, fallback)
#include "schema/options.def"
#undef OPTION
    };
    if (!opts)
        return;
    memset(opts, 0, size);
    memcpy(opts, &defaults, size < sizeof defaults ? size : sizeof defaults);
    if (size >= sizeof opts->size)
        opts->size = size;
    if (size >= sizeof defaults) /* programs older than GPUFL_ENGINE_DEFAULT keep what they knew */
        opts->profiling_engine = GPUFL_ENGINE_DEFAULT;
}

/* ---- session --------------------------------------------------------------------------------- */

/* A session was asked for, even if none began. Relaxed: the flag only decides about a message. */
static atomic_bool asked;

int gpufl_init(const struct gpufl_options *opts)
{
    if (options_disabled())
        return GPUFL_E_STATE;
    atomic_store_explicit(&asked, true, memory_order_relaxed);
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    return other ? other->init(opts) : session_start(opts, false);
}

void gpufl_shutdown(void)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    if (other)
        other->shutdown();
    else
        session_shutdown();
}

bool gpufl_active(void)
{
    if (gate() == GATE_FORWARD)
        return copies_first()->active();
    return session_active();
}

const char *gpufl_session_id(void)
{
    const struct copies_calls *other = copies_first();
    return other ? other->session_id() : session_id();
}

const char *gpufl_session_dir(void)
{
    const struct copies_calls *other = copies_first();
    return other ? other->session_dir() : session_dir();
}

int gpufl_generate_report(const char *output_path)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    if (other)
        return other->generate_report(output_path);
    if (!*session_dir()) {
        if (!atomic_load_explicit(&asked, memory_order_relaxed) && !options_disabled())
            log_warn("no report: no session has begun in this process; call gpufl_init "
                     "(gpufl::init) before gpufl_generate_report");
        return GPUFL_E_STATE;
    }
    (void)session_flush();
    return report_write(session_dir(), output_path);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

uint64_t gpufl_scope_begin(const char *name, const char *tag)
{
    uint32_t g = gate();
    if (__builtin_expect(g <= GATE_ENDING, 1))
        return 0;
    if (__builtin_expect(g == GATE_FORWARD, 0))
        return copies_first()->scope_begin(name, tag);
    return scopes_begin(name, tag, 0, 0);
}

uint64_t gpufl_scope_begin_bench(const char *name, const char *tag, uint32_t repeat,
                                 uint32_t warmup)
{
    uint32_t g = gate();
    if (g <= GATE_ENDING)
        return 0;
    if (g == GATE_FORWARD)
        return copies_first()->scope_begin_bench(name, tag, repeat, warmup);
    return scopes_begin(name, tag, repeat, warmup);
}

uint64_t gpufl_scope_begin_repeated(const char *name, const char *tag, uint32_t repeat,
                                    uint32_t warmup)
{
    uint32_t g = gate();
    if (g <= GATE_ENDING)
        return 0;
    if (g == GATE_FORWARD)
        return copies_first()->scope_begin_repeated(name, tag, repeat, warmup);
    return scopes_begin_repeated(name, tag, repeat, warmup);
}

void gpufl_scope_repetition(uint64_t handle)
{
    if (handle == 0)
        return;
    uint32_t g = gate();
    if (g == GATE_FORWARD)
        copies_first()->scope_repetition(handle);
    else if (g > GATE_ENDING)
        scopes_repetition(handle);
}

void gpufl_scope_end(uint64_t handle)
{
    if (__builtin_expect(handle == 0, 1))
        return;
    uint32_t g = gate();
    if (g == GATE_FORWARD)
        copies_first()->scope_end(handle);
    else if (g != GATE_OFF)
        scopes_end(handle);
}

void gpufl_scope_leave(uint64_t handle)
{
    if (handle == 0)
        return;
    uint32_t g = gate();
    if (g == GATE_FORWARD)
        copies_first()->scope_leave(handle);
    else if (g != GATE_OFF)
        scopes_leave(handle);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int window(const char *name, bool open)
{
    uint32_t g = gate();
    if (g == GATE_OFF)
        return GPUFL_E_STATE;
    ON_PROGRAM_THREAD;
    if (g == GATE_FORWARD)
        return open ? copies_first()->system_start(name) : copies_first()->system_stop(name);
    return sampling_window(name, open);
}

int gpufl_system_start(const char *name)
{
    return window(name, true);
}

int gpufl_system_stop(const char *name)
{
    return window(name, false);
}

static int capture_window(const char *name, bool open)
{
    struct err e;
    uint32_t g = gate();
    if (g == GATE_OFF)
        return GPUFL_E_STATE;
    ON_PROGRAM_THREAD;
    if (g == GATE_FORWARD)
        return open ? copies_first()->window_open(name) : copies_first()->window_close(name);
    return windows_switch(name, open, &e);
}

int gpufl_window_open(const char *name)
{
    return capture_window(name, true);
}

int gpufl_window_close(const char *name)
{
    return capture_window(name, false);
}

int gpufl_upload_logs(const struct gpufl_upload_options *opts)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = options_disabled() ? NULL : copies_first();
    struct server server;
    if (other)
        return other->upload_logs(opts);
    if (session_switched_off())
        return upload_nothing(opts);
    int rc = server_get(&server);
    if (!rc)
        rc = upload_run(opts, &(struct upload_standard){.dir = session_dir(),
                                                        .url = server.url,
                                                        .key = server.key,
                                                        .api = server.path});
    server_free(&server);
    return rc;
}

size_t gpufl_backend_url(char *out, size_t size)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = options_disabled() ? NULL : copies_first();
    struct server server = {0};
    if (other)
        return other->backend_url(out, size);
    if (!session_switched_off() && server_get(&server))
        server = (struct server){0}; /* no memory for it */
    size_t len = server.url ? strlen(server.url) : 0;
    if (size > 0)
        snprintf(out, size, "%s", server.url ? server.url : "");
    server_free(&server);
    return len;
}

int gpufl_bench_floor(bool on)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    return other ? other->bench_floor(on) : session_floor(on);
}

int gpufl_bench_idle(bool on)
{
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    return other ? other->bench_idle(on) : session_idle(on);
}

/* The driver calls this function inside cuInit, so it must not call the driver. 1: a session runs
 * in this process, or was not wanted; 0: the session could not begin. NVIDIA documents no meaning
 * of the result; CUPTI's injection samples return 0 if they could not register. The driver might
 * then unload the library, so the library is linked with -z nodelete, and a session that could not
 * begin is undone before 0 is returned. */
int InitializeInjection(void)
{
    ON_PROGRAM_THREAD;
    if (options_disabled()) {
        (void)mark_send(MARK_DISABLED, "GPUFL_DISABLED");
        return 1;
    }
    const struct copies_calls *other = copies_first();
    if (other)
        return other->inject();
    (void)mark_send(MARK_LOADED, "");
    int rc = session_start(NULL, true);
    return rc == 0 || rc == GPUFL_E_STATE; /* STATE: not wanted, or captured and over */
}

/* Begins a session, unless one that the program started runs already. */
static int begin_injected(void)
{
    ON_PROGRAM_THREAD;
    return session_start(NULL, true);
}

int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t table))
{
    if (options_disabled())
        return 0;
    ON_PROGRAM_THREAD;
    const struct copies_calls *other = copies_first();
    return other ? other->inject_nvtx(get_export_table) : nvtx_attach(get_export_table);
}

/* This is called by rocprofiler-sdk through libgpufl-rocprofiler.so, inside the program's first HIP
 * call. Returns a struct rocp_tool, or NULL if this process is not to be recorded. */
void *InitializeInjectionRocprofiler(uint32_t version, const char *runtime, uint32_t priority,
                                     void *client, const void *code)
{
    ON_PROGRAM_THREAD;
    if (options_disabled()) {
        (void)mark_send(MARK_DISABLED, "GPUFL_DISABLED");
        return NULL;
    }
    const struct copies_calls *other = copies_first();
    if (other)
        return other->inject_rocprofiler(version, runtime, priority, client, code);
    (void)mark_send(MARK_LOADED, "");
    struct tool_call c = {.version = version,
                          .runtime = runtime,
                          .priority = priority,
                          .client = client,
                          .code = code,
                          .begin = begin_injected};
    return backend_tool(&c);
}
