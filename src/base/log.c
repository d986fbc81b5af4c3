/* log.c - writes lines for people, on stderr, without harm to the traced program.
 *
 * The program's stderr may be a full pipe, a closed pipe or a stopped terminal. So a
 * line is written only when poll says that there is room (a pipe that polls
 * writable takes 4 KiB at once), SIGPIPE is blocked during the write, and a
 * line that cannot be written within 100 ms is dropped.
 *
 * Repetition is counted per place, which is the address of the format, in a small
 * table of atomics. The table has no lock that a forked child could find locked. If
 * many places log within one second, some find no slot and are not limited. */
#include "base/log.h"

#include "base/printable.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 1024, /* well below PIPE_BUF, so that lines never mix */
    SLOTS = 128,           /* power of two */
    PROBES = 16,           /* slots tried for a place */
    WAIT_MS = 100,         /* for room on stderr */
};

static const int64_t QUIET_NS = 1000000000; /* a place logs once in this time */

static const char *const PREFIX[] = {
    [LOG_DEBUG] = "gpufl: debug: ",
    [LOG_NOTE] = "gpufl: ",
    [LOG_WARN] = "gpufl: warning: ",
    [LOG_ERROR] = "gpufl: error: ",
};

struct place {
    _Atomic uintptr_t fmt; /* the format's address; 0: free */
    _Atomic int64_t said;  /* system's monotonic ns of the last line */
    _Atomic uint32_t held; /* lines held back since */
};

static struct place places[SLOTS];
static _Atomic bool debug_on;
static _Atomic(void (*)(enum log_level, const char *)) line_sink;

void log_set_debug(bool on)
{
    atomic_store_explicit(&debug_on, on, memory_order_relaxed);
}

bool log_debug_on(void)
{
    return atomic_load_explicit(&debug_on, memory_order_relaxed);
}

void log_set_sink(void (*fn)(enum log_level, const char *line))
{
    for (size_t i = 0; i < SLOTS; i++)
        atomic_store_explicit(&places[i].fmt, 0, memory_order_relaxed);
    atomic_store_explicit(&line_sink, fn, memory_order_release);
}

/* Does not read clock_mono, because a simulated clock may stand still. */
static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Returns the slot of a place: its own, or one whose place has been quiet; NULL: all are taken. */
static struct place *place_find(uintptr_t key, int64_t now)
{
    struct place *unused = NULL;
    uintptr_t at = key * (uintptr_t)0x9e3779b97f4a7c15 >> 32;
    for (uintptr_t i = 0; i < PROBES; i++) {
        struct place *p = &places[(at + i) & (SLOTS - 1)];
        uintptr_t owner = atomic_load_explicit(&p->fmt, memory_order_relaxed);
        if (owner == key)
            return p;
        int64_t said = atomic_load_explicit(&p->said, memory_order_relaxed);
        if (!unused && (owner == 0 || now - said >= QUIET_NS))
            unused = p;
    }
    return unused;
}

/* Returns true if this place may log now. *held: how many of its lines were held back before. If
 * two threads take one slot at the same time, at worst both lines are written. */
static bool place_may_speak(uintptr_t key, uint32_t *held)
{
    *held = 0;
    int64_t now = now_ns();
    struct place *p = place_find(key, now);
    if (!p)
        return true;
    int64_t said = atomic_load_explicit(&p->said, memory_order_relaxed);
    if (atomic_exchange_explicit(&p->fmt, key, memory_order_relaxed) != key) {
        atomic_store_explicit(&p->held, 0, memory_order_relaxed);
        atomic_store_explicit(&p->said, now, memory_order_relaxed);
        return true;
    }
    if (now - said >= QUIET_NS &&
        atomic_compare_exchange_strong_explicit(&p->said, &said, now, memory_order_relaxed,
                                                memory_order_relaxed)) {
        *held = atomic_exchange_explicit(&p->held, 0, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add_explicit(&p->held, 1, memory_order_relaxed);
    return false;
}

/* Writes the line with one write(2), when there is room for all of it. */
static void stderr_write(const char *line, size_t len)
{
    for (int tries = 0; tries < 4; tries++) {
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        int ready = poll(&fd, 1, WAIT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || !(fd.revents & POLLOUT))
            return;
        ssize_t n = write(STDERR_FILENO, line, len);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return;
    }
}

/* Writes with the signals of a failed write blocked: SIGPIPE of a closed pipe, SIGXFSZ of a file
 * at its limit. Signals that this write raised are consumed. A cancelled thread does not end here,
 * because the caller may hold a lock. */
static void stderr_write_quietly(const char *line, size_t len)
{
    static const int raised[] = {SIGPIPE, SIGXFSZ};
    sigset_t held, ours, old, pending;
    int cancel, ignored;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    sigemptyset(&held);
    sigemptyset(&ours);
    sigpending(&pending);
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++) {
        sigaddset(&held, raised[i]);
        if (sigismember(&pending, raised[i]) != 1)
            sigaddset(&ours, raised[i]);
    }
    pthread_sigmask(SIG_BLOCK, &held, &old);
    stderr_write(line, len);
    int taken;
    do
        taken = sigtimedwait(&ours, NULL, &(struct timespec){0, 0});
    while (taken > 0 || errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_setcancelstate(cancel, &ignored);
}

/* Adds the prefix and writes the line. held: lines of this place that were held back. */
static void line_say(enum log_level level, const char *text, uint32_t held)
{
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line - 48, "%s%s", PREFIX[level], text); /* 48: repetition and LF */
    size_t len = strlen(line);
    printable_clean(line, len); /* keeps the promise of one line, too */
    if (held)
        len += (size_t)snprintf(line + len, sizeof line - len, " (repeated %u times)", held);

    void (*fn)(enum log_level, const char *) =
        atomic_load_explicit(&line_sink, memory_order_acquire);
    if (fn) {
        fn(level, line);
    } else {
        line[len++] = '\n';
        stderr_write_quietly(line, len);
    }
}

void log_say(enum log_level level, uintptr_t key, const char *text)
{
    int saved_errno = errno;
    uint32_t held;
    if (place_may_speak(key | 1, &held)) /* 0 is a free slot */
        line_say(level, text, held);
    errno = saved_errno;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    int saved_errno = errno;
    uint32_t held;
    if (!place_may_speak((uintptr_t)fmt, &held))
        return;
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    errno = saved_errno; /* for %m */
    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    line_say(level, text, held);
    errno = saved_errno;
}

void log_each(enum log_level level, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    uint64_t key = UINT64_C(14695981039346656037); /* FNV-1a: the text is its place */
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    for (const char *c = text; *c; c++)
        key = (key ^ (unsigned char)*c) * UINT64_C(1099511628211);
    log_say(level, (uintptr_t)key, text);
}
