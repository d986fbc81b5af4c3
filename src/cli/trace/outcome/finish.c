/* finish.c - writes the report at the end of a run, and what follows it.
 *
 * Order: report, where the data is and what to run next, then compression, so that nobody waits for
 * the latter to read. A session is compressed only when its log says that it ended, or when its
 * process is the one we have reaped: a file that somebody might still append to is never replaced.
 * Called by one thread only. */
#include "cli/trace/outcome/finish.h"

#include "base/file/file.h"
#include "base/process/alive.h"
#include "cli/cmd.h"
#include "cli/trace/outcome/compress.h"
#include "cli/trace/outcome/lost.h"
#include "cli/trace/outcome/session.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SENTENCE_MAX = 4096 };

const char *finish_run_id(const struct trace_request *r, const struct place *p)
{
    /* The public client's format cannot store the run's id. */
    const char *format = trace_options_setting(r, "log_format");
    return p->created || (format && strcmp(format, "native") != 0) ? NULL : p->run;
}

/* Returns the path to report: the session, if this run has only one and the directory has sessions
 * of other runs; else the directory. */
static const char *report_path(const struct finish *f, const struct sessions *s)
{
    if (s->foreign && s->ours == 1)
        for (size_t i = 0; i < s->count; i++)
            if (s->items[i].ours)
                return s->items[i].dir;
    return f->place->dir;
}

/* Empties the report's file, so that nobody takes an earlier run's report for this run's. */
static void empty_report(const struct finish *f)
{
    if (f->report_fd >= 0 && ftruncate(f->report_fd, 0) == 0)
        lseek(f->report_fd, 0, SEEK_SET);
}

/* Returns the stream to which the report goes: the file, emptied, or stderr. */
static FILE *open_report(const struct finish *f)
{
    if (f->report_fd < 0)
        return stderr;
    empty_report(f);
    int fd = fcntl(f->report_fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    return out;
}

static int print_report(const struct finish *f, const struct sessions *s)
{
    const struct trace_request *r = f->request;
    char error[512] = "";
    struct gpufl_report_options o;
    FILE *out = open_report(f);
    if (!out)
        return cmd_fail("trace", "cannot write the report to %s: %s", r->report_file,
                        strerror(errno));
    gpufl_report_options_init(&o, sizeof o);
    o.format = r->json ? GPUFL_REPORT_JSON : GPUFL_REPORT_TEXT;
    if (r->top != TRACE_TOP_DEFAULT || r->json)
        o.top = r->top > 0 ? (int)r->top : 0;
    o.full = out != stderr || r->top != TRACE_TOP_DEFAULT; /* a file, or tables of that length */
    o.color = cmd_color(out);
    o.width = cmd_width(out);
    o.progress = !r->quiet;
    int rc = gpufl_report(report_path(f, s), &o, out, error, sizeof error);
    if (out != stderr && fclose(out) != 0 && !rc) {
        rc = GPUFL_E_IO; /* some file systems report only now that there was no room */
        snprintf(error, sizeof error, "the report could not be written: %s", strerror(errno));
    }
    if (!rc)
        return CMD_OK;
    return cmd_fail("trace", "%s%s%s; `gpufl report` makes it again from the logs",
                    out == stderr ? "" : r->report_file, out == stderr ? "" : ": ", error);
}

static bool have_server(void)
{
    char dir[PATH_MAX], path[PATH_MAX];
    return cmd_exe_dir(dir, sizeof dir) && path_join(path, sizeof path, dir, "gpufl-server") == 0 &&
           access(path, X_OK) == 0;
}

/* Returns true if the process ended its session, and could not write that to the log. */
static bool is_unwritten(const struct finish *f, const struct session *one)
{
    return f->evidence && exits_unwritten(&f->evidence->marks.exits, one->id);
}

/* Returns true if it is known how the process of a session ended. */
static bool status_of(const struct finish *f, const struct session *one, int *status)
{
    *status = f->status;
    return f->ended && (one->pid == f->child ||
                        (f->evidence && exits_status(&f->evidence->marks.exits, one->id, status)));
}

static bool is_over(const struct finish *f, const struct session *one)
{
    int status;
    return one->ended || one->pid == f->child || status_of(f, one, &status) ||
           !session_is_written(one);
}

static bool is_open(const struct session *one)
{
    return one->ours && !one->ended && !one->packed;
}

/* Returns how many processes whose sessions have no end ended with that status; 0 if an earlier
 * session in the list has been counted with this one. */
static size_t with_status(const struct finish *f, const struct sessions *s, size_t at, int status)
{
    size_t n = 0;
    int other;
    for (size_t i = 0; i < s->count; i++) {
        const struct session *one = &s->items[i];
        if (!is_open(one) || one->pid == f->child || is_unwritten(f, one) ||
            !status_of(f, one, &other) || other != status)
            continue;
        if (i < at)
            return 0;
        n++;
    }
    return n;
}

static void print_program(const struct finish *f)
{
    if (WIFEXITED(f->status))
        fprintf(stderr,
                "gpufl: the program ended by _exit, code %d: what it did in its last moments may "
                "be missing\n",
                WEXITSTATUS(f->status));
    else
        fprintf(stderr, "gpufl: what the program did in its last moments may be missing\n");
}

static void print_processes(size_t n, int status)
{
    if (!n)
        return;
    fprintf(stderr,
            "gpufl: %zu process%s ended by %s %d: what %s did in %s last moments may be "
            "missing\n",
            n, n == 1 ? "" : "es", WIFEXITED(status) ? "_exit, code" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), n == 1 ? "it" : "they",
            n == 1 ? "its" : "their");
}

/* Prints what is known of the sessions without an end. */
static void print_open(const struct finish *f, const struct sessions *s)
{
    size_t running = 0, over = 0, unwritten = 0;
    int status;
    for (size_t i = 0; i < s->count; i++) {
        const struct session *one = &s->items[i];
        if (!is_open(one))
            continue;
        if (is_unwritten(f, one))
            unwritten++;
        else if (one->pid == f->child)
            print_program(f);
        else if (status_of(f, one, &status))
            print_processes(with_status(f, s, i, status), status);
        else if (is_over(f, one))
            over++;
        else
            running++;
    }
    if (unwritten)
        fprintf(stderr,
                "gpufl: the log%s of %zu process%s could not be written to the end (see above): "
                "what is on disk counts\n",
                unwritten == 1 ? "" : "s", unwritten, unwritten == 1 ? "" : "es");
    if (over)
        fprintf(
            stderr,
            "gpufl: %zu process%s ended without exit handlers (_exit, or killed): what is on disk "
            "counts\n",
            over, over == 1 ? "" : "es");
    if (running)
        fprintf(stderr, "gpufl: %zu process%s still run%s: what is on disk so far counts\n",
                running, running == 1 ? "" : "es", running == 1 ? "s" : "");
}

static void print_failed(const struct finish *f)
{
    if (f->evidence && f->evidence->marks.failed)
        fprintf(stderr, "gpufl: in %u process%s capture could not begin (pid %ld: %s)\n",
                f->evidence->marks.failed, f->evidence->marks.failed == 1 ? "" : "es",
                f->evidence->marks.failed_pid, f->evidence->marks.why);
}

/* Says where the data is and what to run next. in_file: the report is in its file. */
static void print_next(const struct finish *f, const struct sessions *s, bool in_file)
{
    const char *shown = f->place->shown, *q = cmd_quote(shown);
    fprintf(stderr, "gpufl: %zu session%s in %s\n", s->ours, s->ours == 1 ? "" : "s", shown);
    if (s->open && f->ended)
        print_open(f, s);
    if (f->ended && !f->passes)
        lost_say(f, s, stderr);
    if (s->foreign && s->ours > 1)
        fprintf(stderr, "gpufl: %zu session%s of earlier runs there %s in the report, too\n",
                s->foreign, s->foreign == 1 ? "" : "s", s->foreign == 1 ? "is" : "are");
    print_failed(f);
    if (in_file)
        fprintf(stderr, "gpufl: the report is in %s\n", f->request->report_file);
    fputs("gpufl: next: ", stderr);
    if (have_server())
        fprintf(stderr, "gpufl view %s%s%s   or: ", q, shown, q);
    fprintf(stderr, "gpufl report %s%s%s --full\n", q, shown, q);
}

static int no_session(const struct finish *f, const struct sessions *s)
{
    struct buf text;
    if (!f->ended) {
        fprintf(stderr, "gpufl: nothing is on disk yet: no session has begun so far\n");
        return CMD_OK;
    }
    struct why w = {.request = f->request,
                    .place = f->place,
                    .evidence = f->evidence,
                    .blank = (unsigned)lost_folders(f, s),
                    .status = f->status};
    empty_report(f);
    if (lost_others(f, s)) {
        fprintf(stderr,
                "gpufl: nothing was captured: no process got so far as to write a record\n");
        lost_say(f, s, stderr);
        print_failed(f);
        lost_drop(f, s);
        return CMD_FAILED;
    }
    buf_init(&text, SENTENCE_MAX);
    why_no_session(&w, &text);
    lost_drop(f, s);
    fprintf(stderr, "gpufl: nothing was captured: %s\n", buf_cstr(&text));
    buf_fini(&text);
    return CMD_FAILED;
}

/* Prints why the program has no session, if the only session is the launcher's (sampler.h). */
static void say_sampled(const struct finish *f, const struct sessions *s)
{
    struct buf text;
    if (lost_others(f, s)) {
        fprintf(stderr,
                "gpufl: sampled by gpufl itself, as no process of the program got so far as "
                "to write a record\n");
        return;
    }
    struct why w = {.request = f->request, .place = f->place, .status = f->status};
    buf_init(&text, SENTENCE_MAX);
    why_no_session(&w, &text);
    fprintf(stderr, "gpufl: sampled by gpufl itself, as the program has no session: %s\n",
            buf_cstr(&text));
    buf_fini(&text);
}

static bool compression_wanted(const struct trace_request *r)
{
    bool on = true;
    const char *text = trace_options_setting(r, "log_compress");
    if (!text)
        text = getenv("GPUFL_LOG_COMPRESS");
    return !text || opt_bool(text, &on) != 0 || on;
}

static void compress_sessions(const struct finish *f, const struct sessions *s)
{
    struct err e = {0};
    if (!f->ended || !compression_wanted(f->request))
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct session *one = &s->items[i];
        if (!one->ours || !is_over(f, one))
            continue;
        if (compress_session(one->dir, &e)) {
            cmd_fail("trace", "some logs stay uncompressed: %s", e.text);
            return;
        }
    }
}

/* Adds names and lines for the addresses of stacks, while the program's files are unchanged. */
static void symbolize_sessions(const struct finish *f, const struct sessions *s)
{
    struct gpufl_symbolized r = {.size = sizeof r};
    bool said = f->request->quiet;
    for (size_t i = 0; f->ended && i < s->count; i++) {
        const struct session *one = &s->items[i];
        int status, flags = is_over(f, one) ? GPUFL_SYMBOLIZE_ENDED : 0;
        flags |= f->request->quiet ? 0 : GPUFL_SYMBOLIZE_PROGRESS;
        if (is_unwritten(f, one))
            flags |= GPUFL_SYMBOLIZE_UNWRITTEN;
        if (status_of(f, one, &status))
            flags |= GPUFL_SYMBOLIZE_STATUS | (status & 0xffff) << GPUFL_SYMBOLIZE_STATUS_AT;
        if (!one->ours || gpufl_symbolize(one->dir, flags, &r, NULL, 0) || said || !*r.note)
            continue;
        fprintf(stderr, "gpufl: %s\n", r.note);
        said = true;
    }
}

/* Makes stderr blocking: the program may have left it non-blocking, which is a property of the
 * file, not of the process, and a full pipe would then swallow the report. */
static void make_stderr_wait(void)
{
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK))
        fcntl(STDERR_FILENO, F_SETFL, flags & ~O_NONBLOCK);
}

/* Reads all sessions of the run. */
static int read_sessions(const struct finish *f, struct sessions *s)
{
    int rc =
        f->passes ? GPUFL_OK : sessions_read(s, f->place->dir, finish_run_id(f->request, f->place));
    if (f->passes)
        *s = (struct sessions){0};
    for (unsigned i = 0; rc == GPUFL_OK && i < f->pass_count; i++)
        rc = sessions_more(s, f->passes[i].dir, NULL);
    return rc ? cmd_fail("trace", "%s while reading %s", err_text(rc), f->place->shown) : CMD_OK;
}

int finish_pass(void *arg)
{
    const struct finish *f = arg;
    struct sessions s;
    make_stderr_wait();
    if (read_sessions(f, &s))
        return PASS_LEFT_NOTHING;
    int rc = s.ours ? PASS_DONE : PASS_LEFT_NOTHING;
    if (!s.ours) {
        no_session(f, &s);
    } else if (!f->request->quiet && (!f->request->json || f->report_fd >= 0)) {
        lost_say(f, &s, stderr);
        lost_drop(f, &s);
    }
    for (size_t i = 0; i < s.count; i++)
        if (!s.items[i].ended && session_is_written(&s.items[i]))
            rc = PASS_STILL_RUNS;
    symbolize_sessions(f, &s);
    compress_sessions(f, &s);
    sessions_fini(&s);
    return rc;
}

int finish_run(void *arg)
{
    const struct finish *f = arg;
    const struct trace_request *r = f->request;
    struct sessions s;
    if (f->ended)
        make_stderr_wait();
    int rc = read_sessions(f, &s);
    if (rc)
        return rc;
    if (!f->passes)
        symbolize_sessions(f, &s);
    if (s.ours == 0 && f->passes && f->ended) {
        empty_report(f); /* the pass has said why */
    } else if (s.ours == 0) {
        rc = no_session(f, &s);
    } else if (!f->reported) {
        bool to_stderr = f->report_fd < 0, wanted = !r->no_report && !(r->quiet && to_stderr);
        bool says = !r->quiet && !(r->json && to_stderr && wanted);
        if (f->ended && !f->passes && says) /* else the report lists the folders */
            lost_drop(f, &s);
        if (wanted)
            rc = print_report(f, &s);
        if (f->sampled && says)
            say_sampled(f, &s);
        if (says)
            print_next(f, &s, wanted && !to_stderr && rc == CMD_OK);
    }
    if (!f->passes)
        compress_sessions(f, &s);
    sessions_fini(&s);
    return rc;
}
