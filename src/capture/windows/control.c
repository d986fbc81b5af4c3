/* control.c - see control.h.
 *
 * A program may close every descriptor that it finds, and then gets their numbers for its own
 * files. The socket, and the thread that serves it, are therefore in the table of gpufl-files
 * (fd_thread.h). Requests call the vendor's libraries, whose descriptors are in the program's
 * table, so a second thread, in the program's table, carries requests out. If there is no table of
 * our own, the thread checks each descriptor before use, and all of them from time to time. */
#include "capture/windows/control.h"

#include "base/file/file.h"
#include "base/json.h"
#include "base/process/fd_thread.h"
#include "base/process/thread.h"
#include "capture/windows/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MOST = 512, ANSWER_MOST = 1024, PATIENCE_MS = 1000, LOOK_MS = 250, BACKLOG = 4 };

/* Holds a descriptor, and which file it was. */
struct end {
    int fd; /* -1: none */
    struct file_id id;
};

static struct thread listens, works;
static bool shared; /* descriptors are in the program's table */
static struct end listening, ending,
    wake;                /* ending: a pipe that ends the thread; wake: writes it */
static atomic_bool over; /* relaxed: joining orders the rest */
static sem_t asked, done;
static char *request; /* for the working thread; NULL: the end. Ordered by asked and done */
static struct buf *reply;
static control_capture_fn *on_capture; /* set before the threads begin */
static struct sockaddr_un address;

/* ---- the path -------------------------------------------------------------------------------- */

/* Returns true for a directory, not a link, that belongs to this user and is closed to all
 * others. */
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

/* Reads a line within the time. False: no line came. */
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

/* ---- threads --------------------------------------------------------------------------------- */

static void await(sem_t *s)
{
    while (sem_wait(s) && errno == EINTR)
        continue;
}

static void *work_main(void *unused)
{
    for (;;) {
        await(&asked);
        if (!request)
            return unused;
        answer(request, reply);
        sem_post(&done);
    }
}

static void serve(int fd)
{
    char line[REQUEST_MOST];
    struct buf out;
    if (!same_user(fd) || !read_line(fd, line, sizeof line))
        return;
    buf_init(&out, ANSWER_MOST);
    request = line;
    reply = &out;
    sem_post(&asked);
    await(&done);
    const char *text = buf_cstr(&out);
    (void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    buf_fini(&out);
}

static bool is_open(const struct end *x)
{
    return file_is(x->fd, x->id);
}

static void *listen_main(void *unused)
{
    while (!atomic_load_explicit(&over, memory_order_relaxed) && is_open(&listening) &&
           is_open(&ending)) {
        struct pollfd p[2] = {{.fd = ending.fd, .events = POLLIN},
                              {.fd = listening.fd, .events = POLLIN}};
        if (poll(p, 2, shared ? LOOK_MS : -1) <= 0 || p[0].revents || !is_open(&listening))
            continue;
        int fd = accept4(listening.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            serve(fd);
            close(fd);
        } else if (errno != EINTR && errno != EAGAIN) {
            (void)poll(p, 1, LOOK_MS); /* no descriptor is free, and the socket stays ready */
        }
    }
    return unused;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void end_open(struct end *x, int fd)
{
    *x = (struct end){fd, file_id(fd)};
}

static void end_close(struct end *x)
{
    if (is_open(x))
        close(x->fd);
    *x = (struct end){.fd = -1};
}

/* Closes the descriptors. Called in fd_thread_run, like the three functions below. */
static void close_all(void *unused)
{
    (void)unused;
    end_close(&listening);
    end_close(&ending);
    end_close(&wake);
}

static void say_over(void *unused)
{
    (void)unused;
    if (is_open(&wake))
        (void)!write(wake.fd, "", 1);
}

/* Makes the descriptors. 0 or an errno. */
static int listen_at(const struct sockaddr_un *at)
{
    int ends[2] = {-1, -1};
    end_open(&listening, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listening.fd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return errno;
    end_open(&ending, ends[0]);
    end_open(&wake, ends[1]);
    if (bind(listening.fd, (const struct sockaddr *)at, sizeof *at) ||
        listen(listening.fd, BACKLOG))
        return errno;
    return 0;
}

struct opening {
    struct err *e;
    int rc;
};

/* The new thread shares the descriptor table of the one that starts it. */
static void open_all(void *arg)
{
    struct opening *o = arg;
    int failed = listen_at(&address);
    if (failed)
        o->rc = err_set_vendor(o->e, err_from_errno(failed), failed, "cannot listen at %.100s",
                               address.sun_path);
    else if ((o->rc = thread_start(&listens, "gpufl-ctl", 0, listen_main, NULL)) != 0)
        (void)unlink(address.sun_path);
    if (o->rc)
        close_all(NULL);
}

static void end_work(void)
{
    request = NULL;
    sem_post(&asked);
    thread_join(&works);
    sem_destroy(&asked);
    sem_destroy(&done);
}

int control_open(control_capture_fn *capture, struct err *e)
{
    struct opening o = {.e = e};
    on_capture = capture;
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int rc = control_path(getpid(), true, address.sun_path, sizeof address.sun_path, e);
    if (rc)
        return rc;
    (void)unlink(address.sun_path); /* left by a killed process with this number */
    if (sem_init(&asked, 0, 0) || sem_init(&done, 0, 0))
        return err_set(e, GPUFL_E_NOMEM, "no semaphore: %s", strerror(errno));
    rc = thread_start(&works, "gpufl-ctl-work", 0, work_main, NULL);
    if (rc) {
        sem_destroy(&asked);
        sem_destroy(&done);
        return err_set(e, rc, "%s", thread_refusal());
    }
    atomic_store_explicit(&over, false, memory_order_relaxed);
    shared = !fd_thread_id();
    fd_thread_run(open_all, &o);
    if (o.rc)
        end_work();
    return o.rc;
}

void control_close(void)
{
    if (!listens.running)
        return;
    atomic_store_explicit(&over, true, memory_order_relaxed);
    fd_thread_run(say_over, NULL);
    thread_join(&listens);
    end_work();
    (void)unlink(address.sun_path);
    fd_thread_run(close_all, NULL);
}

/* Closes the descriptors that the child has. The socket's file stays: it is the parent's. */
void control_forget(void)
{
    if (listens.running && shared)
        close_all(NULL);
    listens.running = works.running = false;
    listening = ending = wake = (struct end){.fd = -1};
}
