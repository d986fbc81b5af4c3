/* sampler.c - see sampler.h.
 *
 * The process runs an ordinary session of engine Monitor, set up in code. It does not belong to the
 * program: the process ignores signals of the terminal, and ends its session when the launcher is
 * killed, because the pipe from the launcher closes then. It prints nothing on stderr, which
 * belongs to the program while the program runs. */
#include "cli/trace/sampler.h"

#include "base/buf.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "capture/log/messages.h"
#include "capture/options/options.h"
#include "capture/options/process_info.h"
#include "cli/trace/outcome/finish.h"
#include "cli/trace/outcome/here.h"
#include "cli/trace/outcome/session.h"
#include "cli/trace/program/watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAYS, GIVES_WAY, COMMAND_SIZE = 1024, LINES_MAX = 512 };

static const int64_t MS = 1000000;

/* Returns false if --option turns the samples off. --option overrides flags and environment. */
static bool settings_sample(const struct trace_request *r)
{
    const char *rate = trace_options_setting(r, "system_sample_rate_ms");
    const char *always = trace_options_setting(r, "continuous_system_sampling");
    int64_t ms;
    bool on;
    return (!rate || opt_int(rate, &ms) != 0 || ms > 0) &&
           (!always || opt_bool(always, &on) != 0 || on);
}

bool trace_sampler_wanted(const struct trace_request *r)
{
    bool samples = r->system_interval == INT64_MIN ? r->around.samples : r->system_interval > 0;
    return r->engine == GPUFL_ENGINE_MONITOR && !r->pass_count && samples && settings_sample(r);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void say_nothing(enum log_level level, const char *line)
{
    (void)level, (void)line; /* the log contains the message */
}

static void join_command(char *const *argv, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (; *argv && len < size; argv++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "", *argv);
}

/* Sets the options that come from --option, and the sampling interval, in the environment, as for
 * the traced program. The library then knows whether a user chose the interval; if nobody did, it
 * takes a monitor's samples instead. The other options are set in code. */
static int set_environment(const struct trace_request *r, const struct place *p)
{
    struct buf lines;
    buf_init(&lines, LINES_MAX);
    trace_options_put_interval(r, &lines);
    int rc = setenv(OPTIONS_TRACE_VARIABLE, buf_cstr(&lines), 1);
    buf_fini(&lines);
    unsetenv(OPTIONS_FORCE_VARIABLE);
    setenv("GPUFL_RUN_ID", p->run, 1);
    for (size_t i = 0; i < r->settings.count; i++) {
        char name[80];
        const char *value = strchr(r->settings.items[i], '=');
        size_t n = (size_t)snprintf(name, sizeof name, "GPUFL_%.*s",
                                    (int)(value - r->settings.items[i]), r->settings.items[i]);
        for (size_t c = 0; c < n && c < sizeof name; c++)
            name[c] = (char)toupper((unsigned char)name[c]);
        setenv(name, value + 1, 1);
    }
    if (r->duration) {
        char ms[32];
        snprintf(ms, sizeof ms, "%lld", (long long)(r->duration / MS));
        setenv("GPUFL_DURATION_MS", ms, 1);
    }
    return rc;
}

static int begin(const struct place *p)
{
    char dir[PATH_MAX + 2];
    struct gpufl_options o;
    trace_options_dir(p->dir, dir, sizeof dir);
    gpufl_options_init(&o, sizeof o);
    o.app_name = p->name;
    o.log_path = dir;
    o.profiling_engine = GPUFL_ENGINE_MONITOR;
    GPUFL_OPTIONS_SET(&o, enable_stack_trace, false);
    return gpufl_init(&o);
}

/* Returns true if this run has a session other than the sampler's own: the program has one. */
static bool has_other(const struct trace_request *r, const struct place *p)
{
    struct sessions s;
    bool other = false;
    if (sessions_read(&s, p->dir, finish_run_id(r, p)))
        return false;
    for (size_t i = 0; i < s.count; i++)
        other |= s.items[i].ours && *s.items[i].id && /* its header is written */
                 strcmp(s.items[i].id, gpufl_session_id()) != 0;
    sessions_fini(&s);
    return other;
}

static void remove_own(void)
{
    char path[PATH_MAX];
    const char *dir = gpufl_session_dir();
    DIR *d = *dir ? opendir(dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));)
        if (!path_join(path, sizeof path, dir, f->d_name))
            unlink(path);
    if (d)
        closedir(d);
    rmdir(dir);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Waits until the launcher asks for the end or is gone, or until the program has a session. True:
 * the program has a session. */
static bool wait_for_end(const struct trace_request *r, const struct place *p, int end, bool *asked)
{
    struct watch w = {.fd = -1};
    struct err e;
    (void)watch_open(&w, p->dir, &e); /* if it fails, only the last line here looks for a session */
    bool other = has_other(r, p);
    *asked = false;
    while (!other && !*asked) {
        struct pollfd polled[2] = {{.fd = end, .events = POLLIN}, {.fd = w.fd, .events = POLLIN}};
        char byte;
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            break;
        if (polled[0].revents) {
            *asked = read(end, &byte, 1) == 1;
            break;
        }
        if (polled[1].revents && watch_take(&w))
            other = has_other(r, p);
    }
    watch_close(&w);
    return other || has_other(r, p);
}

/* Writes to the log that, as far as is known, the program never used the GPU. */
static void say_unused(const struct trace_request *r)
{
    char runtime[64], text[160];
    snprintf(text, sizeof text,
             "the program did not initialize %s: no session began in it or its children",
             here_runtime(here_backend(r), runtime, sizeof runtime));
    feature_set("kernels", false, "not_requested", text);
    message_say(SEVERITY_NOTE, "not_initialized",
                "%s; gpufl trace sampled the devices and the host itself, for as long as it ran",
                text);
}

static int sample(const struct trace_request *r, const struct place *p, const struct run *run,
                  int end)
{
    static const int not_ours[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};
    char command[COMMAND_SIZE];
    bool asked;
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        signal(not_ours[i], SIG_IGN);
    close(run->signals);
    sigprocmask(SIG_SETMASK, &run->inherited, NULL);
    log_set_sink(say_nothing);
    join_command(r->command, command, sizeof command);
    process_info_act_for(run->child, command);
    if (set_environment(r, p) || begin(p))
        return GIVES_WAY;
    bool other = wait_for_end(r, p, end, &asked);
    if (!other && asked)
        say_unused(r);
    gpufl_shutdown();
    if (other)
        remove_own();
    return other ? GIVES_WAY : STAYS;
}

void trace_sampler_start(struct trace_sampler *t, const struct trace_request *r,
                         const struct place *p, const struct run *run)
{
    int ends[2];
    *t = (struct trace_sampler){.end = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    fflush(stderr);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(sample(r, p, run, ends[0]));
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return;
    }
    *t = (struct trace_sampler){.pid = pid, .end = ends[1]};
}

bool trace_sampler_end(struct trace_sampler *t)
{
    int status = 0;
    if (!t->pid)
        return false;
    (void)!write(t->end, "e", 1); /* the process may have ended; SIGPIPE is blocked here */
    close(t->end);
    pid_t got;
    do
        got = waitpid(t->pid, &status, 0);
    while (got < 0 && errno == EINTR);
    bool stays = got == t->pid && WIFEXITED(status) && WEXITSTATUS(status) == STAYS;
    *t = (struct trace_sampler){.end = -1};
    return stays;
}
