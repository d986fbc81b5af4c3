/* upload.c - see upload.h. */
#include "capture/upload.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STANDARD_MS = 5 * 60 * 1000,
    GRACE_MS = 10 * 1000, /* at most, in which the child ends by itself */
    OUTPUT_MAX = 4 << 20,
    SAID_MAX = 16 << 10,
    VARIABLES = 3,
    REAP_MS = 20,
};

static const int64_t MILLI = 1000000;

/* A run of the command. */
struct run {
    pid_t pid;
    int process;         /* a descriptor of it; -1: the kernel has none */
    int from[2];         /* our ends of its stdout and stderr; -1: closed */
    struct buf texts[2]; /* what came */
    int64_t deadline;    /* CLOCK_MONOTONIC ns */
};

/* ---- which program ------------------------------------------------------------------------- */

static bool beside(const char *dir, int len, const char *name, char *out, size_t size)
{
    int n = snprintf(out, size, "%.*s%s", len, dir, name);
    return n > 0 && (size_t)n < size && access(out, X_OK) == 0;
}

/* GPUFL_CLI, the installed or built one that this library belongs to, or PATH's. */
static void find_cli(char *out, size_t size)
{
    static const char *const places[] = {"../bin/gpufl", "../../bin/gpufl", "gpufl"};
    const char *named = getenv("GPUFL_CLI");
    Dl_info info;
    if (named && *named) {
        snprintf(out, size, "%s", named);
        return;
    }
    if (dladdr((void *)(uintptr_t)upload_run, &info) && info.dli_fname &&
        strchr(info.dli_fname, '/')) {
        int len = (int)(path_base(info.dli_fname) - info.dli_fname);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (beside(info.dli_fname, len, places[i], out, size))
                return;
    }
    snprintf(out, size, "gpufl");
}

/* ---- its environment ----------------------------------------------------------------------- */

/* Ours, but for what is set here; the new lines lie in *text. NULL: out of memory. */
static char **make_environment(const struct gpufl_upload_options *o, struct buf *text)
{
    const struct {
        const char *name, *value;
    } set[VARIABLES] = {{"GPUFL_BACKEND_URL", o->backend_url},
                        {"GPUFL_API_KEY", o->api_key},
                        {"GPUFL_API_PATH", o->api_path}};
    size_t at[VARIABLES], n = 0, out = 0;
    while (environ[n])
        n++;
    char **all = mem_array(n + VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    for (size_t i = 0; i < VARIABLES; i++) {
        at[i] = text->len;
        if (set[i].value && *set[i].value) {
            buf_printf(text, "%s=%s", set[i].name, set[i].value);
            buf_char(text, '\0');
        }
    }
    for (size_t v = 0; v < n; v++) {
        bool replaced = strncmp(environ[v], "CUDA_INJECTION64_PATH=", 22) == 0;
        for (size_t i = 0; i < VARIABLES; i++) {
            size_t len = strlen(set[i].name);
            replaced |= set[i].value && *set[i].value && !strncmp(environ[v], set[i].name, len) &&
                        environ[v][len] == '=';
        }
        if (!replaced)
            all[out++] = environ[v];
    }
    if (buf_error(text)) {
        mem_free(all);
        return NULL;
    }
    for (size_t i = 0; i < VARIABLES; i++)
        if (set[i].value && *set[i].value)
            all[out++] = text->data + at[i];
    return all;
}

/* ---- starting it --------------------------------------------------------------------------- */

/* A pipe whose ends are none of 0, 1 and 2, which the program may have closed. */
static int open_pipe(int ends[2])
{
    int raw[2];
    ends[0] = ends[1] = -1;
    if (pipe2(raw, O_CLOEXEC))
        return -errno;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
        close(raw[i]);
    }
    return ends[0] < 0 || ends[1] < 0 ? -EMFILE : 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* stdin is empty, stdout and stderr are ours, everything else is closed; signals are as a shell
 * would have them. 0 or an errno. */
static int spawn(struct run *r, const char *cli, char **argv, char **env, const int to[2])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&how);
    if (rc) {
        posix_spawn_file_actions_destroy(&files);
        return rc;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 2 && !rc; i++)
        rc = posix_spawn_file_actions_adddup2(&files, to[i], 1 + i);
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(&files, 3);
    if (!rc)
        rc = posix_spawnp(&r->pid, cli, &files, &how, argv, env);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int start(struct run *r, const struct gpufl_upload_options *o, const char *path, int ms,
                 struct err *e)
{
    char cli[PATH_MAX], limit[32];
    char *argv[] = {"gpufl", "upload", "--json", "--time-limit", limit, "--", (char *)path, NULL};
    struct buf text;
    int to[2] = {-1, -1}, ends[2], rc = 0;
    buf_init(&text, 64 << 10);
    find_cli(cli, sizeof cli);
    snprintf(limit, sizeof limit, "%dms", ms);
    char **env = make_environment(o, &text);
    if (!env)
        rc = ENOMEM;
    for (int i = 0; i < 2 && !rc; i++) {
        rc = -open_pipe(ends);
        r->from[i] = ends[0];
        to[i] = ends[1];
    }
    if (!rc)
        rc = spawn(r, cli, argv, env, to);
    close_fd(&to[0]);
    close_fd(&to[1]);
    mem_free(env);
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_fini(&text);
    if (!rc) {
        r->process = (int)syscall(SYS_pidfd_open, r->pid, 0);
        return 0;
    }
    return err_set(e, rc == ENOENT ? GPUFL_E_NOENT : err_from_errno(rc),
                   "cannot run %s: %s; GPUFL_CLI names the gpufl command", cli, strerror(rc));
}

/* ---- waiting for it ------------------------------------------------------------------------ */

static int left_ms(const struct run *r)
{
    int64_t ms = (r->deadline - clock_mono()) / MILLI;
    return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Takes what is there; closed at its end. */
static void take(struct run *r, int i)
{
    char bytes[4096];
    ssize_t n = read(r->from[i], bytes, sizeof bytes);
    if (n > 0)
        buf_put(&r->texts[i], bytes, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        close_fd(&r->from[i]);
}

/* Until the child has closed both, or there is no time left: false. */
static bool listen_to(struct run *r)
{
    while (r->from[0] >= 0 || r->from[1] >= 0) {
        struct pollfd p[2] = {{.fd = r->from[0], .events = POLLIN},
                              {.fd = r->from[1], .events = POLLIN}};
        int ms = left_ms(r), n = poll(p, 2, ms);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        for (int i = 0; i < 2 && n > 0; i++)
            if (p[i].fd >= 0 && p[i].revents)
                take(r, i);
    }
    return true;
}

static void kill_it(const struct run *r)
{
    if (r->process >= 0)
        (void)syscall(SYS_pidfd_send_signal, r->process, SIGKILL, NULL, 0);
    else
        (void)kill(r->pid, SIGKILL); /* not reaped: the number is still its own */
}

/* Its exit code; -1: it was killed, or somebody else has reaped it. Late, it is ended. */
static int reap(struct run *r, bool *in_time)
{
    int status = 0;
    bool killed = false;
    for (;;) {
        pid_t got = waitpid(r->pid, &status, WNOHANG);
        if (got == r->pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (got < 0 && errno != EINTR)
            return -1;
        if (!killed && (!*in_time || !left_ms(r))) {
            kill_it(r);
            killed = true;
            *in_time = false;
            r->deadline = clock_mono() + GRACE_MS * MILLI; /* in the kernel, in a bad case */
        }
        if (!left_ms(r))
            return -1;
        struct pollfd p = {.fd = r->process, .events = POLLIN};
        (void)poll(&p, 1, r->process >= 0 ? left_ms(r) : REAP_MS);
    }
}

/* ---- what it said -------------------------------------------------------------------------- */

/* What the command's JSON says. */
struct said {
    char result[16];   /* "all", "partly", "none"; "" */
    char message[320]; /* the first session's that has one */
    uint64_t lines;
};

static void read_session(struct json *j, struct said *s)
{
    char key[32];
    for (;;) {
        struct json_value v = json_key(j, key, sizeof key);
        if (v.type == JSON_END || v.type == JSON_ERROR)
            return;
        bool note = strcmp(key, "message") == 0 || strcmp(key, "note") == 0;
        if (note && v.type == JSON_STRING && !*s->message)
            json_text(v, s->message, sizeof s->message);
        else if (strcmp(key, "lines_accepted") == 0 && v.type == JSON_INT && v.integer > 0)
            s->lines += (uint64_t)v.integer;
        else if (!json_skip(j, v))
            return;
    }
}

static void read_said(const struct buf *text, struct said *s)
{
    struct json j;
    char key[32];
    *s = (struct said){0};
    json_init(&j, text->data, text->len);
    if (!text->len || json_read(&j).type != JSON_OBJECT)
        return;
    for (;;) {
        struct json_value v = json_key(&j, key, sizeof key);
        if (v.type == JSON_END || v.type == JSON_ERROR)
            return;
        if (strcmp(key, "result") == 0 && v.type == JSON_STRING) {
            json_text(v, s->result, sizeof s->result);
        } else if (strcmp(key, "sessions") == 0 && v.type == JSON_ARRAY) {
            while (json_next(&j).type == JSON_OBJECT)
                read_session(&j, s);
        } else if (!json_skip(&j, v)) {
            return;
        }
    }
}

/* The first line on its stderr, without who says it. */
static void first_line(struct buf *text, char *out, size_t size)
{
    static const char lead[] = "gpufl upload: ";
    const char *line = buf_cstr(text);
    if (strncmp(line, lead, sizeof lead - 1) == 0)
        line += sizeof lead - 1;
    snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static int judge(struct run *r, bool in_time, int exit_code, struct said *s, struct err *e)
{
    enum { EXIT_NOT_BUILT = 69 };
    char line[320];
    read_said(&r->texts[0], s);
    if (exit_code == 0 || (in_time && exit_code < 0 && strcmp(s->result, "all") == 0))
        return 0;
    if (!in_time)
        return err_set(e, GPUFL_E_TIMEOUT,
                       "the upload did not end in time; `gpufl upload` goes on "
                       "where it stopped");
    first_line(&r->texts[1], line, sizeof line);
    const char *why = *s->message ? s->message : *line ? line : "gpufl upload failed";
    return err_set(e, exit_code == EXIT_NOT_BUILT ? GPUFL_E_NOT_BUILT : GPUFL_E_IO, "%s%s",
                   strcmp(s->result, "partly") == 0 ? "sent in part: " : "", why);
}

/* ---- the call ------------------------------------------------------------------------------ */

/* What the caller's struct has, the rest empty. */
static void read_options(const struct gpufl_upload_options *in, struct gpufl_upload_options *out)
{
    *out = (struct gpufl_upload_options){.size = sizeof *out};
    if (in && in->size >= sizeof in->size)
        memcpy(out, in, in->size < sizeof *out ? in->size : sizeof *out);
}

static void put_result(const struct gpufl_upload_options *o, const struct said *s,
                       const struct err *e)
{
    struct gpufl_upload_result all = {.lines = s->lines};
    if (!o->result || o->result->size < sizeof o->result->size)
        return;
    all.size = o->result->size;
    snprintf(all.message, sizeof all.message, "%s", e->text);
    memcpy(o->result, &all, all.size < sizeof all ? all.size : sizeof all);
}

/* A log_path as gpufl_init takes it, too: ".log" behind a directory's name is cut. */
static const char *find_path(const char *path, const char *last_dir, char *cut, size_t size)
{
    if (!path || !*path)
        return last_dir;
    size_t len = strlen(path);
    if (len > 4 && len < size && strcmp(path + len - 4, ".log") == 0 && !file_exists(path)) {
        memcpy(cut, path, len - 4);
        cut[len - 4] = '\0';
        return cut;
    }
    return path;
}

static int run_upload(const struct gpufl_upload_options *o, const char *path, struct said *said,
                      struct err *e)
{
    int ms = o->timeout_ms > 0 ? o->timeout_ms : STANDARD_MS;
    int grace = ms < GRACE_MS ? ms : GRACE_MS;
    struct run r = {
        .process = -1, .from = {-1, -1}, .deadline = clock_mono() + ((int64_t)ms + grace) * MILLI};
    buf_init(&r.texts[0], OUTPUT_MAX);
    buf_init(&r.texts[1], SAID_MAX);
    int code = start(&r, o, path, ms, e);
    if (!code) {
        bool in_time = listen_to(&r);
        int exit_code = reap(&r, &in_time);
        code = judge(&r, in_time, exit_code, said, e);
    }
    for (int i = 0; i < 2; i++) {
        close_fd(&r.from[i]);
        buf_fini(&r.texts[i]);
    }
    close_fd(&r.process);
    return code;
}

int upload_run(const struct gpufl_upload_options *opts, const char *last_dir)
{
    struct gpufl_upload_options o;
    struct said said = {0};
    struct err e = {0};
    char cut[PATH_MAX];
    int code;
    read_options(opts, &o);
    const char *path = find_path(o.log_path, last_dir, cut, sizeof cut);
    if (!*path)
        code = err_set(&e, GPUFL_E_STATE, "no session was written yet, and no log_path is named");
    else
        code = run_upload(&o, path, &said, &e);
    put_result(&o, &said, &e);
    return code;
}
