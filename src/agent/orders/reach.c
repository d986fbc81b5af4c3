/* reach.c - see reach.h. */
#include "agent/orders/reach.h"

#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 10, ANSWER_MOST = 2048, REQUEST_MOST = 512, FOLDERS = 3 };

/* ---- the socket ---------------------------------------------------------------------------- */

static bool is_private(const char *dir, uid_t uid)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
           (st.st_mode & 077) == 0;
}

/* Returns the folders where the socket of a process of this user may lie. */
static size_t folders_of(uid_t uid, char out[FOLDERS][80])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    size_t n = 0;
    if (runtime && *runtime == '/' && strlen(runtime) < 64 && uid == geteuid())
        snprintf(out[n++], sizeof out[0], "%.63s/gpufl", runtime);
    snprintf(out[n++], sizeof out[0], "/run/user/%u/gpufl", (unsigned)uid);
    snprintf(out[n++], sizeof out[0], "/tmp/gpufl-%u", (unsigned)uid);
    return n;
}

/* Connects to the socket; ENOENT: it is in no folder. Sets errno. */
static int connect_to(int64_t pid, uid_t uid)
{
    char folders[FOLDERS][80];
    size_t n = folders_of(uid, folders);
    for (size_t i = 0; i < n; i++) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        if (!is_private(folders[i], uid) ||
            (size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/%" PRId64 ".sock", folders[i],
                             pid) >= sizeof at.sun_path)
            continue;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
            return fd;
        int error = errno;
        close(fd);
        errno = error;
        if (error != ENOENT)
            return -1;
    }
    errno = ENOENT;
    return -1;
}

static int fail(int error, int64_t pid, uid_t uid, struct err *e)
{
    if (error == ENOENT || error == ECONNREFUSED)
        return err_set(e, GPUFL_E_NOENT,
                       "process %" PRId64 " accepts no commands: its session must have windows, or "
                       "the option remote_control",
                       pid);
    if ((error == EACCES || error == EPERM) && geteuid() == 0)
        return err_set(e, GPUFL_E_PERM,
                       "process %" PRId64 " belongs to user %u: the agent is root, but lacks the "
                       "capability CAP_DAC_OVERRIDE",
                       pid, (unsigned)uid);
    if (error == EACCES || error == EPERM)
        return err_set(e, GPUFL_E_PERM,
                       "process %" PRId64 " belongs to user %u: the agent must run as that user or "
                       "as root",
                       pid, (unsigned)uid);
    return err_set_vendor(e, err_from_errno(error), error, "process %" PRId64 " cannot be reached",
                          pid);
}

/* Finds the user of a running process. */
static int find_user(int64_t pid, uid_t *uid, struct err *e)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    if (stat(path, &st))
        return err_set(e, GPUFL_E_NOENT,
                       "there is no process %" PRId64 " here: it has ended, or runs in another "
                       "container",
                       pid);
    *uid = st.st_uid;
    if (st.st_uid != geteuid() && geteuid() != 0)
        return fail(EPERM, pid, st.st_uid, e);
    return 0;
}

static int open_socket(int64_t pid, int *out, struct err *e)
{
    struct timeval most = {.tv_sec = PATIENCE_S};
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    uid_t uid = 0;
    int rc = find_user(pid, &uid, e);
    if (rc)
        return rc;
    int fd = connect_to(pid, uid);
    if (fd < 0)
        return fail(errno, pid, uid, e);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != uid ||
        peer.pid != pid) {
        close(fd);
        return err_set(e, GPUFL_E_PERM, "another process listens in place of process %" PRId64,
                       pid);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    *out = fd;
    return 0;
}

/* ---- the order ----------------------------------------------------------------------------- */

struct answer {
    bool has_code;
    int64_t code;
    char error[384];
};

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct answer *a = to;
    if (strcmp(key, "code") == 0 && v.type == JSON_INT)
        a->has_code = true, a->code = v.integer;
    else if (strcmp(key, "error") == 0 && v.type == JSON_STRING)
        json_text(v, a->error, sizeof a->error);
    return json_skip(j, v);
}

static int read_answer(int fd, int64_t pid, struct err *e)
{
    char line[ANSWER_MOST];
    struct answer a = {0};
    size_t n = 0;
    for (ssize_t got = 1; n + 1 < sizeof line && got > 0; n += got > 0 ? (size_t)got : 0)
        got = recv(fd, line + n, sizeof line - 1 - n, 0);
    json_document(line, n, take_member, &a);
    if (!a.has_code)
        return err_set(e, GPUFL_E_TIMEOUT, "the session of process %" PRId64 " did not answer",
                       pid);
    if (!a.code)
        return 0;
    int rc = a.code < 0 && a.code > INT32_MIN ? (int)a.code : GPUFL_E_STATE;
    return err_set(e, rc, "%s", *a.error ? a.error : "the session refuses");
}

int reach_capture(const struct reach_order *order, struct err *e)
{
    char request[REQUEST_MOST];
    int fd = -1;
    int n =
        snprintf(request, sizeof request, "capture %s %s %" PRId64 "%s%s\n", order->session,
                 order->engine, order->duration / 1000000, *order->scope ? " " : "", order->scope);
    if (n < 0 || (size_t)n >= sizeof request || strchr(request, '\n') != request + n - 1)
        return err_set(e, GPUFL_E_INVAL, "the request does not fit on a line");
    int rc = open_socket(order->pid, &fd, e);
    if (rc)
        return rc;
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        rc = err_set_vendor(e, err_from_errno(errno), errno,
                            "the session of process %" PRId64 " does not listen", order->pid);
    else
        rc = read_answer(fd, order->pid, e);
    close(fd);
    return rc;
}
