/* look.c - see look.h. */
#include "capture/samples/look.h"

#include "monitor/steady.h"
#include "wire/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ROOM = 256,         /* for the text of a file */
    SWEEP_EVERY = 64,   /* rounds */
    FORGET_AFTER = 256, /* rounds without a look, after which files are closed */
};

static void shut(struct looks *l, const char *why)
{
    if (!l->why)
        l->why = why;
}

void looks_open(struct looks *l, bool own_table)
{
    memset(l, 0, sizeof *l);
    l->dir = -1;
    if (!own_table) {
        shut(l, "the system refuses gpufl's thread a descriptor table of its own (close_range, "
                "unshare)");
        return;
    }
    l->dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->dir < 0)
        shut(l, "/proc/self/task cannot be opened");
}

static void thread_drop(struct look_thread *t)
{
    if (t->tid && t->call >= 0)
        close(t->call);
    if (t->tid && t->schedstat >= 0)
        close(t->schedstat);
    *t = (struct look_thread){0};
}

void looks_round(struct looks *l, int64_t woke)
{
    l->woke = woke;
    if (++l->round % SWEEP_EVERY)
        return;
    for (int i = 0; i < LOOK_THREADS; i++)
        if (l->threads[i].tid && l->round - l->threads[i].round > FORGET_AFTER)
            thread_drop(&l->threads[i]);
}

void looks_close(struct looks *l)
{
    for (int i = 0; i < LOOK_THREADS; i++)
        thread_drop(&l->threads[i]);
    if (l->dir >= 0)
        close(l->dir);
    l->dir = -1;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int file_of(const struct looks *l, int32_t tid, const char *name)
{
    char path[48];
    snprintf(path, sizeof path, "%d/%s", tid, name);
    return openat(l->dir, path, O_RDONLY | O_CLOEXEC);
}

/* The thread's entry, with its files open. gone: there is no such thread. NULL also where its files
 * are refused. */
static struct look_thread *thread_find(struct looks *l, int32_t tid, bool *gone)
{
    struct look_thread *t = &l->threads[(uint32_t)tid & (LOOK_THREADS - 1)];
    *gone = false;
    if (t->tid == tid)
        return t;
    thread_drop(t);
    int call = file_of(l, tid, "syscall");
    if (call < 0) {
        *gone = errno == ENOENT && faccessat(l->dir, ".", F_OK, 0) == 0;
        return NULL;
    }
    *t = (struct look_thread){.tid = tid, .call = call, .schedstat = file_of(l, tid, "schedstat")};
    return t;
}

static size_t file_text(int fd, char text[ROOM])
{
    errno = 0;
    ssize_t n = fd >= 0 ? pread(fd, text, ROOM, 0) : -1;
    return n > 0 ? (size_t)n : 0;
}

/* CPU time of a thread of this process, ns; -1: there is no such thread. The kernel numbers such
 * clocks so: see clock_getcpuclockid(3), which makes only those of processes. */
static int64_t thread_cpu(int32_t tid)
{
    enum { PER_THREAD = 4, SCHED = 2 };
    clockid_t clock = (clockid_t)(~(uint32_t)tid << 3 | PER_THREAD | SCHED);
    struct timespec ts;
    if (clock_gettime(clock, &ts))
        return -1;
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int64_t run_state(struct looks *l, struct look_thread *t)
{
    char text[ROOM];
    int64_t ran;
    struct run_look r = {.woke = l->woke, .run = thread_cpu(t->tid)};
    r.at = steady_ns();
    if (!state_schedstat(text, file_text(t->schedstat, text), &ran, &r.delayed))
        r.delayed = -1;
    r.after = thread_cpu(t->tid);
    if (r.run < 0 || r.after < 0)
        return CELL_NULL;
    return state_run(&t->track, &r);
}

struct look looks_at(struct looks *l, int32_t tid)
{
    struct look out = {.state = CELL_NULL, .number = CELL_NULL};
    char text[ROOM];
    if (l->dir < 0)
        return out;
    struct look_thread *t = thread_find(l, tid, &out.gone);
    size_t length = t ? file_text(t->call, text) : 0;
    if (t && !length && errno == ESRCH) { /* that thread has ended, and another may have its id */
        thread_drop(t);
        t = thread_find(l, tid, &out.gone);
        length = t ? file_text(t->call, text) : 0;
    }
    if (out.gone)
        return out;
    enum call_said said = state_call(text, length, &out.number);
    if (t) {
        t->round = l->round;
        t->track.known &= said == CALL_NONE;
    }
    switch (said) {
    case CALL_NONE:
        out.state = run_state(l, t);
        break;
    case CALL_BLOCKED:
    case CALL_FAULT:
        out.state = HOST_BLOCKED;
        break;
    case CALL_ENDED:
        out.gone = true;
        break;
    case CALL_UNREADABLE:
        shut(l, "/proc/self/task/*/syscall cannot be read");
        break;
    }
    return out;
}
