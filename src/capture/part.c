/* part.c - one channel's file. All that touches it is done aside: see aside.h.
 *
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills. Our threads block
 * it, but the last flush can run on a thread of the program (exit, shutdown):
 * part_write blocks it for the call and takes back the one it caused. */
#include "capture/part.h"

#include "base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MODE = 0644 };

void part_init(struct part *p, const char *dir, enum channel c)
{
    memset(p, 0, sizeof *p);
    p->dir = dir;
    p->name = channel_names[c];
    p->fd = -1;
    p->number = 1;
}

/* number 0: the active one. 0 or -ENAMETOOLONG. */
static int part_path(const struct part *p, int64_t number, char *path)
{
    int n = number ? snprintf(path, PATH_MAX, "%s/%s.%lld.log", p->dir, p->name, (long long)number)
                   : snprintf(path, PATH_MAX, "%s/%s.log", p->dir, p->name);
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* A file of that name that is there already belongs to somebody else: refused. */
static int part_create(struct part *p)
{
    char path[PATH_MAX];
    int rc = part_path(p, 0, path);
    if (rc)
        return rc;
    do
        p->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, FILE_MODE);
    while (p->fd < 0 && errno == EINTR);
    p->id = file_id(p->fd);
    return p->fd < 0 ? -errno : 0;
}

/* The descriptor is the program's by now, whatever it stands for: nothing is done to it. */
static int part_reopen(struct part *p)
{
    char path[PATH_MAX];
    int rc = part_path(p, 0, path), fd;
    if (rc)
        return rc;
    do
        fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? -errno : -EBADF;
    if (!file_is(fd, p->id)) {
        close(fd);
        return -EBADF;
    }
    p->fd = fd;
    return 0;
}

/* write(2) that cannot raise a deadly signal. */
static int write_shielded(int fd, const void *data, size_t n)
{
    sigset_t size_signal, before;
    sigemptyset(&size_signal);
    sigaddset(&size_signal, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size_signal, &before);
    int rc = file_write_all(fd, data, n);
    if (rc == -EFBIG)
        sigtimedwait(&size_signal, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* After a failed write: back to the end of the last complete line. */
static void part_cut(struct part *p)
{
    if (ftruncate(p->fd, p->bytes) == 0)
        return;
    struct stat st;
    if (fstat(p->fd, &st) == 0 && st.st_size > p->bytes) {
        p->bytes = st.st_size;
        p->torn = true;
    }
}

static int append(struct part *p, const void *data, size_t n, bool durable)
{
    int rc = p->fd < 0 ? part_create(p) : 0;
    if (!rc && !file_is(p->fd, p->id))
        rc = part_reopen(p);
    if (rc)
        return rc;
    if (p->torn) {
        rc = write_shielded(p->fd, "\n", 1);
        if (rc)
            return rc;
        p->torn = false;
        p->bytes++;
    }
    rc = write_shielded(p->fd, data, n);
    if (!rc && durable && fdatasync(p->fd))
        rc = -errno;
    if (rc) {
        part_cut(p);
        return rc;
    }
    p->bytes += (int64_t)n;
    p->started = true;
    return 0;
}

static void leave(struct part *p)
{
    int fd = p->fd;
    if (fd < 0)
        return;
    p->fd = -1; /* before close: a child forked in between must not close a stranger's file */
    if (file_is(fd, p->id))
        close(fd);
    p->number++;
    p->offset += p->bytes;
    p->bytes = 0;
    p->started = p->torn = false;
    memset(p->rows, 0, sizeof p->rows);
}

static int finish(struct part *p, char *path)
{
    char active[PATH_MAX];
    int rc = part_path(p, 0, active);
    if (!rc)
        rc = part_path(p, p->number, path);
    if (!rc && rename(active, path))
        rc = -errno;
    if (!rc || rc == -ENOENT)
        leave(p);
    return rc;
}

static bool deleted(const struct part *p)
{
    struct stat st;
    return file_is(p->fd, p->id) && fstat(p->fd, &st) == 0 && st.st_nlink == 0;
}

/* ---- aside ------------------------------------------------------------------------------- */

struct work {
    struct part *part;
    const void *data;
    size_t n;
    bool durable;
    char *path;
    int rc;
};

static void work_append(void *arg)
{
    struct work *w = arg;
    w->rc = append(w->part, w->data, w->n, w->durable);
}

int part_write(struct part *p, const void *data, size_t n, bool durable)
{
    struct work w = {.part = p, .data = data, .n = n, .durable = durable};
    aside_run(work_append, &w);
    return w.rc;
}

static void work_leave(void *arg)
{
    leave(arg);
}

void part_leave(struct part *p)
{
    if (p->fd >= 0)
        aside_run(work_leave, p);
}

static void work_finish(void *arg)
{
    struct work *w = arg;
    w->rc = finish(w->part, w->path);
}

int part_finish(struct part *p, char *path)
{
    struct work w = {.part = p, .path = path};
    aside_run(work_finish, &w);
    return w.rc;
}

struct look {
    const struct part *part;
    bool deleted;
};

static void work_look(void *arg)
{
    struct look *l = arg;
    l->deleted = deleted(l->part);
}

bool part_deleted(const struct part *p)
{
    struct look l = {.part = p};
    if (p->fd >= 0)
        aside_run(work_look, &l);
    return l.deleted;
}
