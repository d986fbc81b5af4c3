/* session.c - see session.h.
 *
 * Start: options -> backend -> directory -> engines attach -> log -> gate open ->
 * engines start -> collector. A start that fails is undone here; the end of a session is
 * in closing.c, on the collector's thread. State is in static memory. */
#include "capture/session/session.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/process/fd_thread.h"
#include "base/process/program_thread.h"
#include "base/process/thread.h"
#include "capture/log/messages.h"
#include "capture/nvtx/nvtx.h"
#include "capture/options/process_info.h"
#include "capture/records/captures.h"
#include "capture/samples/samples.h"
#include "capture/session/collector.h"
#include "capture/session/engines.h"
#include "capture/session/fork.h"
#include "capture/session/mark.h"
#include "capture/session/on_demand.h"
#include "capture/session/sampling.h"
#include "capture/session/server.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/exits.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "capture/windows/control.h"
#include "capture/windows/windows.h"
#include "monitor/steady.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SECOND 1000000000ll
static const struct patience FLUSH = {2 * SECOND, 20 * SECOND};
static const struct patience EXIT = {2 * SECOND, 30 * SECOND};
static const struct patience AT_ONCE = {0, 0};
static const struct patience SHUTDOWN = {20 * SECOND, 60 * SECOND}; /* gpufl_shutdown */

enum state {
    STATE_NONE,  /* before the first, or after an orderly end */
    STATE_RUNS,  /* also when the collector has ended by itself */
    STATE_STUCK, /* the end did not come in time: nothing more in this process */
};

struct session {
    enum state state;
    struct options options;
    struct collector collector; /* as passed to collector_start */
    struct process_info process;
    char dir[PATH_MAX]; /* absolute; "": not made */
    struct err why;     /* of a start that failed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session session; /* guarded by lock */
static char id[37];            /* of the running or last session; written under lock */
static char dir[PATH_MAX];
static _Atomic int32_t starter;   /* the thread inside start_new; 0: none */
static _Atomic bool given_up;     /* an exit handler has waited without success */
static _Atomic bool switched_off; /* the last gpufl_init found enabled=false */

/* ---- parts of the start ---------------------------------------------------------------------- */

static void say_option(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg;
    message_say(severity, code, "%s", text);
}

/* Warns where /proc is missing, as in chroots and minimal containers; the rest works without it. */
static void look_for_proc(void)
{
    if (!file_exists("/proc/self/stat"))
        message_say(SEVERITY_WARNING, "no_proc",
                    "/proc is not mounted: the session lacks the program's name and command, the "
                    "names of threads and host metrics; mount it (mount -t proc proc /proc)");
}

/* `gpufl trace` looks for sessions in its own directory. If the code sets another directory, a link
 * in that of `gpufl trace` leads to the session. */
static void link_dir(const struct session *s)
{
    const struct options *o = &s->options;
    char path[PATH_MAX], there[PATH_MAX];
    if (!o->trace_dir || strcmp(o->trace_dir, o->log_path) == 0 ||
        path_join(path, sizeof path, o->trace_dir, s->process.session) ||
        (realpath(path, there) && strcmp(there, s->dir) == 0))
        return;
    if (symlink(s->dir, path))
        message_say(SEVERITY_WARNING, "trace_dir",
                    "log_path set in code is not where gpufl trace looks (%.200s), and no link to "
                    "this session can be made there: %s",
                    o->trace_dir, strerror(errno));
}

static int make_dir(struct session *s)
{
    char path[PATH_MAX];
    struct err e = {0};
    const struct options *o = &s->options;
    int rc = path_join(path, sizeof path, o->log_path, s->process.session);
    if (rc)
        err_set(&e, rc, "log_path is too long");
    else if (!(rc = file_mkdirs(o->log_path, 0777, &e)))
        rc = file_mkdirs(path, 0700, &e);
    if (!rc && !realpath(path, s->dir))
        rc = err_set_vendor(&e, err_from_errno(errno), errno, "cannot use %.200s", path);
    if (rc)
        err_set(&s->why, rc,
                "%.250s; set log_path (GPUFL_LOG_PATH) to a directory that can be written", e.text);
    else
        link_dir(s);
    return rc;
}

static void fill_header(const struct session *s, struct wire_header *h)
{
    struct clock_pair now = clock_pair_read();
    *h = (struct wire_header){
        .session = s->process.session,
        .channel = "",
        .app = s->options.app_name,
        .pid = process_info_pid(),
        .host = s->process.host,
        .run = s->options.run_id,
        .pass = s->options.pass,
        .passes = s->options.passes,
        .command = s->process.command,
        .engine = option_engines[s->collector.engine],
        .backend = s->collector.backend->name,
        .simulated = s->collector.backend->simulated,
        .version = GPUFL_VERSION,
        .system = s->process.system,
        .start = now.monotonic,
        .clock_monotonic = now.monotonic,
        .clock_real = now.real,
        .clock_uncertainty = now.uncertainty,
    };
}

static int open_log(struct session *s)
{
    const struct options *o = &s->options;
    struct writer_config c = {
        .dir = s->dir,
        .rotate_bytes = o->log_rotate_bytes,
        .max_spool_bytes = o->log_max_spool_bytes,
        .min_free_bytes = o->log_min_free_bytes,
        .compress = o->log_compress,
        .fsync_always = o->flush_logs_always,
        .gpuflight = strcasecmp(o->log_format, "gpuflight") == 0,
    };
    fill_header(s, &c.header);
    return writer_open(&s->collector.writer, &c, names_table(), &s->why);
}

/* Chooses backend and engine, and attaches the engine. */
static void attach(struct session *s, bool injected)
{
    struct collector *c = &s->collector;
    c->backend = engines_backend(&s->options);
    c->engine = engines_effective(&s->options, c->backend);
    c->trace = engines_attach(&s->options, c->backend, c->engine, injected);
    if (c->trace)
        engines_say_late(c->backend, c->engine, injected);
    else
        c->engine = GPUFL_ENGINE_MONITOR;
}

/* Opens the gate: from here on the program's threads record. */
static void open_gate(struct session *s)
{
    struct collector *c = &s->collector;
    sink_begin(c->writer, names_table(), c->backend);
    stacking_begin(&s->options, c->engine);
    nvtx_begin(&s->options, c->backend->vendor);
    capture_sink.sink.ranges = nvtx_ranges();
    threads_begin_session();
    scopes_begin_session(&c->drain, engines_bits(c->engine) & ENGINE_PM_SAMPLING
                                        ? s->options.pm_sampling_interval_us * 1000 / 2
                                        : INT64_MAX);
    atomic_store_explicit(&capture_gate.floor, false, memory_order_relaxed);
    atomic_store_explicit(&capture_gate.scoped, false, memory_order_relaxed);
    scopes_ranges(NULL, NULL, false);
    atomic_fetch_add_explicit(&capture_gate.session, 1, memory_order_relaxed);
    atomic_store_explicit(&capture_gate.gate, GATE_ON, memory_order_release);
}

/* Undoes a start that failed, as far as it had got. */
static void undo(struct session *s)
{
    struct collector *c = &s->collector;
    atomic_store_explicit(&capture_gate.gate, GATE_OFF, memory_order_release);
    if (c->trace_started)
        (void)c->backend->trace->stop(c->trace);
    samples_stop();
    samples_end();
    sampling_end();
    control_close();
    if (c->trace)
        c->backend->trace->close(c->trace);
    if (c->writer)
        writer_close(c->writer);
    fd_thread_stop();
    sink_end();
    options_free(&s->options);
    if (s->dir[0])
        (void)rmdir(s->dir); /* empty, because files without rows were removed */
    *c = (struct collector){0};
    s->state = STATE_NONE;
}

/* Begins the session's windows, and opens the socket at which `gpufl ctl` opens windows and the
 * agent asks for captures. True: the session records inside windows only. */
static bool begin_windows(const struct session *s)
{
    const struct collector *c = &s->collector;
    struct err e = {0};
    const char *lack = c->trace_started ? engines_windows_lack(&s->options, c->backend, c->engine)
                                        : "nothing is traced";
    windows_begin(&s->options, lack, engines_detach(c->backend, c->engine), collector_window);
    bool windowed = windows_wanted(&s->options) && !lack;
    if ((windowed || s->options.remote_control) &&
        (on_demand_begin() || control_open(on_demand_ask, &e)))
        message_say(SEVERITY_WARNING, "control", "gpufl ctl does not reach this session: %s",
                    e.text);
    return windowed;
}

/* Says that the capture goes on without the sampler's thread. */
static void say_unsampled(void)
{
    const char *why = thread_refusal();
    message_say(SEVERITY_WARNING, "sampling", "no samples of devices and host: %s", why);
    feature_set("device_metrics", true, "unavailable", why);
    feature_set("host_metrics", true, "unavailable", why);
}

/* Does the last part of the start, after the log is open. Fails for lack of memory, or if the
 * system refuses a thread. */
static int launch(struct session *s, int64_t began)
{
    struct collector *c = &s->collector;
    const struct options *o = &s->options;
    int rc = collector_prepare();
    if (rc)
        return rc;
    open_gate(s);
    c->trace_started = engines_start(o, c->backend, c->trace);
    if (c->trace_started && (engines_bits(c->engine) & ENGINE_RANGE_PROFILER) &&
        c->backend->trace->range)
        scopes_ranges(c->backend->trace->range, c->trace,
                      strcasecmp(o->range_mode, "kernels") != 0);
    rc = exits_first(c->trace_started ? EXITS_TRACING : EXITS_STARTED);
    if (rc)
        return rc;
    samples_begin(o, c->engine, c->trace_started, begin_windows(s));
    bool sampled = sampling_begin(o, c->backend, &s->process, s->dir) == 0;
    int64_t now = steady_ns();
    unsigned bits = engines_bits(c->engine);
    c->options = o;
    c->session = s->process.session;
    c->dir = s->dir;
    c->end_at = o->duration_ms > 0 ? now + o->duration_ms * 1000000 : 0;
    c->ledger = (struct ledger){
        .ops = c->backend->trace,
        .trace = c->trace_started ? c->trace : NULL,
        .activity = c->trace_started && c->engine != GPUFL_ENGINE_SYNC &&
                    engines_record_kernels(o, c->backend, c->engine),
        .samples = c->trace_started && (bits & ENGINE_PC_SAMPLING),
        .counters = c->trace_started && (bits & (ENGINE_PM_SAMPLING | ENGINE_RANGE_PROFILER)),
        .profile = c->trace_started &&
                   (bits & (ENGINE_SASS_METRICS | ENGINE_RANGE_PROFILER | ENGINE_PM_SAMPLING)),
        .captures = c->trace_started && captures_begin(o->idle_stacks, &c->drain.curve),
        .cost_start =
            process_info_acts_for_other() ? 0 : now - began}; /* on the program's thread */
    rc = collector_start(c);
    if (rc)
        (void)err_set(&s->why, rc, "%s", thread_refusal());
    else if (!sampled)
        say_unsampled();
    if (!rc && o->bench_floor)
        (void)collector_floor(true);
    return rc;
}

/* Says why no session begins. If `gpufl trace` runs, it says so at its end; otherwise the library
 * does. */
static int refuse(const struct session *s, int rc)
{
    const char *text = *s->why.text ? s->why.text : err_text(rc);
    if (!mark_send(MARK_FAILED, text))
        log_error("no capture: %s", text);
    return rc;
}

static int resolve(struct session *s, const struct gpufl_options *code, bool injected)
{
    struct options_say say = {.fn = say_option};
    int rc = options_resolve(&s->options, code, injected, &say);
    if (!rc)
        atomic_store_explicit(&switched_off, !s->options.enabled, memory_order_relaxed);
    if (!rc && s->options.enabled)
        return 0;
    options_free(&s->options);
    if (rc)
        return refuse(s, rc);
    (void)mark_send(MARK_DISABLED, "the option `enabled`");
    return GPUFL_E_STATE;
}

static int start_new(const struct gpufl_options *code, bool injected)
{
    struct session *s = &session;
    int64_t began = steady_ns();
    s->dir[0] = '\0';
    s->why = (struct err){0};
    if (threads_init(scopes_thread_ends) || names_open() || fork_watch() ||
        exits_begin(session_exit, session_leave))
        return refuse(s, GPUFL_E_NOMEM);
    exits_watch_thread();
    s->collector = (struct collector){0};
    messages_begin();
    int rc = resolve(s, code, injected);
    if (rc)
        return rc;
    log_set_debug(s->options.enable_debug_output);
    look_for_proc();
    messages_hold();
    rc = process_info_read(&s->process);
    if (!rc)
        rc = make_dir(s);
    if (!rc)
        rc = server_keep(&s->options);
    if (!rc) {
        (void)fd_thread_start(); /* on failure our files are in the program's descriptor table */
        attach(s, injected);
        rc = open_log(s);
    }
    if (!rc)
        rc = launch(s, began);
    if (!rc)
        engines_debug(&s->options, s->collector.engine);
    if (rc) {
        undo(s);
        messages_release(false);
        return refuse(s, rc);
    }
    messages_release(true);
    memcpy(id, s->process.session, sizeof id);
    memcpy(dir, s->dir, sizeof dir);
    s->state = STATE_RUNS;
    (void)mark_send(MARK_BEGAN, dir);
    log_debug("session %s: backend %s, log in %s", id, s->collector.backend->name, dir);
    return 0;
}

/* Cleans up after a collector that has ended by itself. Caller holds the lock. */
static void reap(struct session *s)
{
    if (s->state != STATE_RUNS || !collector_ended())
        return;
    (void)collector_end("", &SHUTDOWN);
    s->state = STATE_NONE;
    options_free(&s->options);
}

/* Says which options of gpufl_init differ from those of the session that runs already. */
static void merge(struct session *s, const struct gpufl_options *code)
{
    const unsigned char *source = s->options.source;
    char missed[512];
    bool engine = options_missed(&s->options, code, missed, sizeof missed);
    if (*missed)
        message_say(engine ? SEVERITY_WARNING : SEVERITY_NOTE, "init_late",
                    "gpufl_init sets %s, but this session had begun before, with engine %s%s: call "
                    "gpufl_init before the program first uses the GPU, or set GPUFL_* variables",
                    missed, option_engines[s->options.profiling_engine],
                    s->options.traced ? " (gpufl trace)" : "");
    if (!code || code->size < sizeof *code || !code->continuous_system_sampling ||
        source[OPT_continuous_system_sampling] > SOURCE_CODE ||
        source[OPT_system_sample_rate_ms] > SOURCE_CODE)
        return;
    int interval = code->system_sample_rate_ms > 0 ? code->system_sample_rate_ms : 1000;
    message_say(SEVERITY_NOTE, "sampling_interval",
                "gpufl_init asks for continuous sampling: every %d ms from here on", interval);
    sampling_continue(interval);
}

/* Takes the lock for a start. A vendor's library that initializes its driver while we
 * attach calls this function again on the same thread; and a thread inside cuInit may hold a
 * lock of the driver for which the holder of our lock waits. In both cases the caller must not
 * wait. */
static bool start_lock(bool injected)
{
    if (atomic_load_explicit(&starter, memory_order_relaxed) == thread_id())
        return false;
    if (injected)
        return pthread_mutex_trylock(&lock) == 0;
    pthread_mutex_lock(&lock);
    return true;
}

int session_start(const struct gpufl_options *code, bool injected)
{
    int rc;
    if (options_disabled())
        return GPUFL_E_STATE;
    if (!start_lock(injected))
        return 0; /* another call is starting the session */
    atomic_store_explicit(&starter, thread_id(), memory_order_relaxed);
    /* Waits for a session that is ending by itself, and then starts the next one. */
    bool ending = !injected && session.state == STATE_RUNS && !session_active() &&
                  !collector_await_end(&FLUSH);
    bool once = session.options.traced && session.state == STATE_RUNS && collector_ended();
    if (ending) {
        rc = GPUFL_E_TIMEOUT;
    } else if (session.state == STATE_RUNS && !collector_ended()) {
        merge(&session, code);
        rc = 0;
    } else if (once || session.state == STATE_STUCK) {
        rc = GPUFL_E_STATE; /* `gpufl trace` captures a program once */
    } else {
        reap(&session);
        rc = start_new(code, injected);
    }
    atomic_store_explicit(&starter, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Caller holds the lock. */
static void stop(const char *reason, const struct patience *p)
{
    struct session *s = &session;
    if (s->state != STATE_RUNS)
        return;
    if (!collector_end(reason, p)) {
        s->state = STATE_STUCK;
        atomic_store_explicit(&capture_gate.gate, GATE_OFF, memory_order_release);
        log_warn("the end of the capture did not come in time: the log may lack the last records");
        return;
    }
    s->state = STATE_NONE;
    if (!s->options.traced) /* otherwise the launcher says it */
        log_debug("session %s ended (%s): %s", id, reason, dir);
    options_free(&s->options);
}

/* Ends the session for gpufl_shutdown. Tells the backend if no other thread works with the GPU
 * while this one waits, which only a session that still counts launches can know. Caller holds the
 * lock. */
static void end_here(void)
{
    const struct collector *c = &session.collector;
    if (session.state == STATE_RUNS && session_active() && c->trace_started &&
        c->backend->trace->quiet && threads_alone())
        c->backend->trace->quiet(c->trace);
    stop("shutdown", &SHUTDOWN);
}

void session_shutdown(void)
{
    pthread_mutex_lock(&lock);
    if (session.state == STATE_RUNS && session.options.traced)
        (void)collector_flush(&FLUSH);
    else
        end_here();
    pthread_mutex_unlock(&lock);
}

/* Asks for the end before it takes the lock: the holder of the lock may be waiting for the
 * collector, and goes on when the collector has ended. */
void session_exit(void)
{
    struct timespec until;
    ON_PROGRAM_THREAD;
    if (atomic_load_explicit(&given_up, memory_order_relaxed))
        return; /* another of our exit handlers has waited already */
    collector_ask_end("exit");
    bool over = collector_await_end(&EXIT);
    atomic_store_explicit(&given_up, !over, memory_order_relaxed);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += over ? EXIT.still_ns / SECOND : 0;
    if (pthread_mutex_timedlock(&lock, &until))
        return;
    stop("exit", over ? &EXIT : &AT_ONCE);
    pthread_mutex_unlock(&lock);
}

bool session_leave(void)
{
    if (!session_active())
        return false;
    ON_PROGRAM_THREAD;
    scopes_settle();
    (void)collector_flush(&EXIT);
    return session_active();
}

int session_flush(void)
{
    pthread_mutex_lock(&lock);
    bool done = session.state != STATE_RUNS || collector_flush(&FLUSH);
    pthread_mutex_unlock(&lock);
    return done ? 0 : GPUFL_E_TIMEOUT;
}

bool session_active(void)
{
    return atomic_load_explicit(&capture_gate.gate, memory_order_acquire) == GATE_ON;
}

const char *session_id(void)
{
    return id;
}

const char *session_dir(void)
{
    return *id ? dir : "";
}

static void say_nothing(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity, (void)code, (void)text;
}

bool session_switched_off(void)
{
    static const struct options_say nobody = {.fn = say_nothing};
    struct options o;
    if (options_disabled() || atomic_load_explicit(&switched_off, memory_order_relaxed))
        return true;
    if (*id)
        return false; /* the last gpufl_init ran */
    bool off = options_resolve(&o, NULL, false, &nobody) == 0 && !o.enabled;
    options_free(&o);
    return off;
}

int session_floor(bool on)
{
    pthread_mutex_lock(&lock);
    int rc = session.state == STATE_RUNS ? collector_floor(on) : GPUFL_E_STATE;
    pthread_mutex_unlock(&lock);
    return rc;
}

int session_idle(bool on)
{
    pthread_mutex_lock(&lock);
    int rc = session.state == STATE_RUNS ? collector_idle(on) : GPUFL_E_STATE;
    pthread_mutex_unlock(&lock);
    return rc;
}

void session_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(&session, 0, sizeof session); /* what it owns is not freed */
    id[0] = '\0';
    atomic_store_explicit(&starter, 0, memory_order_relaxed);
    atomic_store_explicit(&given_up, false, memory_order_relaxed);
    atomic_store_explicit(&capture_gate.gate, GATE_OFF, memory_order_release);
    atomic_store_explicit(&capture_gate.floor, false, memory_order_relaxed);
}
