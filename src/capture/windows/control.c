/* control.c - see control.h. */
#include "capture/windows/control.h"

#include "base/file/file.h"
#include "base/json.h"
#include "base/process/thread.h"
#include "capture/windows/windows.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MOST = 512, ANSWER_MOST = 1024, PATIENCE_MS = 1000, BACKLOG = 4 };

static struct thread thread;
static int listening = -1, ending = -1; /* the owner writes them, the thread only reads */
static control_capture_fn *on_capture;  /* set before the thread begins */
static struct sockaddr_un address;

/* ---- the path -------------------------------------------------------------------------------- */

/* True for a directory, not a link, that belongs to this user and is closed to all others. */
static bool is_private(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

int control_path(pid_t pid, bool make, char *out, size_t size, struct err *e)
{
    char dir[PATH_MAX];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/' && is_private(runtime))
        snprintf(dir, sizeof dir, "%.3000s/gpufl", runtime);
    else
        snprintf(dir, sizeof dir, "/tmp/gpufl-%u", (unsigned)geteuid());
    if (make && mkdir(dir, 0700) && errno != EEXIST)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot make %.200s", dir);
    if (make && !is_private(dir))
        return err_set(e, GPUFL_E_PERM,
                       "%.200s is not a directory of this user alone (0700): remove it", dir);
    if ((size_t)snprintf(out, size, "%s/%d.sock", dir, (int)pid) >= size)
        return err_set(e, GPUFL_E_INVAL, "the path %.60s… is too long for a socket", dir);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool same_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Reads a line within the time. False: there is none. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    while (n + 1 < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, PATIENCE_MS) <= 0)
            return false;
        ssize_t got = recv(fd, line + n, size - 1 - n, MSG_DONTWAIT);
        if (got <= 0)
            return false;
        n += (size_t)got;
        line[n] = '\0';
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
            return strlen(line) == (size_t)(end - line);
        }
    }
    return false;
}

static void answer(char *line, struct buf *out)
{
    static const char open[] = "window open", shut[] = "window close", status[] = "window status";
    static const char capture[] = "capture ";
    struct err e = {0};
    char text[ANSWER_MOST / 2];
    bool opens = strncmp(line, open, sizeof open - 1) == 0;
    bool closes = strncmp(line, shut, sizeof shut - 1) == 0;
    const char *name = line + (opens ? sizeof open : sizeof shut) - 1;
    int rc = 0;
    if ((opens || closes) && (*name == ' ' || !*name))
        rc = windows_switch(name + (*name == ' '), opens, &e);
    else if (strncmp(line, capture, sizeof capture - 1) == 0)
        rc = on_capture(line + sizeof capture - 1, &e);
    else if (strcmp(line, status) != 0)
        rc = err_set(&e, GPUFL_E_INVAL,
                     "not understood; it takes window open|close|status [NAME], or capture SESSION "
                     "ENGINE MS [SCOPE]");
    buf_printf(out, "{\"code\":%d", rc);
    if (rc) {
        buf_str(out, ",\"error\":");
        buf_json_str(out, *e.text ? e.text : err_text(rc));
    }
    windows_status(text, sizeof text);
    buf_printf(out, ",\"status\":%s}\n", text);
}

static void serve(int fd)
{
    char line[REQUEST_MOST];
    struct buf out;
    if (!same_user(fd) || !read_line(fd, line, sizeof line))
        return;
    buf_init(&out, ANSWER_MOST);
    answer(line, &out);
    const char *text = buf_cstr(&out);
    (void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    buf_fini(&out);
}

static void *control_main(void *unused)
{
    struct pollfd p[2] = {{.fd = listening, .events = POLLIN}, {.fd = ending, .events = POLLIN}};
    while (poll(p, 2, -1) >= 0 || errno == EINTR) {
        if (p[1].revents)
            break;
        int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(fd);
        close(fd);
    }
    return unused;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void close_all(void)
{
    if (listening >= 0)
        close(listening);
    if (ending >= 0)
        close(ending);
    listening = ending = -1;
}

int control_open(control_capture_fn *capture, struct err *e)
{
    on_capture = capture;
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int rc = control_path(getpid(), true, address.sun_path, sizeof address.sun_path, e);
    if (rc)
        return rc;
    (void)unlink(address.sun_path); /* of a process of this number that was killed */
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ending = eventfd(0, EFD_CLOEXEC);
    if (listening < 0 || ending < 0 ||
        bind(listening, (const struct sockaddr *)&address, sizeof address) ||
        listen(listening, BACKLOG)) {
        rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot listen at %.100s",
                            address.sun_path);
        close_all();
        return rc;
    }
    rc = thread_start(&thread, "gpufl-ctl", 0, control_main, NULL);
    if (rc) {
        (void)unlink(address.sun_path);
        close_all();
    }
    return rc;
}

void control_close(void)
{
    uint64_t one = 1;
    if (!thread.running)
        return;
    (void)!write(ending, &one, sizeof one);
    thread_join(&thread);
    (void)unlink(address.sun_path);
    close_all();
}

/* Closes the descriptors. The socket's file stays: it is the parent's. */
void control_forget(void)
{
    thread.running = false;
    close_all();
}
