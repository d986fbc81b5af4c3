/* collector.c - see collector.h. A process has one collector, in static memory, because a
 * thread that passed the gate late may still use its wake-up. */
#include "capture/session/collector.h"

#include "base/clock.h"
#include "base/process/fd_thread.h"
#include "base/process/thread.h"
#include "capture/log/messages.h"
#include "capture/options/process_info.h"
#include "capture/records/captures.h"
#include "capture/samples/samples.h"
#include "capture/session/engines.h"
#include "capture/session/on_demand.h"
#include "capture/session/pace.h"
#include "capture/session/sampling.h"
#include "capture/session/standing.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/exits.h"
#include "capture/threads/gate.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "capture/threads/turns.h"
#include "capture/windows/windows.h"
#include "monitor/steady.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

static const int64_t CLOCK_EVERY = 10ll * 1000000000;
enum { LOOKS = 8 }; /* looks at the steps within the time that a waiting thread allows */

static struct collector me; /* the thread's own */
static struct thread thread;
static _Atomic bool running;
static _Atomic uint64_t flush_asked, flush_done;
static _Atomic(const char *) end_reason; /* NULL: goes on */
static struct wakeup flushed, ended;
static _Atomic int32_t own_tid; /* kernel id of the thread; relaxed */
static bool prepared;           /* the wake-ups above are initialized */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER; /* owner's calls of the trace ops */

/* ---- asking ---------------------------------------------------------------------------------- */

bool collector_ended(void)
{
    return !atomic_load_explicit(&running, memory_order_acquire);
}

/* Reads a file of a thread in /proc. Returns the bytes; 0: the file cannot be read. */
static size_t thread_file(int32_t tid, const char *name, char *out, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

static struct standing_thread look_at_thread(int32_t tid)
{
    struct standing_thread t = {0};
    char text[256];
    struct call_at at;
    if (!tid)
        return t;
    size_t n = thread_file(tid, "schedstat", text, sizeof text);
    t.known = state_schedstat(text, n, &t.sched);
    n = thread_file(tid, "syscall", text, sizeof text);
    t.ready = state_call(text, n, &at) == CALL_NONE;
    return t;
}

/* Returns how long the collector has made no progress. read: also asks the kernel about its
 * threads. */
static int64_t stood_still(struct standing *s, int64_t now, bool read)
{
    struct standing_thread threads[STANDING_THREADS] = {0};
    if (read) {
        threads[0] = look_at_thread(atomic_load_explicit(&own_tid, memory_order_relaxed));
        threads[1] = look_at_thread(fd_thread_id());
    }
    return standing_look(s, now, collector_steps(), threads);
}

/* Waits until done. w is signalled when done may have become true. A usual end, which takes less
 * time than a look, opens no file. */
static bool wait_for(struct wakeup *w, bool (*done)(uint64_t), uint64_t arg,
                     const struct patience *p)
{
    int64_t began = steady_ns();
    struct standing standing = {.at = began, .step = collector_steps()};
    while (!done(arg)) {
        int64_t now = steady_ns();
        if (now - began >= p->most_ns ||
            stood_still(&standing, now, now - began >= p->still_ns / LOOKS) >=
                p->still_ns + collector_expected())
            return false;
        wakeup_wait(w, p->still_ns / LOOKS);
    }
    return true;
}

static bool is_flushed(uint64_t mine)
{
    return atomic_load_explicit(&flush_done, memory_order_acquire) >= mine || collector_ended();
}

bool collector_flush(const struct patience *p)
{
    if (collector_ended())
        return true;
    uint64_t mine = atomic_fetch_add_explicit(&flush_asked, 1, memory_order_relaxed) + 1;
    collector_wake_now();
    return wait_for(&flushed, is_flushed, mine, p);
}

void collector_ask_end(const char *reason)
{
    const char *none = NULL;
    uint32_t on = GATE_ON;
    if (collector_ended())
        return;
    /* The reason comes first: a thread that sees the gate closed may ask for another end. */
    atomic_compare_exchange_strong_explicit(&end_reason, &none, reason, memory_order_release,
                                            memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&capture_gate.gate, &on, GATE_ENDING,
                                            memory_order_release, memory_order_relaxed);
    collector_wake_now();
}

static bool is_over(uint64_t unused)
{
    (void)unused;
    return collector_ended();
}

bool collector_await_end(const struct patience *p)
{
    if (collector_ended())
        return true;
    bool over = wait_for(&ended, is_over, 0, p);
    wakeup_signal(&ended); /* for the next waiter, because a waiter clears the wake-up */
    return over;
}

bool collector_end(const char *reason, const struct patience *p)
{
    if (!thread.running)
        return true;
    collector_ask_end(reason);
    if (!collector_await_end(p))
        return false;
    thread_join(&thread);
    return true;
}

int collector_floor(bool on)
{
    int rc = GPUFL_E_STATE;
    pthread_mutex_lock(&trace_lock);
    if (!collector_ended() && me.trace && me.trace_started && me.backend->trace->floor) {
        atomic_store_explicit(&capture_gate.floor, on, memory_order_relaxed);
        captures_pause(on);
        rc = me.backend->trace->floor(me.trace, on);
    }
    pthread_mutex_unlock(&trace_lock);
    return rc;
}

int collector_idle(bool on)
{
    int rc = GPUFL_E_STATE;
    pthread_mutex_lock(&trace_lock);
    if (!collector_ended() && me.trace && me.trace_started) {
        captures_pause(!on);
        samples_window(on);
        rc = 0;
    }
    pthread_mutex_unlock(&trace_lock);
    return rc;
}

void collector_trace_take(void)
{
    pthread_mutex_lock(&trace_lock);
}

void collector_trace_give(void)
{
    pthread_mutex_unlock(&trace_lock);
}

int collector_window(bool open, struct err *e)
{
    int rc = GPUFL_E_STATE;
    pthread_mutex_lock(&trace_lock);
    if (open)
        captures_resume(); /* before the first launch of the window is seen */
    if (!collector_ended() && me.trace && me.trace_started && me.backend->trace->window) {
        if (!open)
            samples_window(false);
        rc = me.backend->trace->window(me.trace, open, e);
        if (open && !rc)
            samples_window(true);
    } else {
        (void)err_set(e, rc, "nothing is traced in this session");
    }
    pthread_mutex_unlock(&trace_lock);
    return rc;
}

/* ---- one round ------------------------------------------------------------------------------- */

static void name_thread(void *arg, int32_t tid, const char *name)
{
    (void)arg;
    collector_step(); /* a row follows */
    ids_thread(&capture_sink.ids, tid, name);
}

void collector_clock(struct collector *c)
{
    struct clock_pair p = clock_pair_read();
    struct clock_row row = {p.monotonic, p.real, p.uncertainty};
    writer_row(c->writer, RECORD_clock, (const int64_t *)&row);
}

void collector_say_log(struct collector *c)
{
    struct writer_event event;
    while (writer_event(c->writer, &event))
        message_say(event.ended ? SEVERITY_WARNING : SEVERITY_NOTE,
                    event.ended ? "log_channel" : "log_rotation", "%s", event.text);
}

void collector_cycle(struct collector *c, bool flush, bool all)
{
    const struct trace_ops *ops = c->backend->trace;
    if (c->trace_started && flush)
        (void)ops->flush(c->trace, all);
    if (c->trace_started)
        ops->take(c->trace);
    collector_step();
    scopes_drain(&c->drain, all);
    collector_step();
    if (c->trace_started)
        ops->drain(c->trace);
    collector_step();
    if (flush)
        stacking_refresh();
    if (flush && c->ledger.captures)
        turns_look(steady_ns());
    if (flush && !all)
        stacking_keep(c->writer, false);
    if (!c->exit_first && capture_sink.recorded[RECORD_kernel])
        c->exit_first = exits_first(EXITS_RECORDED) == 0;
    sampling_drain();
    samples_drain();
    windows_drain(c->writer);
    collector_say_log(c);
    messages_drain(c->writer, names_table());
    c->ledger.scopes_lost = c->drain.lost;
    c->ledger.joins_lost = c->drain.inherit.lost;
    c->ledger.launches_shared = c->drain.inherit.several;
}

/* Brings the log up to date. Rows that are written here survive SIGKILL. */
static void write_out(struct collector *c)
{
    scopes_boundary(&c->drain, false);
    (void)writer_flush(c->writer);
    c->ledger.cost_sampler = sampling_cpu_ns();
    ledger_write(&c->ledger, &capture_sink, false);
    (void)writer_flush(c->writer);
}

static void option_rows(struct collector *c)
{
    static char text[4200]; /* used by the collector only; too large for the thread's stack */
    struct intern *names = names_table();
    for (int i = 0; i < OPT_COUNT; i++) {
        options_text(c->options, (enum option_id)i, text, sizeof text);
        struct option_row row = {
            .name = intern_str(names, option_table[i].name),
            .value = intern_str(names, text),
            .source = intern_str(names, option_sources[c->options->source[i]]),
        };
        writer_row(c->writer, RECORD_option, (const int64_t *)&row);
    }
}

/* Reports the process's rank in its job, if a launcher gave one. */
static void rank_row(struct collector *c)
{
    struct intern *names = names_table();
    struct setting_row row = {.time = clock_mono(),
                              .engine = intern_str(names, "process"),
                              .name = intern_str(names, "rank"),
                              .value = intern_str(names, process_info_rank())};
    if (*process_info_rank())
        writer_row(c->writer, RECORD_setting, (const int64_t *)&row);
}

/* Reports from which version of which server configuration the session's options come. */
static void remote_row(struct collector *c)
{
    char text[128];
    struct intern *names = names_table();
    snprintf(text, sizeof text, "%.64s, version %" PRId64, c->options->remote_name,
             c->options->remote_version);
    struct setting_row row = {.time = clock_mono(),
                              .engine = intern_str(names, "options"),
                              .name = intern_str(names, "remote_config"),
                              .value = intern_str(names, text)};
    if (c->options->remote_version)
        writer_row(c->writer, RECORD_setting, (const int64_t *)&row);
}

/* Returns the reason why the capture should end now, or NULL. */
static const char *reason_to_end(struct collector *c, int64_t now)
{
    static const char *const stops[] = {
        [WRITER_SPOOL_LIMIT] = "spool_limit",
        [WRITER_DISK_RESERVE] = "disk_reserve",
        [WRITER_WRITE_ERROR] = "write_error",
    };
    enum writer_stop stop = writer_stopped(c->writer);
    if (stop != WRITER_RUNS)
        return stops[stop];
    if (c->end_at && now >= c->end_at)
        return "duration";
    return atomic_load_explicit(&end_reason, memory_order_acquire);
}

/* Returns the earlier of two times; 0: none. */
static int64_t sooner(int64_t a, int64_t b)
{
    return b && b < a ? b : a;
}

static struct pace pace_of(const struct collector *c)
{
    bool light = !(engines_bits(c->engine) & ~(unsigned)(ENGINE_TRACE | ENGINE_SYNC)) &&
                 !windows_wanted(c->options);
    return (struct pace){.first = light ? c->options->flush_first_ms * 1000000 : 0,
                         .interval = c->options->flush_interval_ms * 1000000};
}

static bool has_launched(void)
{
    struct counts n;
    threads_sum(&n);
    return n.launches + n.graph_launches > 0;
}

static void begin_log(struct collector *c)
{
    collector_clock(c);
    option_rows(c);
    rank_row(c);
    remote_row(c);
    engines_describe(c->options, c->backend, c->engine, c->trace_started ? c->trace : NULL,
                     c->writer, names_table());
    messages_drain(c->writer, names_table());
    (void)writer_flush(c->writer);
}

static void collect(struct collector *c)
{
    struct pace pace = pace_of(c);
    int64_t now = steady_ns(), due = now + pace.interval, clock_due = now + CLOCK_EVERY;
    begin_log(c);
    announce_step(&c->announcer, "", now);
    while (!(c->reason = reason_to_end(c, now))) {
        int64_t next = sooner(sooner(due, c->end_at), windows_clock(now));
        next = sooner(next, on_demand_step(c, now));
        bool woken = collector_wake_wait(sooner(next, pace_look(&pace, now)));
        if (atomic_load_explicit(&end_reason, memory_order_acquire))
            continue; /* closing.c runs the last round */
        uint64_t wanted = atomic_load_explicit(&flush_asked, memory_order_acquire);
        bool on_demand = wanted != atomic_load_explicit(&flush_done, memory_order_relaxed);
        now = steady_ns();
        if (pace_looks(&pace, woken, now) && has_launched()) {
            pace.began = now;
            due = sooner(due, now + pace.first);
        }
        bool flush = on_demand || now >= due;
        collector_cycle(c, flush, false);
        if (!flush)
            continue;
        if (now >= clock_due) {
            collector_clock(c);
            clock_due = now + CLOCK_EVERY;
        }
        write_out(c);
        announce_step(&c->announcer, scopes_open_name(), now);
        atomic_store_explicit(&flush_done, wanted, memory_order_release);
        if (on_demand)
            wakeup_signal(&flushed);
        due = now + pace_next(&pace, now);
    }
}

static void *collector_main(void *arg)
{
    struct collector *c = arg;
    atomic_store_explicit(&own_tid, thread_id(), memory_order_relaxed);
    c->drain.thread = name_thread;
    collect(c);
    pthread_mutex_lock(&trace_lock);
    closing_run(c);
    atomic_store_explicit(&running, false, memory_order_release);
    pthread_mutex_unlock(&trace_lock);
    wakeup_signal(&flushed);
    wakeup_signal(&ended);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

int collector_prepare(void)
{
    thread_join(&thread); /* of a capture that ended by itself */
    if (prepared)
        return 0;
    if (collector_wake_prepare() || wakeup_init(&flushed))
        return GPUFL_E_NOMEM;
    if (wakeup_init(&ended)) {
        wakeup_fini(&flushed);
        return GPUFL_E_NOMEM;
    }
    prepared = true;
    return 0;
}

/* Returns true if the session reports itself to a monitor; a session that shares no samples does
 * not. */
static bool announces(const struct options *o)
{
    return strcasecmp(o->share_system_samples, "none") != 0;
}

int collector_start(const struct collector *c)
{
    wakeup_wait(&flushed, 0); /* clears a signal left by the session before */
    wakeup_wait(&ended, 0);
    me = *c;
    me.drain.writer = c->writer;
    me.drain.joins = &capture_sink.joins;
    capture_sink.drain = &me.drain;
    me.drain.ids = &capture_sink.ids;
    announce_begin(&me.announcer, announces(c->options) ? c->session : NULL,
                   c->options->flush_interval_ms * 1000000);
    me.ledger.curve = &me.drain.curve;
    atomic_store_explicit(&end_reason, NULL, memory_order_relaxed);
    atomic_store_explicit(&flush_asked, 0, memory_order_relaxed);
    atomic_store_explicit(&flush_done, 0, memory_order_relaxed);
    collector_wake_begin();
    atomic_store_explicit(&running, true, memory_order_release);
    (void)windows_clock(
        steady_ns()); /* one that opens at once does so before the program goes on */
    int rc = thread_start(&thread, "gpufl-collect", 0, collector_main, &me);
    if (rc)
        atomic_store_explicit(&running, false, memory_order_release);
    return rc;
}

void collector_forget(void)
{
    writer_abandon(me.writer);
    me = (struct collector){0};
    thread.running = false;
    prepared = false;
    atomic_store_explicit(&running, false, memory_order_relaxed);
    collector_wake_forget();
    pthread_mutex_init(&trace_lock, NULL);
}
