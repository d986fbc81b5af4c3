/* dir.c - see dir.h. */
#include "capture/log/dir.h"

#include "base/process/fd_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int open_dir(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

int log_dir_at(struct log_dir *d)
{
    if (file_is(d->fd, d->id))
        return d->fd;
    int fd = open_dir(d->path);
    if (fd < 0)
        return fd;
    if (!file_is(fd, d->id)) { /* the path is now that of another directory */
        close(fd);
        return -ENOENT;
    }
    d->fd = fd; /* the old number may be the program's now, so it is not closed */
    return fd;
}

static void work_open(void *arg)
{
    struct log_dir *d = arg;
    d->fd = open_dir(d->path);
    d->id = file_id(d->fd);
}

int log_dir_open(struct log_dir *d, const char *path)
{
    d->fd = -1;
    if ((size_t)snprintf(d->path, sizeof d->path, "%s", path) >= sizeof d->path)
        return -ENAMETOOLONG;
    fd_thread_run(work_open, d);
    return d->fd < 0 ? d->fd : 0;
}

static void work_close(void *arg)
{
    struct log_dir *d = arg;
    int fd = d->fd;
    d->fd = -1;
    if (file_is(fd, d->id))
        close(fd);
}

void log_dir_close(struct log_dir *d)
{
    if (d->fd >= 0)
        fd_thread_run(work_close, d);
}

struct look {
    struct log_dir *dir;
    int64_t bytes;
};

static void work_look(void *arg)
{
    struct look *l = arg;
    struct statvfs vfs;
    int fd = log_dir_at(l->dir);
    if (fd >= 0 && fstatvfs(fd, &vfs) == 0)
        l->bytes = (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize;
}

int64_t log_dir_free_bytes(struct log_dir *d)
{
    struct look l = {.dir = d, .bytes = -1};
    fd_thread_run(work_look, &l);
    return l.bytes;
}
