/* look.c - see look.h. */
#include "capture/samples/look.h"

#include "base/clock.h"
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
    PROBES = 8,         /* entries in which a thread is looked for */
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

/* Returns the thread's entry, or else the entry among its places that was not used for the longest
 * time. */
static struct look_thread *entry_of(struct looks *l, int32_t tid)
{
    struct look_thread *oldest = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct look_thread *t = &l->threads[((uint32_t)tid + i) & (LOOK_THREADS - 1)];
        if (t->tid == tid)
            return t;
        if (!oldest || t->round < oldest->round)
            oldest = t;
    }
    return oldest;
}

/* Returns true if the thread has no folder: a kernel without these files has the folder all the
 * same. */
static bool thread_is_gone(const struct looks *l, int32_t tid)
{
    char path[16];
    snprintf(path, sizeof path, "%d", tid);
    return faccessat(l->dir, path, F_OK, 0) && errno == ENOENT &&
           faccessat(l->dir, ".", F_OK, 0) == 0;
}

/* Returns the thread's entry, with its files open. *gone: there is no such thread. NULL also if its
 * files cannot be opened, or if all of its places have been used in this round. */
static struct look_thread *thread_find(struct looks *l, int32_t tid, bool *gone)
{
    struct look_thread *t = entry_of(l, tid);
    *gone = false;
    if (t->tid != tid && t->tid && t->round == l->round)
        return NULL;
    if (t->tid != tid) {
        thread_drop(t);
        int call = file_of(l, tid, "syscall");
        if (call < 0) {
            *gone = errno == ENOENT && thread_is_gone(l, tid);
            return NULL;
        }
        *t = (struct look_thread){.tid = tid,
                                  .opened = l->round,
                                  .call = call,
                                  .schedstat = file_of(l, tid, "schedstat")};
    }
    t->round = l->round;
    return t;
}

static size_t file_text(int fd, char text[ROOM])
{
    errno = 0;
    ssize_t n = fd >= 0 ? pread(fd, text, ROOM, 0) : -1;
    return n > 0 ? (size_t)n : 0;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static bool sched_read(const struct look_thread *t, struct sched_said *out)
{
    char text[ROOM];
    return state_schedstat(text, file_text(t->schedstat, text), out);
}

/* Reads what the kernel says of the thread now. *entry: the thread's entry; NULL: it has none. */
static enum call_said call_read(struct looks *l, int32_t tid, struct look *k,
                                struct look_thread **entry)
{
    char text[ROOM];
    struct look_thread *t = thread_find(l, tid, &k->gone);
    size_t length = t ? file_text(t->call, text) : 0;
    if (t && !length && errno == ESRCH) { /* the thread has ended; another may have its id */
        thread_drop(t);
        t = thread_find(l, tid, &k->gone);
        length = t ? file_text(t->call, text) : 0;
    }
    *entry = t;
    struct call_at at = {.number = -1};
    enum call_said said = state_call(text, length, &at);
    k->number = at.number >= 0 ? at.number : CELL_NULL;
    k->first = at.first;
    k->sp = at.sp;
    k->pc = at.pc;
    return said;
}

/* Finds out whether a blocked thread has run since the look before. The kernel counts its time on
 * cores, and how often it got one, when it gets or leaves a core: equal numbers mean neither. */
static void rest(struct look *k, struct look_thread *t)
{
    struct sched_said said;
    bool known = t && sched_read(t, &said);
    if (!known)
        return;
    k->resting = t;
    k->still = t->rests && said.run == t->rest.run && said.times == t->rest.times;
    t->rests = true;
    t->rest = said;
}

bool looks_rests(struct look *k)
{
    char text[ROOM];
    struct call_at at = {.number = -1};
    struct sched_said said;
    k->moved = state_call(text, file_text(k->resting->call, text), &at) != CALL_BLOCKED ||
               at.number != k->number || at.first != k->first || at.sp != k->sp || at.pc != k->pc ||
               !sched_read(k->resting, &said) || said.run != k->resting->rest.run ||
               said.times != k->resting->rest.times;
    return !k->moved;
}

struct look looks_first(struct looks *l, int32_t tid)
{
    struct look k = {.state = CELL_NULL, .number = CELL_NULL};
    struct look_thread *t;
    if (l->dir < 0)
        return k;
    enum call_said said = call_read(l, tid, &k, &t);
    if (k.gone)
        return k;
    if (t && said != CALL_BLOCKED)
        t->rests = false;
    switch (said) {
    case CALL_NONE:
        k.run.woke = l->woke;
        k.run.counted = sched_read(t, &k.run.first);
        if (!k.run.counted)
            k.run.first.run = clock_cpu_of_thread(tid);
        k.run.at = steady_ns();
        k.thread = t;
        return k;
    case CALL_BLOCKED:
        rest(&k, t);
        k.state = HOST_BLOCKED;
        break;
    case CALL_FAULT:
        k.state = HOST_BLOCKED;
        break;
    case CALL_ENDED:
        k.gone = true;
        break;
    case CALL_UNREADABLE:
        shut(l, "/proc/self/task/*/syscall cannot be read");
        break;
    }
    if (t)
        t->track.known = false;
    return k;
}

void looks_clock(struct look *k)
{
    if (!k->thread)
        return;
    k->run.clock_at = steady_ns();
    k->run.clock = clock_cpu_of_thread(k->thread->tid);
}

void looks_last(struct look *k)
{
    if (!k->thread || k->run.clock < 0 || k->run.first.run < 0)
        return;
    if (k->run.counted)
        k->run.counted = sched_read(k->thread, &k->run.last);
    k->state = state_run(&k->thread->track, &k->run);
}
