/* file.c - see file.h.
 *
 * Everything is written with write(2), never through a mapping: a full disk makes
 * write(2) fail, but a store to a mapping raise SIGBUS. */
#include "base/file/file.h"

#include "base/alloc.h"
#include "base/zmem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

int path_join(char *out, size_t size, const char *dir, const char *name)
{
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    const char *slash = len == 0 || dir[len - 1] == '/' ? "" : "/";
    while (len > 0 && *name == '/')
        name++;
    if (len + strlen(slash) + strlen(name) >= size)
        return GPUFL_E_FULL;
    snprintf(out, size, "%.*s%s%s", (int)len, dir, slash, name);
    return 0;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int fail_errno(struct err *e, const char *what, const char *path)
{
    int errnum = errno;
    return err_set_vendor(e, err_from_errno(errnum), errnum, "cannot %s %s", what, path);
}

/* Makes one level; a directory that exists already is no error. */
static int make_one(const char *dir, mode_t mode)
{
    if (mkdir(dir, mode) == 0)
        return 0;
    int errnum = errno;
    struct stat st;
    if (stat(dir, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        errnum = ENOTDIR;
    }
    errno = errnum;
    return -1;
}

int file_mkdirs(const char *dir, mode_t mode, struct err *e)
{
    char path[PATH_MAX];
    size_t len = strlen(dir);
    if (len == 0 || len >= sizeof path)
        return err_set(e, GPUFL_E_INVAL, "cannot create directory '%.64s': the path is %s", dir,
                       len ? "too long" : "empty");
    memcpy(path, dir, len + 1);
    for (char *p = path + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        int rc = make_one(path, mode);
        *p = '/';
        if (rc)
            return fail_errno(e, "create directory", dir);
    }
    return make_one(path, mode) ? fail_errno(e, "create directory", dir) : 0;
}

int file_open_append(const char *path, mode_t mode, int *fd, struct err *e)
{
    do
        *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? fail_errno(e, "open", path) : 0;
}

int file_write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

void file_shield_up(struct file_shield *s)
{
    sigemptyset(&s->size_signal);
    sigaddset(&s->size_signal, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &s->size_signal, &s->before);
}

void file_shield_down(struct file_shield *s, int rc)
{
    if (rc == -EFBIG)
        sigtimedwait(&s->size_signal, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

int file_write_shielded(int fd, const void *data, size_t n)
{
    struct file_shield s;
    file_shield_up(&s);
    int rc = file_write_all(fd, data, n);
    file_shield_down(&s, rc);
    return rc;
}

/* Calls read(2), and calls it again after EINTR. */
static ssize_t read_some(int fd, void *data, size_t n)
{
    ssize_t got;
    do
        got = read(fd, data, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads fd to its end into *data (size unknown: /proc says 0). */
static int read_growing(int fd, const char *path, size_t max, char **data, size_t *len,
                        struct err *e)
{
    size_t cap = 0;
    for (;;) {
        int rc = mem_grow(data, &cap, *len + 4096, 1, max < SIZE_MAX - 4097 ? max + 4097 : max);
        if (rc)
            return err_set(e, rc, "cannot read %s: %s", path, err_text(rc));
        ssize_t got = read_some(fd, *data + *len, cap - *len - 1);
        if (got < 0)
            return fail_errno(e, "read", path);
        if (got == 0)
            break;
        *len += (size_t)got;
        if (*len > max)
            return err_set(e, GPUFL_E_FULL, "%s is larger than the %zu bytes that are read", path,
                           max);
    }
    (*data)[*len] = '\0';
    return 0;
}

int file_read_all(const char *path, size_t max, char **data, size_t *len, struct err *e)
{
    *data = NULL;
    *len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail_errno(e, "open", path);
    int rc = read_growing(fd, path, max, data, len, e);
    close(fd);
    if (rc) {
        mem_free(*data);
        *data = NULL;
        *len = 0;
    }
    return rc;
}

bool file_read_at(int fd, uint64_t at, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

int64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

int file_try_dir(const char *dir)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, dir, ".gpufl-try-XXXXXX"))
        return -ENAMETOOLONG;
    if (!mkdtemp(path))
        return -errno;
    return rmdir(path) ? -errno : 0;
}

bool file_is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void file_remove_tree(const char *path)
{
    enum { OPEN_MOST = 16 };
    (void)nftw(path, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

static bool is_named(const char *name, const char *prefix, const char *suffix)
{
    size_t len = strlen(name), end = strlen(suffix);
    return strncmp(name, prefix, strlen(prefix)) == 0 && len >= end &&
           strcmp(name + len - end, suffix) == 0 && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

void file_remove_named(const char *dir, const char *prefix, const char *suffix)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *d = opendir(dir);
    while (d && (entry = readdir(d)))
        if (is_named(entry->d_name, prefix, suffix) &&
            path_join(path, sizeof path, dir, entry->d_name) == 0)
            file_remove_tree(path);
    if (d)
        closedir(d);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

struct file_id file_id(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return (struct file_id){0};
    return (struct file_id){.device = (uint64_t)st.st_dev, .inode = (uint64_t)st.st_ino};
}

struct file_id file_id_born(int fd)
{
    struct file_id id = file_id(fd);
    struct statx st;
    if (id.inode && statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 &&
        (st.stx_mask & STATX_BTIME))
        id.birth = (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
    return id;
}

bool file_is(int fd, struct file_id id)
{
    struct file_id now = id.birth ? file_id_born(fd) : file_id(fd);
    return now.inode && now.inode == id.inode && now.device == id.device && now.birth == id.birth;
}

int64_t file_free_bytes(const char *dir)
{
    struct statvfs vfs;
    if (statvfs(dir, &vfs) != 0)
        return -1;
    return (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize;
}

/* Holds the state of one compression. It is set to empty first, so that gzip_close always works. */
struct gzip {
    int at;                 /* descriptor of the directory that the names are below */
    const char *src, *part; /* names, for the sentences */
    int in, out;            /* descriptors, -1: none */
    bool deflating;         /* z is initialized */
    z_stream z;
    const _Atomic bool *stop; /* NULL: never */
    struct err *e;
    unsigned char from[1 << 16];
    unsigned char to[1 << 16];
};

static int gzip_open(struct gzip *g, int level)
{
    struct stat st;
    g->in = openat(g->at, g->src, O_RDONLY | O_CLOEXEC);
    if (g->in < 0 || fstat(g->in, &st) != 0)
        return fail_errno(g->e, "open", g->src);
    g->out = openat(g->at, g->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777);
    if (g->out < 0)
        return fail_errno(g->e, "create", g->part);
    g->z.zalloc = zmem_alloc;
    g->z.zfree = zmem_free;
    int result = deflateInit2(&g->z, level, Z_DEFLATED, 15 + 16 /* gzip */, 8, Z_DEFAULT_STRATEGY);
    if (result != Z_OK) {
        int rc = result == Z_MEM_ERROR ? GPUFL_E_NOMEM : GPUFL_E_INVAL;
        return err_set(g->e, rc, "cannot compress %s: %s", g->src, err_text(rc));
    }
    g->deflating = true;
    return 0;
}

/* Writes all that deflate gives for the present input. */
static int gzip_drain(struct gzip *g, int flush)
{
    do {
        g->z.next_out = g->to;
        g->z.avail_out = sizeof g->to;
        deflate(&g->z, flush);
        int rc = file_write_all(g->out, g->to, sizeof g->to - g->z.avail_out);
        if (rc) {
            errno = -rc;
            return fail_errno(g->e, "write", g->part);
        }
    } while (g->z.avail_out == 0);
    return 0;
}

static int gzip_copy(struct gzip *g)
{
    for (;;) {
        if (g->stop && atomic_load_explicit(g->stop, memory_order_relaxed))
            return err_set(g->e, GPUFL_E_STATE, "compressing %s was given up", g->src);
        ssize_t got = read_some(g->in, g->from, sizeof g->from);
        if (got < 0)
            return fail_errno(g->e, "read", g->src);
        g->z.next_in = g->from;
        g->z.avail_in = (unsigned)got;
        int rc = gzip_drain(g, got ? Z_NO_FLUSH : Z_FINISH);
        if (rc || got == 0)
            return rc;
    }
}

/* On a network file system a full disk or an exceeded quota may be reported only by close(2), so
 * a file replaces its source only after it could be closed. */
static int gzip_finish(struct gzip *g)
{
    int fd = g->out;
    g->out = -1;
    return close(fd) ? fail_errno(g->e, "write", g->part) : 0;
}

static void gzip_close(struct gzip *g)
{
    if (g->deflating)
        deflateEnd(&g->z);
    if (g->in >= 0)
        close(g->in);
    if (g->out >= 0)
        close(g->out);
    mem_free(g);
}

int file_gzip(const char *src, const char *dst, int level, struct err *e)
{
    return file_gzip_at(AT_FDCWD, src, dst, level, NULL, e);
}

int file_gzip_at(int at, const char *src, const char *dst, int level, const _Atomic bool *stop,
                 struct err *e)
{
    char part[PATH_MAX];
    if ((size_t)snprintf(part, sizeof part, "%s.part", dst) >= sizeof part)
        return err_set(e, GPUFL_E_INVAL, "cannot compress %s: the path is too long", src);
    struct gzip *g = mem_zalloc(sizeof *g);
    if (!g)
        return err_set(e, GPUFL_E_NOMEM, "cannot compress %s: out of memory", src);
    g->at = at;
    g->src = src;
    g->part = part;
    g->in = g->out = -1;
    g->stop = stop;
    g->e = e;
    int rc = gzip_open(g, level);
    if (rc == 0)
        rc = gzip_copy(g);
    bool created = g->out >= 0;
    if (rc == 0)
        rc = gzip_finish(g);
    gzip_close(g);
    if (rc == 0 && renameat(at, part, at, dst) != 0)
        rc = fail_errno(e, "rename to", dst);
    if (rc && created)
        (void)unlinkat(at, part, 0);
    return rc;
}

bool file_is_named_packed(const char *path)
{
    size_t len = strlen(path);
    return (len > 3 && strcmp(path + len - 3, ".gz") == 0) ||
           (len > 4 && strcmp(path + len - 4, ".zst") == 0);
}
