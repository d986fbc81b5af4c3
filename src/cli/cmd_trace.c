/* cmd_trace.c - `gpufl trace`: run a program, have it captured, report.
 *
 * The capture library does the work inside the program; this is the frame around
 * it: a directory, a few environment variables, a child process, and a report at
 * the end. Whatever goes wrong with the capture is said in one sentence and the
 * program runs on without it, to its own end and its own exit code. One thread;
 * reports are made in a helper process (trace_run.h). */
#include "cli/cmd.h"
#include "cli/trace_finish.h"
#include "cli/trace_options.h"
#include "cli/trace_place.h"
#include "cli/trace_run.h"
#include "cli/trace_session.h"
#include "cli/trace_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND    INT64_C(1000000000)
#define INJECTION "CUDA_INJECTION64_PATH"
#define NVTX      "NVTX_INJECTION64_PATH"

enum {
    KILL_AFTER_S = 10, /* from TERM to KILL */
    GRACE_S = 5,       /* for a session to write its end after --duration */
    SETTLE_MS = 250,   /* for the program to end after a second Ctrl-C */
    SETTINGS_BYTES = 1 << 20,
};

struct trace {
    struct trace_request request;
    struct place place;
    struct run run;
    struct watch watch;
    struct buf settings; /* GPUFL_TRACE_OPTIONS */
    int report_fd;       /* --report FILE, opened before the program starts; -1: none */
    bool capturing;      /* the program is being captured */
    size_t reported;     /* sessions that were reported while the program ran */

    /* Deadlines, CLOCK_MONOTONIC ns; 0: none. */
    int64_t settle_at; /* a second Ctrl-C: report what is on disk */
    int64_t over_at;   /* --duration: the sessions should have ended by now */
    int64_t kill_at;   /* --kill: TERM was not enough */
};

/* ---- before ----------------------------------------------------------------------------- */

static void warn_replaced(const struct trace *t)
{
    const char *old = getenv(INJECTION);
    if (old && *old && strcmp(old, t->place.library) != 0 && !t->request.quiet)
        fprintf(stderr,
                "gpufl trace: " INJECTION " was set to %s; that tool is replaced in this run\n",
                old);
}

/* The report's file is opened first, so that a mistyped path is told before the run. */
static int open_report(struct trace *t, struct err *e)
{
    const char *path = t->request.report_file;
    if (!path)
        return GPUFL_OK;
    t->report_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (t->report_fd >= 0)
        return GPUFL_OK;
    return err_set_vendor(e, err_from_errno(errno), errno, "cannot write the report to %s", path);
}

/* What capture needs; where it fails the program runs without. */
static int prepare(struct trace *t, struct err *e)
{
    int rc = place_find_library(&t->place, e);
    if (rc == GPUFL_OK)
        rc = place_make_dir(&t->place, t->request.output, e);
    if (rc)
        return rc;
    trace_options_encode(&t->request, t->place.dir, t->place.run, t->place.name, &t->settings);
    buf_cstr(&t->settings);
    if (buf_error(&t->settings))
        return err_set(e, buf_error(&t->settings), "the options are too long");
    if (t->request.duration && watch_open(&t->watch, t->place.dir, e))
        cmd_fail("trace", "%s", e->text);
    return GPUFL_OK;
}

/* Starts the program; CMD_CONTINUE, or the exit code where it could not be. */
static int start(struct trace *t)
{
    struct err e = {0};
    const char *nvtx = getenv(NVTX); /* a tool of the user's own keeps it; the session says so */
    struct run_variable env[] = {{INJECTION, t->place.library},
                                 {"GPUFL_TRACE_OPTIONS", buf_cstr(&t->settings)},
                                 {nvtx && *nvtx ? NULL : NVTX, t->place.library},
                                 {0}};
    const struct run_variable none[] = {{0}};
    if (run_start(&t->run, t->request.command, t->capturing ? env : none, &e) == GPUFL_OK)
        return CMD_CONTINUE;
    cmd_fail("trace", "%s", e.text);
    place_drop_empty(&t->place);
    if (e.code == GPUFL_E_UNAVAILABLE)
        return CMD_NOT_STARTED;
    return e.vendor == ENOENT ? 127 : 126;
}

/* ---- while it runs ---------------------------------------------------------------------- */

/* Starts a report over what is on disk, unless one is in the making. */
static void start_report(struct trace *t, bool reported)
{
    struct finish f = {.request = &t->request,
                       .place = &t->place,
                       .report_fd = t->report_fd,
                       .child = t->run.child,
                       .status = t->run.status,
                       .ended = t->run.ended,
                       .reported = reported};
    if (t->run.helper == 0 && !run_helper_start(&t->run, finish_run, &f))
        cmd_fail("trace", "no process for the report could be started; the data is in %s",
                 t->place.shown);
}

/* The capture is over while the program runs on (--duration). */
static void on_capture_over(struct trace *t, size_t sessions)
{
    watch_close(&t->watch);
    t->over_at = 0;
    if (t->request.kill) {
        kill(t->run.child, SIGTERM);
        t->kill_at = run_now() + KILL_AFTER_S * SECOND;
        return;
    }
    t->reported = sessions;
    start_report(t, false);
}

/* Something was written: are the sessions over? */
static void on_change(struct trace *t)
{
    struct sessions s;
    if (!watch_take(&t->watch) ||
        sessions_read(&s, t->place.dir, finish_run_id(&t->request, &t->place)))
        return;
    if (s.ours && !t->over_at)
        t->over_at = run_now() + t->request.duration + GRACE_S * SECOND;
    if (s.ours && s.ours == s.ended)
        on_capture_over(t, s.ours);
    sessions_fini(&s);
}

static void on_deadline(struct trace *t)
{
    int64_t now = run_now();
    if (t->settle_at && now >= t->settle_at) {
        t->settle_at = 0;
        start_report(t, false);
    }
    if (t->kill_at && now >= t->kill_at) {
        t->kill_at = 0;
        kill(t->run.child, SIGKILL);
    }
    if (t->over_at && now >= t->over_at)
        on_capture_over(t, 0);
}

/* The second Ctrl-C reports what is on disk, unless the program ends of it. */
static void on_interrupt(struct trace *t)
{
    if (t->capturing && t->run.interrupts == 2)
        t->settle_at = run_now() + SETTLE_MS * (SECOND / 1000);
}

static int64_t next_deadline(const struct trace *t)
{
    const int64_t all[] = {t->settle_at, t->over_at, t->kill_at};
    int64_t first = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] && (!first || all[i] < first))
            first = all[i];
    return first;
}

static void attend(struct trace *t)
{
    for (;;) {
        switch (run_wait(&t->run, t->watch.fd, next_deadline(t))) {
        case RUN_ENDED:
            return;
        case RUN_INTERRUPTED:
            on_interrupt(t);
            break;
        case RUN_READABLE:
            on_change(t);
            break;
        case RUN_DEADLINE:
            on_deadline(t);
            break;
        case RUN_HELPER:
            break;
        }
    }
}

/* ---- after ------------------------------------------------------------------------------ */

static void say_signal(const struct trace *t)
{
    int signal = WIFSIGNALED(t->run.status) ? WTERMSIG(t->run.status) : 0;
    if (signal && signal != SIGINT && signal != SIGPIPE && !t->request.quiet)
        fprintf(stderr, "gpufl: the program was ended by signal %d (%s)%s\n", signal,
                strsignal(signal), WCOREDUMP(t->run.status) ? ", core dumped" : "");
}

/* True where every session was reported while the program ran. */
static bool all_reported(const struct trace *t)
{
    struct sessions s;
    if (!t->reported || sessions_read(&s, t->place.dir, finish_run_id(&t->request, &t->place)))
        return false;
    bool all = s.ours == t->reported;
    sessions_fini(&s);
    return all;
}

static void finish(struct trace *t)
{
    run_helper_wait(&t->run); /* a report that was begun while the program ran */
    say_signal(t);
    start_report(t, all_reported(t));
    int status = run_helper_wait(&t->run);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM)
        cmd_fail("trace", "the report broke off (signal %d); try `gpufl report %s`",
                 WTERMSIG(status), t->place.shown);
    place_drop_empty(&t->place);
}

static int trace_go(struct trace *t)
{
    struct err e = {0};
    if (run_open(&t->run, &e) ||
        place_identify(&t->place, t->request.name, t->request.command, &e)) {
        cmd_fail("trace", "%s", e.text);
        return CMD_NOT_STARTED;
    }
    if (open_report(t, &e))
        cmd_fail("trace", "%s; %s", e.text,
                 t->request.quiet ? "`gpufl report` can make it from the logs"
                                  : "it goes to stderr");
    t->capturing = prepare(t, &e) == GPUFL_OK;
    if (t->capturing)
        warn_replaced(t);
    else
        cmd_fail("trace", "%s; the program runs without capture", e.text);
    int rc = start(t);
    if (rc != CMD_CONTINUE)
        return rc;
    attend(t);
    if (t->capturing)
        finish(t);
    return run_exit_code(&t->run);
}

int cmd_trace(int argc, char **argv)
{
    static struct trace t = {.watch = {.fd = -1}, .report_fd = -1};
    int rc = trace_options_parse(&t.request, argc, argv);
    if (rc != CMD_CONTINUE)
        return rc;
    buf_init(&t.settings, SETTINGS_BYTES);
    rc = trace_go(&t);
    watch_close(&t.watch);
    buf_fini(&t.settings);
    if (t.report_fd >= 0)
        close(t.report_fd);
    run_close(&t.run);
    return rc;
}
