/* file_tree.c - see file_tree.h. */
#include "server/backup/file_tree.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 8, BLOCK = 1 << 20 };

static int io_failed(const char *what, const char *path, struct err *e)
{
    return err_set_vendor(e, err_from_errno(errno), errno, "cannot %s %s", what, path);
}

/* Returns true if the kernel cannot copy: it can within most file systems, but not between two. */
static bool kernel_refuses(int error)
{
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

/* Copies the next block; returns its bytes, 0 at the end, negative after an error (errno). */
static ssize_t copy_block(int in, int out, bool *by_hand, char *room)
{
    ssize_t n = *by_hand ? 0 : copy_file_range(in, NULL, out, NULL, BLOCK, 0);
    if (n < 0 && kernel_refuses(errno))
        *by_hand = true;
    if (!*by_hand)
        return n;
    n = read(in, room, BLOCK);
    int rc = n > 0 ? file_write_all(out, room, (size_t)n) : 0;
    errno = rc ? -rc : errno;
    return rc ? -1 : n;
}

/* Copies a file, and syncs the copy: a copy that was reported is on the disk. */
static int copy_open(int in, int out, const char *to, int64_t *bytes, struct err *e)
{
    bool by_hand = false;
    char *room = mem_alloc(BLOCK);
    if (!room)
        return err_nomem(e);
    ssize_t n = 1;
    while (n > 0 || (n < 0 && errno == EINTR)) {
        n = copy_block(in, out, &by_hand, room);
        *bytes += n > 0 ? n : 0;
    }
    mem_free(room);
    return n < 0 || fsync(out) ? io_failed("write", to, e) : 0;
}

static int copy_file(const char *from, const char *to, int64_t *bytes, struct err *e)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return errno == ENOENT ? 0
                               : io_failed("read", from, e); /* it was removed during the copy */
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = out < 0 ? io_failed("create", to, e) : copy_open(in, out, to, bytes, e);
    if (out >= 0 && close(out) && rc == 0)
        rc = io_failed("write", to, e);
    close(in);
    return rc;
}

static int copy_tree(const char *from, const char *to, int depth, int64_t *bytes, struct err *e);

static int copy_entry(const char *from, const char *to, const char *name, int depth, int64_t *bytes,
                      struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX];
    struct stat st;
    if (path_join(source, sizeof source, from, name) || path_join(target, sizeof target, to, name))
        return err_set(e, GPUFL_E_INVAL, "the name of a file is too long below %.200s", from);
    if (lstat(source, &st))
        return errno == ENOENT ? 0
                               : io_failed("read", source, e); /* it was removed during the copy */
    if (S_ISDIR(st.st_mode))
        return copy_tree(source, target, depth + 1, bytes, e);
    return S_ISREG(st.st_mode) ? copy_file(source, target, bytes, e) : 0;
}

static int copy_tree(const char *from, const char *to, int depth, int64_t *bytes, struct err *e)
{
    const struct dirent *entry;
    if (depth > DEPTH_MAX)
        return err_set(e, GPUFL_E_INVAL, "%s has folders in folders too deep", from);
    DIR *d = opendir(from);
    if (!d)
        return io_failed("read", from, e);
    int rc = file_mkdirs(to, 0700, e);
    while (rc == 0 && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = copy_entry(from, to, entry->d_name, depth, bytes, e);
    closedir(d);
    return rc;
}

static int64_t bytes_below(const char *folder, int depth)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    struct stat st;
    int64_t bytes = 0;
    DIR *d = depth > DEPTH_MAX ? NULL : opendir(folder);
    while (d && (entry = readdir(d))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            path_join(path, sizeof path, folder, entry->d_name) || lstat(path, &st))
            continue;
        bytes += S_ISDIR(st.st_mode) ? bytes_below(path, depth + 1) : st.st_size;
    }
    if (d)
        closedir(d);
    return bytes;
}

int file_tree_copy(const char *from, const char *to, int64_t *bytes, struct err *e)
{
    return copy_tree(from, to, 0, bytes, e);
}

int64_t file_tree_bytes(const char *folder)
{
    return bytes_below(folder, 0);
}
