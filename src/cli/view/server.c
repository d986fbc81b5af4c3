/* server.c - see server.h. */
#include "cli/view/server.h"

#include "base/alloc.h"
#include "cli/cmd.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 64, LINE_SIZE = VIEW_URL_SIZE };

static const char PROGRAM[] = "gpufl-server";

int view_server_become(char **args)
{
    char path[PATH_MAX];
    cmd_find_program(PROGRAM, path, sizeof path);
    args[0] = path;
    execvp(path, args);
    return errno;
}

/* ---- starting ------------------------------------------------------------------------------ */

static int make_key(char out[VIEW_KEY_SIZE], struct err *e)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz-_"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    unsigned char bytes[32];
    int n = snprintf(out, VIEW_KEY_SIZE, "gpfl_");
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set_vendor(e, GPUFL_E_IO, errno, "no random bytes for a key");
    for (size_t i = 0; i < sizeof bytes; i++)
        out[n++] = letters[bytes[i] % 64];
    out[n] = '\0';
    return 0;
}

/* Reads the next line of the server's stdout; false at the end. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    char c;
    for (ssize_t got; (got = read(fd, &c, 1)) != 0;) {
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0 && c == '\n') {
            line[n] = '\0';
            return true;
        }
        if (got > 0 && n + 1 < size)
            line[n++] = c;
    }
    return false;
}

/* Reads the lines "gpufl-server: listening on URL" and "gpufl-server: open LINK"; the link is the
 * last. */
static int read_links(struct view_server *s, struct err *e)
{
    static const char listening[] = "gpufl-server: listening on ", opens[] = "gpufl-server: open ";
    char line[LINE_SIZE];
    while (read_line(s->out, line, sizeof line)) {
        if (strncmp(line, listening, sizeof listening - 1) == 0)
            snprintf(s->url, sizeof s->url, "%s", line + sizeof listening - 1);
        if (strncmp(line, opens, sizeof opens - 1) != 0)
            continue;
        snprintf(s->link, sizeof s->link, "%s", line + sizeof opens - 1);
        return *s->url ? 0
                       : err_set(e, GPUFL_E_VENDOR, "gpufl-server does not say where it listens");
    }
    return err_set(e, GPUFL_E_VENDOR, "gpufl-server ended before it listened");
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int view_server_start(struct view_server *s, const char *data, int port, char *const *extra,
                      struct err *e)
{
    char path[PATH_MAX], listen[32];
    char *argv[ARGS_MAX] = {(char *)PROGRAM, "serve", "--local",     "--data", (char *)data,
                            "--listen",      listen,  "--log-level", "warning"};
    int n = 9, in[2] = {-1, -1}, out[2] = {-1, -1};
    *s = (struct view_server){.process = SPAWNED_NONE, .alive = -1, .out = -1};
    for (; extra && *extra && n < ARGS_MAX - 1; extra++)
        argv[n++] = *extra;
    snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    cmd_find_program(PROGRAM, path, sizeof path);
    int rc = make_key(s->key, e);
    if (rc)
        return rc;
    setenv("GPUFL_SERVER_LOCAL_KEY", s->key, 1);
    int failed = spawn_pipe(in); /* an errno, as from all of these */
    if (!failed)
        failed = spawn_pipe(out);
    if (!failed) /* gpufl gets the terminal's signals, and ends the server */
        failed = spawn_open(&s->process, &(struct spawn){.program = path,
                                                         .argv = argv,
                                                         .fds = {in[0], out[1], SPAWN_KEEP},
                                                         .own_group = true});
    unsetenv("GPUFL_SERVER_LOCAL_KEY");
    close_fd(&in[0]);
    close_fd(&out[1]);
    s->alive = in[1];
    s->out = out[0];
    if (failed == ENOENT)
        rc = err_set(e, GPUFL_E_NOENT,
                     "gpufl-server is neither next to gpufl nor in PATH; `gpufl report` reads "
                     "sessions without it");
    else if (failed)
        rc = err_set_vendor(e, err_from_errno(failed), failed, "cannot run %s", path);
    else
        rc = read_links(s, e);
    if (rc)
        view_server_stop(s);
    return rc;
}

/* ---- ending -------------------------------------------------------------------------------- */

/* Waits until the deadline (0: not at all); true: the server has ended. */
static bool await_end(struct view_server *s, int64_t deadline)
{
    int status;
    if (s->process.pid && spawn_wait(&s->process, deadline, &status) == 0)
        s->status = status;
    return s->process.pid == 0;
}

bool view_server_ended(struct view_server *s)
{
    return await_end(s, 0);
}

int view_server_stop(struct view_server *s)
{
    /* the pipe stays: closing it would be a second signal, after which the server does not drain */
    spawn_signal(&s->process, SIGTERM);
    (void)await_end(s, INT64_MAX);
    spawn_close(&s->process);
    close_fd(&s->alive);
    close_fd(&s->out);
    explicit_bzero(s->key, sizeof s->key);
    return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

/* ---- the browser --------------------------------------------------------------------------- */

static bool run_quietly(const char *program, const char *link)
{
    char *argv[] = {(char *)program, (char *)link, NULL};
    struct spawned p;
    int rc = spawn_open(&p, &(struct spawn){.program = program,
                                            .argv = argv,
                                            .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL}});
    spawn_close(&p);
    return rc == 0;
}

/* BROWSER may hold several, with ':' between. */
static bool run_named(const char *names, const char *link)
{
    char name[PATH_MAX];
    for (const char *at = names; *at; at += strcspn(at, ":")) {
        at += *at == ':';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ":"), at);
        if (*name && run_quietly(name, link))
            return true;
    }
    return false;
}

bool view_open_browser(const char *link)
{
    static const char *const openers[] = {"xdg-open", "wslview", "sensible-browser",
                                          "x-www-browser"};
    const char *named = getenv("BROWSER");
    const char *display[] = {getenv("DISPLAY"), getenv("WAYLAND_DISPLAY")};
    if (named && *named)
        return run_named(named, link);
    if (!(display[0] && *display[0]) && !(display[1] && *display[1]))
        return false;
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++)
        if (run_quietly(openers[i], link))
            return true;
    return false;
}
