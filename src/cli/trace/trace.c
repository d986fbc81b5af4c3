/* trace.c - `gpufl trace`: run a program, have it captured, report.
 *
 * The capture library does the work inside the program. This file makes a directory, sets a few
 * environment variables, starts the program, and makes a report at the end. If the logs cannot be
 * written anywhere, the program is not run, except with --anyway. Any other failure of the capture
 * is reported in one sentence, and the program runs without capture, to its own end and with its
 * own exit code. With --passes the program runs several times, one run after the other, and is not
 * run without capture. Called by one thread only; reports are made in a helper process (run.h). */
#include "capture/options/options.h"
#include "cli/cmd.h"
#include "cli/trace/options/options.h"
#include "cli/trace/outcome/finish.h"
#include "cli/trace/outcome/session.h"
#include "cli/trace/program/injections.h"
#include "cli/trace/program/place.h"
#include "cli/trace/program/run.h"
#include "cli/trace/program/watch.h"
#include "cli/trace/sampler.h"
#include "monitor/roles.h"

#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum {
    KILL_AFTER_S = 10, /* from TERM to KILL */
    GRACE_S = 5,       /* for a session to write its end after --duration */
    SETTLE_MS = 250,   /* for the program to end after a second Ctrl-C */
    SETTINGS_BYTES = 1 << 20,
};

struct trace {
    struct trace_request request;
    struct place place;                    /* of the run */
    struct place passes[TRACE_PASSES_MAX]; /* of its passes */
    const struct place *at;                /* where the program's sessions go: one of these */
    off_t input; /* with passes: position in stdin at the start; -1: stdin is no file */
    struct run run;
    struct watch watch;
    struct evidence evidence;
    int events;                   /* epoll of watch and evidence; -1: none */
    struct trace_sampler sampler; /* of engine Monitor */
    bool sampled;                 /* the run's only session is the sampler's */
    struct buf settings;          /* GPUFL_TRACE_OPTIONS */
    struct injections injections; /* of the program that starts */
    int report_fd;                /* --report FILE, opened before the program starts; -1: none */
    bool capturing;               /* the program is being captured */
    size_t reported;              /* sessions that were reported while the program ran */

    /* Deadlines: CLOCK_MONOTONIC, ns; 0: none. */
    int64_t settle_at; /* a second Ctrl-C: report what is on disk */
    int64_t over_at;   /* --duration: the sessions should have ended by now */
    int64_t kill_at;   /* --kill: TERM was not enough */
};

/* ---- before ----------------------------------------------------------------------------- */

static void warn_replaced(const struct trace *t)
{
    for (const struct vendor *const *v = vendors; *v; v++) {
        const char *name = (*v)->injection, *old = name ? getenv(name) : NULL;
        if (old && *old && !(*v)->injection_library && strcmp(old, t->place.library) != 0 &&
            !t->request.quiet)
            fprintf(stderr, "gpufl trace: %s was set to %s; that tool is replaced in this run\n",
                    name, old);
    }
}

/* Opens the report's file first, so that a mistyped path is reported before the run. */
static void open_report(struct trace *t)
{
    const char *path = t->request.report_file;
    struct err e = {0};
    if (!path)
        return;
    t->report_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (t->report_fd >= 0)
        return;
    err_set_vendor(&e, err_from_errno(errno), errno, "cannot write the report to %s", path);
    cmd_fail("trace", "%s; %s", e.text,
             t->request.quiet ? "`gpufl report` can make it from the logs" : "it goes to stderr");
}

/* Returns the folder of the logs: the command line's, the environment's or the configuration
 * file's. */
static const char *log_folder(const struct trace *t)
{
    const struct trace_request *r = &t->request;
    const char *around = *r->around.log_path ? r->around.log_path : NULL;
    return r->output ? r->output : around;
}

static int encode_settings(struct trace *t, struct err *e)
{
    buf_clear(&t->settings);
    trace_options_encode(&t->request, t->at->dir, t->at->run, t->at->name, &t->settings);
    buf_cstr(&t->settings);
    if (buf_error(&t->settings))
        return err_set(e, buf_error(&t->settings), "the options are too long");
    return GPUFL_OK;
}

/* ---- what is known of the program --------------------------------------------------------- */

/* Adds a descriptor to those that are waited for. If that fails, the program still runs, and less
 * evidence is collected. */
static void listen_to(struct trace *t, int fd)
{
    if (t->events < 0)
        t->events = epoll_create1(EPOLL_CLOEXEC);
    if (t->events >= 0 && fd >= 0)
        (void)epoll_ctl(t->events, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
}

/* Removes a descriptor before it is closed. A process that makes a report may have a copy of the
 * descriptor, and epoll would then report it as ready for ever. */
static void listen_no_more(struct trace *t, int fd)
{
    if (t->events >= 0 && fd >= 0)
        (void)epoll_ctl(t->events, EPOLL_CTL_DEL, fd, NULL);
}

static void close_seen(struct trace *t)
{
    listen_no_more(t, t->evidence.seen.fd);
    seen_close(&t->evidence.seen);
}

/* Begins to collect evidence about a program that is about to start, and drops the evidence of the
 * pass before. */
static void begin_evidence(struct trace *t)
{
    struct marks *m = &t->evidence.marks;
    if (m->fd < 0) {
        marks_open(m, t->place.run);
        listen_to(t, m->fd);
    } else {
        marks_forget(m);
    }
    close_seen(t);
    seen_open(&t->evidence.seen, t->place.library);
    listen_to(t, t->evidence.seen.fd);
}

static void take_evidence(struct trace *t)
{
    marks_take(&t->evidence.marks);
    if (t->evidence.marks.began) /* the program was reached: no more to find out */
        close_seen(t);
    seen_take(&t->evidence.seen, t->run.ended ? 0 : t->run.child);
}

/* Prepares what capture needs. CMD_CONTINUE: the program runs; if it runs without capture, a
 * sentence has said so. If the folder of the logs cannot be used, nothing is run without --anyway:
 * the user wants logs. */
static int prepare(struct trace *t)
{
    struct err e = {0};
    bool anyway = t->request.anyway;
    int rc = place_find_library(&t->place, &e);
    if (rc == GPUFL_OK && place_make_dir(&t->place, log_folder(t), &e)) {
        cmd_fail("trace", "%s; %s", e.text,
                 anyway ? "the program runs without capture"
                        : "nothing was run: --anyway runs the program without capture");
        place_drop_empty(&t->place);
        return anyway ? CMD_CONTINUE : CMD_NOT_STARTED;
    }
    rc = rc ? rc : encode_settings(t, &e);
    if (rc) {
        cmd_fail("trace", "%s; the program runs without capture", e.text);
        return CMD_CONTINUE;
    }
    t->capturing = true;
    if (t->request.duration && watch_open(&t->watch, t->place.dir, &e))
        cmd_fail("trace", "%s", e.text);
    listen_to(t, t->watch.fd);
    begin_evidence(t);
    return CMD_CONTINUE;
}

static int start(struct trace *t)
{
    struct err e = {0};
    char dir[PATH_MAX + 2];
    struct run_variable env[INJECTIONS_MOST + 3] = {{0}}; /* the last one ends it */
    bool samples = engine_table[t->request.engine].asks & ENGINE_PC_SAMPLING;
    size_t n = injections_put(&t->injections, t->place.library, samples, env);
    env[n++] = (struct run_variable){"GPUFL_TRACE_OPTIONS", buf_cstr(&t->settings)};
    if (*t->request.around.log_path && !t->request.output) {
        /* absolute, since the program may change its directory; each pass has its own */
        trace_options_dir(t->at->dir, dir, sizeof dir);
        env[n++] = (struct run_variable){"GPUFL_LOG_PATH", dir};
    }
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

/* Starts a report of what is on disk, unless a report is being made. */
static void start_report(struct trace *t, bool reported)
{
    take_evidence(t);
    struct finish f = {.request = &t->request,
                       .place = &t->place,
                       .passes = t->request.pass_count ? t->passes : NULL,
                       .pass_count = t->request.pass,
                       .evidence = &t->evidence,
                       .report_fd = t->report_fd,
                       .child = t->run.child,
                       .status = t->run.status,
                       .ended = t->run.ended,
                       .sampled = t->sampled,
                       .reported = reported};
    if (t->run.helper == 0 && !run_helper_start(&t->run, finish_run, &f))
        cmd_fail("trace", "no process for the report could be started; the data is in %s",
                 t->place.shown);
}

/* The capture is over while the program runs on (--duration). */
static void on_capture_over(struct trace *t, size_t sessions)
{
    listen_no_more(t, t->watch.fd);
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

/* Handles a change in the logs: if all sessions are over, the capture is over. */
static void on_change(struct trace *t)
{
    struct sessions s;
    if (t->watch.fd < 0 || !watch_take(&t->watch) ||
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

/* Reports what is on disk at the second Ctrl-C, unless the program ends because of it. */
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
        switch (run_wait(&t->run, t->events, next_deadline(t))) {
        case RUN_ENDED:
            return;
        case RUN_INTERRUPTED:
            on_interrupt(t);
            break;
        case RUN_READABLE:
            take_evidence(t);
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

/* Returns true if every session was reported while the program ran. */
static bool all_reported(const struct trace *t)
{
    struct sessions s;
    if (!t->reported || sessions_read(&s, t->place.dir, finish_run_id(&t->request, &t->place)))
        return false;
    bool all = s.ours == t->reported;
    sessions_fini(&s);
    return all;
}

static void wait_report(struct trace *t)
{
    int status = run_helper_wait(&t->run);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM)
        cmd_fail("trace", "the report broke off (signal %d); try `gpufl report %s`",
                 WTERMSIG(status), t->place.shown);
}

/* Removes the files by which sessions share samples, where killed or crashed processes left
 * them. */
static void sweep_roles(const char *dir)
{
    char folder[PATH_MAX];
    struct statfs fs;
    if (statfs(dir, &fs) == 0 && roles_folder(dir, (long)fs.f_type, folder, sizeof folder) == 0)
        roles_sweep(folder);
    if (roles_host_folder(folder, sizeof folder) == 0)
        roles_sweep(folder);
}

static void finish(struct trace *t)
{
    t->sampled = trace_sampler_end(&t->sampler);
    run_helper_wait(&t->run); /* the report that was begun while the program ran */
    say_signal(t);
    start_report(t, all_reported(t));
    wait_report(t);
    sweep_roles(t->place.dir);
    place_drop_empty(&t->place);
}

/* ---- passes ----------------------------------------------------------------------------- */

/* Makes the directories of all passes before the first one runs. */
static int prepare_passes(struct trace *t, struct err *e)
{
    int rc = place_find_library(&t->place, e);
    rc = rc ? rc : place_make_dir(&t->place, log_folder(t), e);
    for (unsigned i = 0; rc == GPUFL_OK && i < t->request.pass_count; i++)
        rc = place_make_pass(&t->place, i + 1, option_engines[t->request.passes[i]], &t->passes[i],
                             e);
    return rc;
}

static void drop_passes(struct trace *t)
{
    for (unsigned i = 0; i < t->request.pass_count; i++)
        place_drop_empty(&t->passes[i]);
    place_drop_empty(&t->place);
}

/* Gives all passes the same input: a file from its present position; any other input is empty. */
static void begin_input(struct trace *t)
{
    t->input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    struct stat st;
    if (t->input < 0 || fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
        t->input = -1;
    t->run.no_input = t->input < 0;
}

/* Returns true if progress is printed. It is not printed where stderr takes a report in JSON. */
static bool says(const struct trace *t)
{
    const struct trace_request *r = &t->request;
    return !r->quiet && (!r->json || r->no_report || t->report_fd >= 0);
}

/* Judges a pass. Returns CMD_CONTINUE, or the exit code of `gpufl trace` if no pass may follow.
 * left: the result of finish_pass. */
static int after_pass(const struct trace *t, int left)
{
    static const char *const reasons[] = {
        [PASS_LEFT_NOTHING] = "captured nothing",
        [PASS_STILL_RUNS] =
            "has a process that still runs, and would be captured together with the next",
    };
    const struct trace_request *r = &t->request;
    int rc = run_exit_code(&t->run);
    char why[96];
    if (!rc && left == PASS_DONE)
        return CMD_CONTINUE;
    if (rc)
        snprintf(why, sizeof why, "ended with exit code %d", rc);
    else
        snprintf(why, sizeof why, "%s", reasons[left]);
    if (r->pass < r->pass_count && says(t))
        fprintf(stderr, "gpufl: pass %u of %u %s: none is run after it\n", r->pass, r->pass_count,
                why);
    return rc;
}

/* Runs pass number request.pass to its end. CMD_CONTINUE: another pass may follow. */
static int go_pass(struct trace *t)
{
    struct trace_request *r = &t->request;
    struct err e = {0};
    const char *engine = option_engines[r->engine];
    if (says(t))
        fprintf(stderr, "gpufl: pass %u of %u: %s\n", r->pass, r->pass_count, engine);
    t->at = &t->passes[r->pass - 1];
    t->run.more = r->pass < r->pass_count;
    if (t->input >= 0)
        lseek(STDIN_FILENO, t->input, SEEK_SET);
    if (encode_settings(t, &e)) {
        cmd_fail("trace", "%s", e.text);
        return CMD_NOT_STARTED;
    }
    begin_evidence(t);
    int rc = start(t);
    if (rc != CMD_CONTINUE)
        return rc;
    attend(t);
    run_helper_wait(&t->run); /* the report that was begun while the program ran */
    say_signal(t);
    take_evidence(t);
    struct finish f = {.request = r,
                       .place = t->at,
                       .passes = t->at,
                       .pass_count = 1,
                       .evidence = &t->evidence,
                       .report_fd = t->report_fd,
                       .child = t->run.child,
                       .status = t->run.status,
                       .ended = true};
    int left = run_helper_start(&t->run, finish_pass, &f) ? run_helper_wait(&t->run) : 0;
    sweep_roles(t->at->dir);
    return after_pass(t, WIFEXITED(left) && WEXITSTATUS(left) <= PASS_STILL_RUNS ? WEXITSTATUS(left)
                                                                                 : PASS_DONE);
}

static int go_passes(struct trace *t)
{
    struct trace_request *r = &t->request;
    struct err e = {0};
    int rc = CMD_CONTINUE;
    if (prepare_passes(t, &e)) {
        cmd_fail("trace", "%s; nothing was run", e.text);
        drop_passes(t);
        return CMD_NOT_STARTED;
    }
    t->capturing = true;
    open_report(t);
    warn_replaced(t);
    begin_input(t);
    while (rc == CMD_CONTINUE && r->pass < r->pass_count && run_goes_on(&t->run)) {
        r->engine = r->passes[r->pass++];
        rc = go_pass(t);
    }
    if (t->run.child) {
        start_report(t, false);
        wait_report(t);
    }
    drop_passes(t);
    if (rc != CMD_CONTINUE)
        return rc;
    return r->pass < r->pass_count ? 128 + t->run.over : CMD_OK;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int trace_go(struct trace *t)
{
    struct err e = {0};
    if (run_open(&t->run, &e) ||
        place_identify(&t->place, t->request.name ? t->request.name : t->request.around.app_name,
                       t->request.command, &e)) {
        cmd_fail("trace", "%s", e.text);
        return CMD_NOT_STARTED;
    }
    if (t->request.pass_count)
        return go_passes(t);
    t->at = &t->place;
    int rc = prepare(t);
    if (rc != CMD_CONTINUE)
        return rc;
    open_report(t);
    if (t->capturing)
        warn_replaced(t);
    rc = start(t);
    if (rc != CMD_CONTINUE)
        return rc;
    if (t->capturing && trace_sampler_wanted(&t->request))
        trace_sampler_start(&t->sampler, &t->request, &t->place, &t->run);
    attend(t);
    if (t->capturing)
        finish(t);
    return run_exit_code(&t->run);
}

int cmd_trace(int argc, char **argv)
{
    static struct trace t = {.watch = {.fd = -1},
                             .evidence = {.marks = {.fd = -1}, .seen = {.fd = -1, .library = -1}},
                             .events = -1,
                             .sampler = {.end = -1},
                             .report_fd = -1};
    int rc = trace_options_parse(&t.request, argc, argv);
    if (rc != CMD_CONTINUE)
        return rc;
    buf_init(&t.settings, SETTINGS_BYTES);
    rc = trace_go(&t);
    watch_close(&t.watch);
    marks_close(&t.evidence.marks);
    seen_close(&t.evidence.seen);
    if (t.events >= 0)
        close(t.events);
    buf_fini(&t.settings);
    if (t.report_fd >= 0)
        close(t.report_fd);
    run_close(&t.run);
    return rc;
}
