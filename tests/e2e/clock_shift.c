/* clock_shift.c - shifts the real-time clock by the amount in a file. For LD_PRELOAD.
 *
 *   CLOCK_SHIFT=FILE    eight bytes, native order: ns that are added to the real time; and where
 *                       there are eight more, ns that the machine has slept. The file may be
 *                       written while the process runs, so that its clock jumps
 *
 * The monotonic clock stays as it is, as when an administrator or NTP sets the time. A sleep moves
 * the real time and CLOCK_BOOTTIME. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SHIFT, SLEPT, BYTES_OF_BOTH = 16 };

static const _Atomic int64_t *shift; /* the file; written by the test alone */
static bool sleeps;                  /* the file has both numbers; set before main */

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCK_SHIFT");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES_OF_BOTH, PROT_READ, MAP_SHARED, fd, 0);
    struct stat st;
    sleeps = fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= BYTES_OF_BOTH;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        shift = at;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (syscall(SYS_clock_gettime, clock, t))
        return -1;
    bool real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (shift && (real || (sleeps && clock == CLOCK_BOOTTIME))) {
        int64_t now = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
        now += real ? atomic_load_explicit(&shift[SHIFT], memory_order_relaxed) : 0;
        now += sleeps ? atomic_load_explicit(&shift[SLEPT], memory_order_relaxed) : 0;
        t->tv_sec = now / 1000000000;
        t->tv_nsec = now % 1000000000;
    }
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return rc;
}

EXPORT time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
