/* part.c - writes one channel's file. All work on it runs on the file thread: see
 * base/process/fd_thread.h.
 *
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends the process. Our threads block
 * the signal, but the last flush can run on a thread of the program (exit, shutdown).
 * So part_write blocks the signal for the call and consumes one that it caused. */
#include "capture/log/part.h"

#include "base/log.h"
#include "base/process/fd_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0644, RESERVE_STEP = 64 << 10 };

void part_init(struct part *p, struct log_dir *dir, enum channel c)
{
    memset(p, 0, sizeof *p);
    p->dir = dir;
    p->name = channel_names[c];
    p->fd = -1;
    p->number = 1;
}

/* ---- names ------------------------------------------------------------------------------- */

static const char *active_name(const struct part *p, char name[PART_NAME])
{
    snprintf(name, PART_NAME, "%s.log", p->name);
    return name;
}

static const char *numbered_name(const struct part *p, char name[PART_NAME])
{
    snprintf(name, PART_NAME, "%s.%lld.log", p->name, (long long)p->number);
    return name;
}

/* Returns the name of the next part's file while the part before it has the active name. Readers
 * skip it. */
static const char *next_name(const struct part *p, char name[PART_NAME])
{
    snprintf(name, PART_NAME, "%s.log.part", p->name);
    return name;
}

/* Creates the file. A file of that name that exists already is not ours and is refused. */
static int create(struct part *p, const char *name)
{
    int at = log_dir_at(p->dir), fd;
    if (at < 0)
        return at;
    do
        fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, FILE_MODE);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* Takes a lock that the kernel releases when the process ends for whatever reason, so that readers
 * can see whether the file is still being written. Some file systems have no locks. */
static void say_in_use(int fd)
{
    (void)flock(fd, LOCK_SH | LOCK_NB);
}

static int part_create(struct part *p)
{
    char name[PART_NAME];
    int fd = create(p, active_name(p, name));
    if (fd < 0)
        return fd;
    p->fd = fd;
    p->id = file_id(fd);
    p->allocated = 0;
    say_in_use(fd);
    p->created = true;
    return 0;
}

/* Opens the file again after the program has closed the descriptor. The old number is not closed,
 * because the program may use it now. */
static int part_reopen(struct part *p)
{
    char name[PART_NAME];
    int at = log_dir_at(p->dir), fd;
    if (at < 0)
        return at == -EMFILE || at == -ENFILE ? at : -EBADF;
    do
        fd = openat(at, active_name(p, name), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? -errno : -EBADF;
    if (!file_is(fd, p->id)) {
        close(fd);
        return -EBADF;
    }
    p->fd = fd;
    say_in_use(fd);
    return 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

static int allocate(int fd, int64_t from, int64_t to)
{
    struct file_shield s;
    file_shield_up(&s);
    int rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, to - from) ? -errno : 0;
    file_shield_down(&s, rc);
    return rc;
}

/* Allocates n more bytes, and the reserve after them, on the disk. If the file system cannot
 * allocate in advance, there is no reserve. 0, -ENOSPC or -EDQUOT. */
static int reserve(struct part *p, size_t n)
{
    int64_t need = p->bytes + (int64_t)n + p->reserve;
    if (!p->reserve || need <= p->allocated)
        return 0;
    int64_t more = need + RESERVE_STEP;
    int rc = allocate(p->fd, p->allocated, more);
    if (rc == -ENOSPC || rc == -EDQUOT) {
        more = need;
        rc = allocate(p->fd, p->allocated, more);
    }
    if (!rc)
        p->allocated = more;
    else if (rc != -ENOSPC && rc != -EDQUOT)
        p->reserve = rc = 0;
    return rc;
}

/* Cuts the file back to the end of the last complete line after a failed write. */
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

static int append(struct part *p, const void *data, size_t n, int how)
{
    int rc = p->fd < 0 ? part_create(p) : 0;
    if (!rc && !file_is(p->fd, p->id))
        rc = part_reopen(p);
    if (!rc && !(how & PART_LAST))
        rc = reserve(p, n);
    if (rc)
        return rc;
    if (p->torn) {
        rc = file_write_shielded(p->fd, "\n", 1);
        if (rc)
            return rc;
        p->torn = false;
        p->bytes++;
    }
    rc = file_write_shielded(p->fd, data, n);
    if (!rc && (how & PART_DURABLE) && fdatasync(p->fd))
        rc = -errno;
    if (rc) {
        part_cut(p);
        return rc;
    }
    p->bytes += (int64_t)n;
    p->started = true;
    return 0;
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Removes the file if nothing was written to it and its name still refers to it. */
static void remove_empty(const struct part *p)
{
    char name[PART_NAME];
    struct stat st;
    int at = p->bytes || p->torn ? -1 : log_dir_at(p->dir);
    if (at >= 0 && fstatat(at, active_name(p, name), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        p->id.inode == (uint64_t)st.st_ino && p->id.device == (uint64_t)st.st_dev)
        (void)unlinkat(at, name, 0);
}

static void leave(struct part *p)
{
    int fd = p->fd;
    if (fd < 0)
        return;
    p->fd = -1; /* before close, so that a child forked in between closes no foreign file */
    if (file_is(fd, p->id)) {
        if (p->allocated > p->bytes)
            (void)!ftruncate(fd, p->bytes); /* frees the reserve */
        close(fd);
    }
    p->number += p->bytes > 0;
    p->offset += p->bytes;
    p->bytes = p->allocated = 0;
    p->started = p->torn = false;
    memset(p->rows, 0, sizeof p->rows);
}

/* Renames the part. next: descriptor of the next part's file; -1: there is none. */
static int rename_part(struct part *p, int next, const char *name)
{
    char active[PART_NAME], waiting[PART_NAME];
    int at = log_dir_at(p->dir);
    if (at < 0)
        return at;
    if (renameat(at, active_name(p, active), at, name))
        return -errno;
    if (next < 0 || renameat(at, next_name(p, waiting), at, active) == 0)
        return 0;
    int rc = -errno;
    return renameat(at, name, at, active) == 0 ? rc : -ENOENT;
}

static int finish(struct part *p, bool last, char *name)
{
    char waiting[PART_NAME];
    if (p->fd < 0)
        return -ENOENT;
    int next = last ? -1 : create(p, next_name(p, waiting));
    if (next == -EEXIST && unlinkat(log_dir_at(p->dir), waiting, 0) == 0) /* left by a failure */
        next = create(p, waiting);
    if (!last && next < 0)
        return next;
    int rc = rename_part(p, next, numbered_name(p, name));
    if (rc && next >= 0) {
        (void)unlinkat(log_dir_at(p->dir), waiting, 0);
        close(next);
    }
    if (!rc || rc == -ENOENT)
        leave(p);
    if (!rc && next >= 0) {
        p->fd = next;
        p->id = file_id(next);
        say_in_use(next);
    }
    return rc;
}

static bool deleted(const struct part *p)
{
    struct stat st;
    return file_is(p->fd, p->id) && fstat(p->fd, &st) == 0 && st.st_nlink == 0;
}

/* ---- on the file thread --------------------------------------------------------------------- */

struct work {
    struct part *part;
    const void *data;
    size_t n;
    int how;
    bool last;
    char *name;
    int rc;
};

static void work_open(void *arg)
{
    struct work *w = arg;
    w->rc = part_create(w->part);
    if (!w->rc)
        w->rc = reserve(w->part, 0);
}

/* Logs which file was created. Not called on the file thread, whose table has no stderr. */
static void say_created(struct part *p)
{
    char name[PART_NAME];
    if (!p->created)
        return;
    p->created = false;
    log_debug_each("file: %s/%s", p->dir->path, active_name(p, name));
}

int part_open(struct part *p)
{
    struct work w = {.part = p};
    fd_thread_run(work_open, &w);
    say_created(p);
    return w.rc;
}

static void work_append(void *arg)
{
    struct work *w = arg;
    w->rc = append(w->part, w->data, w->n, w->how);
}

int part_write(struct part *p, const void *data, size_t n, int how)
{
    struct work w = {.part = p, .data = data, .n = n, .how = how};
    fd_thread_run(work_append, &w);
    say_created(p);
    return w.rc;
}

static void work_leave(void *arg)
{
    remove_empty(arg);
    leave(arg);
}

void part_leave(struct part *p)
{
    if (p->fd >= 0)
        fd_thread_run(work_leave, p);
}

static void work_finish(void *arg)
{
    struct work *w = arg;
    w->rc = finish(w->part, w->last, w->name);
}

int part_finish(struct part *p, bool last, char *name)
{
    struct work w = {.part = p, .last = last, .name = name};
    fd_thread_run(work_finish, &w);
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
        fd_thread_run(work_look, &l);
    return l.deleted;
}
