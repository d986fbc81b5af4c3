/* spool.c - watches the session's size and the disk's free space.
 *
 * The time between two checks is taken from the system's clock, not from clock.h: a
 * simulated clock may stop or run fast. */
#include "capture/log/spool.h"

#include "base/process/fd_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHECK_NS = 1000000000 };

static int64_t now_coarse(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Returns the size of a regular file below the directory; -1: there is none. */
static int64_t size_at(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, 0) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

/* A packed part whose plain part still exists is not counted here: the compressor counts
 * it under the lock, when it removes the plain part. */
static bool is_counted(int at, const char *name, int64_t *bytes)
{
    char plain[NAME_MAX + 1];
    size_t len = strlen(name);
    *bytes = size_at(at, name);
    if (*bytes < 0 || (len > 5 && !strcmp(name + len - 5, ".part")))
        return false;
    if (len > 3 && !strcmp(name + len - 3, ".gz")) {
        snprintf(plain, sizeof plain, "%.*s", (int)(len - 3), name);
        return size_at(at, plain) < 0;
    }
    return true;
}

struct scan {
    struct log_dir *log;
    int64_t bytes; /* in the directory; -1: the directory cannot be read */
};

static void scan(void *arg)
{
    struct scan *s = arg;
    int64_t bytes;
    int at = log_dir_at(s->log);
    int fd = at < 0 ? at : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    s->bytes = dir ? 0 : -1;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_counted(at, entry->d_name, &bytes))
            s->bytes += bytes;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}

static void rescan(struct spool *s)
{
    pthread_mutex_lock(&s->lock);
    struct scan now = {.log = s->dir};
    fd_thread_run(scan, &now);
    if (now.bytes >= 0)
        atomic_store_explicit(&s->bytes, now.bytes, memory_order_relaxed);
    pthread_mutex_unlock(&s->lock);
}

static int64_t spool_bytes(struct spool *s)
{
    return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}

int spool_init(struct spool *s, struct log_dir *dir, int64_t max_bytes, int64_t min_free)
{
    memset(s, 0, sizeof *s);
    s->dir = dir;
    s->min_free = min_free;
    s->closing = SPOOL_CLOSING_BYTES;
    if (max_bytes > 0) {
        if (s->closing > max_bytes / 4)
            s->closing = max_bytes / 4;
        s->limit = max_bytes - s->closing;
    }
    int rc = pthread_mutex_init(&s->lock, NULL);
    if (rc)
        return err_from_errno(rc);
    rescan(s);
    s->checked = now_coarse() - CHECK_NS;
    spool_check(s);
    return 0;
}

void spool_fini(struct spool *s)
{
    pthread_mutex_destroy(&s->lock);
}

/* Writes a size like "64 KiB": in the largest unit that writes the number well. */
static const char *size_text(char out[32], int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB"};
    int unit = 0;
    while (unit < 2 && (bytes >= 10240 || (bytes >= 1024 && bytes % 1024 == 0))) {
        bytes >>= 10;
        unit++;
    }
    snprintf(out, 32, "%lld %s", (long long)bytes, units[unit]);
    return out;
}

void spool_end(struct spool *s, enum writer_stop why, const char *fmt, ...)
{
    if (s->stop != WRITER_RUNS)
        return;
    s->stop = why;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->text, sizeof s->text, fmt, ap);
    va_end(ap);
}

bool spool_check(struct spool *s)
{
    int64_t now = now_coarse();
    if (now - s->checked < CHECK_NS)
        return false;
    s->checked = now;
    char has[32], keep[32];
    int64_t left = s->min_free > 0 ? log_dir_free_bytes(s->dir) : -1;
    if (left >= 0 && left < s->min_free)
        spool_end(s, WRITER_DISK_RESERVE,
                  "capture ended: the disk of %.255s has %s left, less than the %s to be "
                  "kept free; free some space, or lower log_min_free_bytes",
                  s->dir->path, size_text(has, left), size_text(keep, s->min_free));
    return true;
}

static void check_limit(struct spool *s, int64_t n)
{
    char limit[32];
    if (!s->limit || spool_bytes(s) + n <= s->limit)
        return;
    rescan(s);
    if (spool_bytes(s) + n > s->limit)
        spool_end(s, WRITER_SPOOL_LIMIT,
                  "capture ended: the session's logs in %.255s reached their limit of %s; raise "
                  "log_max_spool_bytes, or trace less",
                  s->dir->path, size_text(limit, s->limit + s->closing));
}

bool spool_admit(struct spool *s, enum spool_class k, int64_t n)
{
    if (s->stop == WRITER_RUNS)
        check_limit(s, n);
    if (s->stop == WRITER_RUNS)
        return true;
    int64_t room = k == SPOOL_LAST ? s->closing : k == SPOOL_CLOSING ? s->closing / 2 : 0;
    return s->closing_used + n <= room;
}

void spool_add(struct spool *s, enum spool_class k, int64_t n)
{
    if (k != SPOOL_ROWS && s->stop != WRITER_RUNS)
        s->closing_used += n;
    atomic_fetch_add_explicit(&s->bytes, n, memory_order_relaxed);
}

void spool_replaced(struct spool *s, const char *plain, const char *packed)
{
    pthread_mutex_lock(&s->lock);
    int at = log_dir_at(s->dir);
    int64_t before = at < 0 ? -1 : size_at(at, plain), after = at < 0 ? -1 : size_at(at, packed);
    if (before >= 0 && after >= 0 && unlinkat(at, plain, 0) == 0)
        atomic_fetch_add_explicit(&s->bytes, after - before, memory_order_relaxed);
    pthread_mutex_unlock(&s->lock);
}
