/* crash_at.c - kills its process at a chosen one of the calls that change files. For LD_PRELOAD.
 *
 *   CRASH_AT=N       at the Nth such call; 0 or nothing: never
 *   CRASH_HOW        before: instead of the call; after: right after it; torn: after half of what
 *                    is to be written (a call that writes nothing: before)
 *   CRASH_FROM=FILE  calls count from the moment at which that file exists
 *   CRASH_COUNT=FILE at a regular end, how many calls there were
 *   CRASH_SENDS=1    what is sent to another process counts as well: its files change by that
 *
 * A test reaches every moment at which files are half changed, as often as it wants; killing at
 * random times reaches only the long moments. Writes to pipes and terminals do not count. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum how { BEFORE, AFTER, TORN };

static unsigned long at;
static enum how how;
static const char *count_file, *from_file;
static bool sends;
static atomic_bool begun;
static atomic_ulong calls;

__attribute__((constructor)) static void begin(void)
{
    const char *n = getenv("CRASH_AT"), *way = getenv("CRASH_HOW");
    at = n ? strtoul(n, NULL, 10) : 0;
    how = way && strcmp(way, "after") == 0  ? AFTER
          : way && strcmp(way, "torn") == 0 ? TORN
                                            : BEFORE;
    count_file = getenv("CRASH_COUNT");
    from_file = getenv("CRASH_FROM");
    sends = getenv("CRASH_SENDS") != NULL;
    unsetenv("LD_PRELOAD"); /* children must not be killed */
}

__attribute__((destructor)) static void end(void)
{
    FILE *f = count_file ? fopen(count_file, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%lu\n", atomic_load(&calls));
    fclose(f);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool has_begun(void)
{
    if (!from_file || atomic_load(&begun))
        return true;
    if (access(from_file, F_OK))
        return false;
    atomic_store(&begun, true);
    return true;
}

/* Returns true if this call is the chosen one. */
static bool now(bool counts)
{
    return counts && has_begun() && atomic_fetch_add(&calls, 1) + 1 == at;
}

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* half, whole: the arguments of the call for half of the bytes, and for all. */
#define WRITING(name, counts, half, whole)                                                         \
    do {                                                                                           \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            real = REAL(name);                                                                     \
        if (!now(counts))                                                                          \
            return real whole;                                                                     \
        if (how == AFTER)                                                                          \
            real whole;                                                                            \
        else if (how == TORN)                                                                      \
            real half;                                                                             \
        die();                                                                                     \
        return -1;                                                                                 \
    } while (0)

EXPORT ssize_t write(int fd, const void *data, size_t n)
{
    WRITING(write, is_file(fd), (fd, data, n / 2), (fd, data, n));
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    WRITING(pwrite, is_file(fd), (fd, data, n / 2, offset), (fd, data, n, offset));
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset)
{
    WRITING(pwrite64, is_file(fd), (fd, data, n / 2, offset), (fd, data, n, offset));
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
    WRITING(writev, is_file(fd), (fd, v, n / 2), (fd, v, n));
}

EXPORT ssize_t send(int fd, const void *data, size_t n, int flags)
{
    WRITING(send, sends, (fd, data, n / 2, flags), (fd, data, n, flags));
}

EXPORT ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
                               unsigned flags)
{
    WRITING(copy_file_range, is_file(out), (in, in_at, out, out_at, n / 2, flags),
            (in, in_at, out, out_at, n, flags));
}

#define CHANGING(name, counts, whole)                                                              \
    do {                                                                                           \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            real = REAL(name);                                                                     \
        if (!now(counts))                                                                          \
            return real whole;                                                                     \
        if (how == AFTER)                                                                          \
            real whole;                                                                            \
        die();                                                                                     \
        return -1;                                                                                 \
    } while (0)

EXPORT int fsync(int fd)
{
    CHANGING(fsync, true, (fd));
}

EXPORT int fdatasync(int fd)
{
    CHANGING(fdatasync, true, (fd));
}

EXPORT int syncfs(int fd)
{
    CHANGING(syncfs, true, (fd));
}

EXPORT int ftruncate(int fd, off_t size)
{
    CHANGING(ftruncate, is_file(fd), (fd, size));
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    CHANGING(ftruncate64, is_file(fd), (fd, size));
}

EXPORT int rename(const char *from, const char *to)
{
    CHANGING(rename, true, (from, to));
}

EXPORT int unlink(const char *path)
{
    CHANGING(unlink, true, (path));
}

EXPORT int unlinkat(int folder, const char *path, int flags)
{
    CHANGING(unlinkat, true, (folder, path, flags));
}

EXPORT int remove(const char *path)
{
    CHANGING(remove, true, (path));
}

EXPORT int rmdir(const char *path)
{
    CHANGING(rmdir, true, (path));
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    CHANGING(mkdir, true, (path, mode));
}
