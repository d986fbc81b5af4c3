/* source.c - see source.h. */
#include "cli/monitor/source.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "cli/cmd.h"
#include "monitor/places.h"
#include "monitord/live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ARGS_MOST = 16, PATIENCE_S = 5, FIRST_PATIENCE_S = 30, END_PATIENCE_S = 10 };

static const char PROGRAM[] = "gpufl-monitor";

/* ---- asking -------------------------------------------------------------------------------- */

/* Returns a connection to the monitor of that folder, or -1 with errno. */
static int reach(const char *folder, int patience_s)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval most = {.tv_sec = patience_s};
    if (path_join(at.sun_path, sizeof at.sun_path, folder, LIVE_SOCKET)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) &&
        !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) &&
        !connect(fd, (const struct sockaddr *)&at, sizeof at))
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static int read_line(struct source *s, int fd, struct err *e)
{
    char piece[16 << 10];
    ssize_t n;
    buf_clear(&s->text);
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        buf_put(&s->text, piece, n > 0 ? (size_t)n : 0);
    if (n < 0)
        return err_set(e, GPUFL_E_IO, "gpufl-monitor does not answer");
    if (buf_error(&s->text))
        return err_set(e, buf_error(&s->text), "the answer of gpufl-monitor is too long");
    if (!s->text.len || s->text.data[s->text.len - 1] != '\n')
        return err_set(e, GPUFL_E_IO, "gpufl-monitor ended its answer too early");
    s->text.len--;
    return 0;
}

/* ---- finding ------------------------------------------------------------------------------- */

/* Returns true if a monitor of that folder is trusted: any in the system's folder, which the
 * administrator made; elsewhere only monitors of this user and of root. */
static bool is_trusted(const char *folder, bool of_system)
{
    struct stat st;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
           (of_system || st.st_uid == geteuid() || st.st_uid == 0);
}

static bool answers(struct source *s, const char *folder, bool of_system)
{
    int fd = is_trusted(folder, of_system) ? reach(folder, FIRST_PATIENCE_S) : -1;
    if (fd < 0)
        return false;
    close(fd);
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    return true;
}

static bool find(struct source *s, const char *run_dir)
{
    char folder[PATH_MAX];
    const char *user = getenv("XDG_RUNTIME_DIR");
    if (run_dir)
        return answers(s, run_dir, false);
    if (answers(s, PLACES_MONITOR_FOLDER, true))
        return true;
    snprintf(folder, sizeof folder, "%s/%s", user ? user : "", PLACES_MONITOR_NAME);
    if (user && *user && answers(s, folder, false))
        return true;
    snprintf(folder, sizeof folder, "/tmp/%s-%u", PLACES_MONITOR_NAME, (unsigned)geteuid());
    return answers(s, folder, false);
}

/* ---- a monitor of our own ------------------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Reads what the monitor has printed on stderr, in one line and without its name. */
static int what_it_said(struct source *s, struct err *e)
{
    char text[300], *line = text;
    ssize_t n = pread(s->said, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (!strncmp(line, PROGRAM, sizeof PROGRAM - 1) && !strncmp(line + sizeof PROGRAM - 1, ": ", 2))
        line += sizeof PROGRAM + 1;
    return err_set(e, GPUFL_E_VENDOR, "%s",
                   *line ? line : "gpufl-monitor ended, and does not say why");
}

/* Waits for the monitor's first line, which comes once its socket is there. */
static int await_start(struct source *s, struct err *e)
{
    char c = 0;
    ssize_t n;
    while ((n = read(s->out, &c, 1)) == 1 || (n < 0 && errno == EINTR))
        if (n == 1 && c == '\n')
            return 0;
    return what_it_said(s, e);
}

/* Makes the folder of a monitor without logs, accessible to this user alone. */
static int make_folder(struct source *s, struct err *e)
{
    const char *user = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    bool there = user && *user && strlen(user) < sizeof s->own - 40 && stat(user, &st) == 0;
    snprintf(s->own, sizeof s->own, "%s/gpufl-view-XXXXXX", there ? user : "/tmp");
    if (mkdtemp(s->own))
        return 0;
    s->own[0] = '\0';
    return err_set_vendor(e, err_from_errno(errno), errno, "cannot make a folder in %.100s",
                          there ? user : "/tmp");
}

static int run(struct source *s, char **argv, struct err *e)
{
    char path[PATH_MAX];
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    cmd_find_program(PROGRAM, path, sizeof path);
    s->said = memfd_create("gpufl-monitor", MFD_CLOEXEC);
    int failed = s->said < 0 ? errno : spawn_pipe(in);
    failed = failed ? failed : spawn_pipe(out);
    if (!failed) /* gpufl gets the terminal's signals, and ends the monitor */
        failed = spawn_open(&s->process, &(struct spawn){.program = path,
                                                         .argv = argv,
                                                         .fds = {in[0], out[1], s->said},
                                                         .own_group = true});
    close_fd(&in[0]);
    close_fd(&out[1]);
    s->alive = in[1];
    s->out = out[0];
    if (failed == ENOENT)
        return err_set(e, GPUFL_E_NOENT, "gpufl-monitor is neither next to gpufl nor in PATH");
    if (failed)
        return err_set_vendor(e, err_from_errno(failed), failed, "cannot run %.200s", path);
    return await_start(s, e);
}

static int start(struct source *s, const struct source_options *o, struct err *e)
{
    char interval[32];
    char *argv[ARGS_MOST] = {(char *)PROGRAM, "--until-eof",        "--interval",
                             interval,        "--process-interval", interval};
    int n = 6;
    snprintf(interval, sizeof interval, "%" PRId64 "ms", o->interval / 1000000);
    int rc = o->log_path || o->run_dir ? 0 : make_folder(s, e);
    if (rc)
        return rc;
    if (o->log_path) {
        argv[n++] = "--log-path";
        argv[n++] = (char *)o->log_path;
    } else {
        argv[n++] = "--no-log";
    }
    if (o->name) {
        argv[n++] = "--name";
        argv[n++] = (char *)o->name;
    }
    if (o->run_dir || *s->own) {
        argv[n++] = "--run-dir";
        argv[n++] = o->run_dir ? (char *)o->run_dir : s->own;
    }
    s->is_own = true;
    rc = run(s, argv, e);
    if (rc)
        return rc;
    if (find(s, *s->own ? s->own : s->run_dir))
        return 0;
    return err_set(e, GPUFL_E_STATE, "the gpufl-monitor that was started does not answer");
}

/* ---- life ---------------------------------------------------------------------------------- */

int source_open(struct source *s, const struct source_options *o, struct err *e)
{
    *s = (struct source){
        .run_dir = o->run_dir, .process = SPAWNED_NONE, .alive = -1, .out = -1, .said = -1};
    buf_init(&s->text, LIVE_MOST);
    bool found = find(s, s->run_dir);
    if (found && o->log_path)
        return err_set(e, GPUFL_E_BUSY,
                       "a gpufl-monitor runs on this host and has logs of its own (%.200s): leave "
                       "--output out to see its samples",
                       s->folder);
    return found ? 0 : start(s, o, e);
}

int source_take(struct source *s, struct err *e)
{
    int status, fd = reach(s->folder, s->has_answered ? PATIENCE_S : FIRST_PATIENCE_S);
    if (fd < 0 && !s->is_own && find(s, s->run_dir)) /* another one may have taken over */
        fd = reach(s->folder, FIRST_PATIENCE_S);
    if (fd >= 0) {
        int rc = read_line(s, fd, e);
        close(fd);
        s->has_answered |= rc == 0;
        return rc;
    }
    if (s->is_own && (!s->process.pid || spawn_wait(&s->process, 0, &status) == 0))
        return what_it_said(s, e);
    return err_set(e, GPUFL_E_NOENT, "gpufl-monitor has ended: no new values");
}

void source_close(struct source *s)
{
    int status;
    char file[128];
    if (s->process.pid) {
        spawn_signal(&s->process, SIGTERM);
        if (spawn_wait(&s->process, clock_mono() + END_PATIENCE_S * 1000000000LL, &status))
            spawn_signal(&s->process, SIGKILL);
    }
    spawn_close(&s->process);
    close_fd(&s->alive);
    close_fd(&s->out);
    close_fd(&s->said);
    if (*s->own) {
        if (path_join(file, sizeof file, s->own, "monitor.lock") == 0)
            unlink(file);
        if (path_join(file, sizeof file, s->own, LIVE_SOCKET) == 0)
            unlink(file);
        rmdir(s->own);
    }
    buf_fini(&s->text);
}
