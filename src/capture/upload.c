/* upload.c - see upload.h. */
#include "capture/upload.h"

#include "backend/vendor.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STANDARD_MS = 5 * 60 * 1000,
    UNREACHABLE_MS = 15 * 1000,
    GRACE_MS = 10 * 1000, /* time that the child has to end by itself */
    OUTPUT_MAX = 4 << 20,
    SAID_MAX = 16 << 10,
    VARIABLES = 3,
};

static const int64_t MILLI = 1000000;

/* Describes a run of the command. */
struct run {
    struct spawned child;
    int from[2];         /* our ends of its stdout and stderr; -1: closed */
    struct buf texts[2]; /* what it wrote to stdout and stderr */
    size_t relayed;      /* bytes of texts[1] that were passed on to our stderr */
    int64_t deadline;    /* CLOCK_MONOTONIC ns */
};

static bool given(const char *text)
{
    return text && *text;
}

/* ---- which program ------------------------------------------------------------------------- */

static bool put_next_to(const char *dir, int len, const char *name, char *out, size_t size)
{
    int n = snprintf(out, size, "%.*s%s", len, dir, name);
    return n > 0 && (size_t)n < size && access(out, X_OK) == 0;
}

/* Finds the command: GPUFL_CLI, the installed or built one to which this library belongs, or the
 * one in PATH. */
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
            if (put_next_to(info.dli_fname, len, places[i], out, size))
                return;
    }
    snprintf(out, size, "gpufl");
}

/* ---- its environment ----------------------------------------------------------------------- */

/* Returns the environment for the child: that of this process with our variables changed. *text
 * holds the new lines. NULL: out of memory. */
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
        if (given(set[i].value)) {
            buf_printf(text, "%s=%s", set[i].name, set[i].value);
            buf_char(text, '\0');
        }
    }
    for (size_t v = 0; v < n; v++) {
        bool replaced = vendor_is_injection(environ[v]);
        for (size_t i = 0; i < VARIABLES; i++) {
            size_t len = strlen(set[i].name);
            replaced |= given(set[i].value) && !strncmp(environ[v], set[i].name, len) &&
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
        if (given(set[i].value))
            all[out++] = text->data + at[i];
    return all;
}

/* ---- starting it --------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start(struct run *r, const struct gpufl_upload_options *o, const char *path, int ms,
                 struct err *e)
{
    char cli[PATH_MAX], limit[32], unreachable[32];
    char *argv[] = {"gpufl", "upload",        "--for-code", "--json", "--progress", "--time-limit",
                    limit,   "--unreachable", unreachable,  "--",     (char *)path, NULL};
    struct buf text;
    struct spawn child = {.program = cli, .argv = argv, .fds = {SPAWN_NULL, -1, -1}};
    int to[2] = {-1, -1}, ends[2], rc = 0;
    buf_init(&text, 64 << 10);
    find_cli(cli, sizeof cli);
    snprintf(limit, sizeof limit, "%dms", ms);
    snprintf(unreachable, sizeof unreachable, "%dms",
             o->unreachable_ms > 0 ? o->unreachable_ms : UNREACHABLE_MS);
    char **env = make_environment(o, &text);
    if (!env)
        rc = ENOMEM;
    for (int i = 0; i < 2 && !rc; i++) {
        rc = spawn_pipe(ends);
        r->from[i] = ends[0];
        child.fds[1 + i] = to[i] = ends[1];
    }
    child.env = env;
    if (!rc)
        rc = spawn_open(&r->child, &child);
    close_fd(&to[0]);
    close_fd(&to[1]);
    mem_free(env);
    if (text.data)
        explicit_bzero(text.data, text.len);
    buf_fini(&text);
    if (!rc)
        return 0;
    return err_set(e, rc == ENOENT ? GPUFL_E_NOENT : err_from_errno(rc),
                   "cannot run %s: %s; GPUFL_CLI names the gpufl command", cli, strerror(rc));
}

/* ---- waiting for it ------------------------------------------------------------------------ */

static int left_ms(const struct run *r)
{
    int64_t ms = (r->deadline - clock_mono()) / MILLI;
    return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Reads what has arrived; closes the pipe at its end. */
static void take(struct run *r, int i)
{
    char bytes[4096];
    ssize_t n = read(r->from[i], bytes, sizeof bytes);
    if (n > 0)
        buf_put(&r->texts[i], bytes, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        close_fd(&r->from[i]);
}

/* Passes the next whole lines of the command's stderr on. */
static void relay(struct run *r)
{
    static const char lead[] = "gpufl upload: ";
    struct buf *text = &r->texts[1];
    for (;;) {
        const char *at = text->data + r->relayed;
        const char *lf = text->len > r->relayed ? memchr(at, '\n', text->len - r->relayed) : NULL;
        if (!lf)
            return;
        r->relayed += (size_t)(lf - at) + 1;
        if ((size_t)(lf - at) > sizeof lead && strncmp(at, lead, sizeof lead - 1) == 0)
            at += sizeof lead - 1;
        log_each(LOG_NOTE, "upload: %.*s", (int)(lf - at), at);
    }
}

/* Reads until the child has closed both pipes. False: the time was over before that. */
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
        relay(r);
    }
    return true;
}

/* Returns the child's exit code; -1: the child was killed, or was reaped elsewhere. A child that is
 * late is killed. */
static int reap(struct run *r, bool *in_time)
{
    int status, rc = *in_time ? spawn_wait(&r->child, r->deadline, &status) : ETIMEDOUT;
    if (rc == ETIMEDOUT) {
        *in_time = false;
        spawn_signal(&r->child, SIGKILL);
        /* the child may be stuck in the kernel, so this wait has a limit, too */
        rc = spawn_wait(&r->child, clock_mono() + GRACE_MS * MILLI, &status);
    }
    return rc == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- what it said -------------------------------------------------------------------------- */

/* Holds what the command's JSON says. */
struct said {
    char result[16];   /* "all", "partly", "none"; "": nothing */
    char message[320]; /* of the first session that has one */
    uint64_t lines;
};

static bool take_session(struct json *j, const char *key, struct json_value v, void *to)
{
    struct said *s = to;
    bool note = strcmp(key, "message") == 0 || strcmp(key, "note") == 0;
    if (note && v.type == JSON_STRING && !*s->message)
        json_text(v, s->message, sizeof s->message);
    else if (strcmp(key, "lines_accepted") == 0 && v.type == JSON_INT && v.integer > 0)
        s->lines += (uint64_t)v.integer;
    else
        return json_skip(j, v);
    return true;
}

static bool take_said(struct json *j, const char *key, struct json_value v, void *to)
{
    struct said *s = to;
    if (strcmp(key, "result") == 0 && v.type == JSON_STRING)
        json_text(v, s->result, sizeof s->result);
    else if (strcmp(key, "sessions") == 0 && v.type == JSON_ARRAY)
        while (json_next(j).type == JSON_OBJECT)
            json_members(j, take_session, s);
    else
        return json_skip(j, v);
    return true;
}

static void read_said(const struct buf *text, struct said *s)
{
    *s = (struct said){0};
    json_document(text->data, text->len, take_said, s);
}

/* Copies the first line on the command's stderr, without the program's name before it. */
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
    return err_set(e, exit_code == EXIT_NOT_BUILT ? GPUFL_E_NOT_BUILT : GPUFL_E_IO, "%s%s",
                   strcmp(s->result, "partly") == 0 ? "sent in part: " : "",
                   *s->message ? s->message
                   : *line     ? line
                               : "gpufl upload failed");
}

/* ---- the call ------------------------------------------------------------------------------ */

/* Copies the options that the caller's struct has; the others are empty. */
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

/* Takes the server of `standard`, where the caller names none or that one. */
static void take_server(struct gpufl_upload_options *o, const struct upload_standard *standard)
{
    if (!given(standard->url) ||
        (given(o->backend_url) && strcmp(o->backend_url, standard->url) != 0))
        return;
    o->backend_url = standard->url;
    if (!given(o->api_key))
        o->api_key = standard->key;
    if (!given(o->api_path))
        o->api_path = standard->api;
}

/* Takes a log_path as gpufl_init does: ".log" after a directory's name is cut. */
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
    struct run r = {.child = SPAWNED_NONE,
                    .from = {-1, -1},
                    .deadline = clock_mono() + ((int64_t)ms + grace) * MILLI};
    buf_init(&r.texts[0], OUTPUT_MAX);
    buf_init(&r.texts[1], SAID_MAX);
    int rc = start(&r, o, path, ms, e);
    if (!rc) {
        bool in_time = listen_to(&r);
        int exit_code = reap(&r, &in_time);
        rc = judge(&r, in_time, exit_code, said, e);
    }
    for (int i = 0; i < 2; i++) {
        close_fd(&r.from[i]);
        buf_fini(&r.texts[i]);
    }
    spawn_close(&r.child);
    return rc;
}

int upload_run(const struct gpufl_upload_options *opts, const struct upload_standard *standard)
{
    struct gpufl_upload_options o;
    struct said said = {0};
    struct err e = {0};
    char cut[PATH_MAX];
    int rc;
    read_options(opts, &o);
    take_server(&o, standard);
    const char *path = find_path(o.log_path, standard->dir, cut, sizeof cut);
    if (!given(path))
        rc = err_set(&e, GPUFL_E_STATE, "no session was written yet, and no log_path is named");
    else {
        log_debug("upload: %s to %s", path,
                  given(o.backend_url) ? o.backend_url : "GPUFL_BACKEND_URL's server");
        rc = run_upload(&o, path, &said, &e);
    }
    put_result(&o, &said, &e);
    log_debug("upload: %s: %" PRIu64 " lines sent%s%s", rc ? "failed" : "done", said.lines,
              *e.text ? ": " : "", e.text);
    return rc;
}

int upload_nothing(const struct gpufl_upload_options *opts)
{
    struct gpufl_upload_options o;
    const struct said said = {0};
    const struct err e = {0};
    read_options(opts, &o);
    put_result(&o, &said, &e);
    return GPUFL_OK;
}
