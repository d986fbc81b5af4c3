/* other.c - is a library for Python programs: a thread that reads the program's other threads.
 *
 * The thread walks every registered thread at each tick, or without a pause, and counts stacks by
 * number and results by kind. A thread that has ended is no longer read. */
#include "stack/other/other.h"
#include "base/err.h"
#include "stack/stack.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* found by name, not by a header */

enum { THREADS = 256, RESULTS = STACK_OTHER_NO_MEMORY + 1 };

static struct {
    pthread_mutex_t lock;
    struct stack_other_thread threads[THREADS]; /* state 0: a free slot */
    atomic_bool stop;
    int64_t period; /* ns; 0: no pause */
    pthread_t sampler;
    struct stack_other *reader;
    _Atomic uint64_t results[RESULTS], samples;
    _Atomic uint32_t stacks[STACK_DISTINCT + 1];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

EXPORT const char *other_open(void)
{
    static struct err e;
    return stacks_open(true, &e) == 0 ? stacks_python() : e.text;
}

static int other_add(const struct stack_other_thread *t)
{
    int rc = -1;
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < THREADS && rc < 0; i++)
        if (!all.threads[i].state) {
            all.threads[i] = *t;
            rc = i;
        }
    pthread_mutex_unlock(&all.lock);
    return rc;
}

/* Registers the calling thread; returns its slot, or -1: Python does not know the thread, or there
 * are too many. */
EXPORT int other_register(void)
{
    struct stack_other_thread t;
    return stack_other_self(&t) ? other_add(&t) : -1;
}

/* Frees a slot whose thread is about to end. */
EXPORT void other_forget(int slot)
{
    pthread_mutex_lock(&all.lock);
    if (slot >= 0 && slot < THREADS)
        all.threads[slot].state = 0;
    pthread_mutex_unlock(&all.lock);
}

EXPORT int other_register_main(void)
{
    struct stack_other_thread t;
    return stack_other_main(&t) ? other_add(&t) : -1;
}

/* Returns 1 if the calling thread is the one that stack_other_main finds. */
EXPORT int other_is_main(void)
{
    struct stack_other_thread own, main;
    return stack_other_self(&own) && stack_other_main(&main) && own.state == main.state &&
           own.thread_id == main.thread_id;
}

static void sample_one(int slot)
{
    enum stack_other_result result;
    pthread_mutex_lock(&all.lock);
    struct stack_other_thread t = all.threads[slot];
    pthread_mutex_unlock(&all.lock);
    if (!t.state)
        return;
    uint64_t id = stack_other_walk(all.reader, &t, &result);
    all.results[result]++;
    if (id)
        all.stacks[id]++;
    all.samples++;
    if (result != STACK_OTHER_GONE)
        return;
    pthread_mutex_lock(&all.lock);
    if (all.threads[slot].state == t.state)
        all.threads[slot].state = 0;
    pthread_mutex_unlock(&all.lock);
}

/* Ticks are between half and one and a half periods apart, so that they do not fall into the rhythm
 * of the program. */
static void *sampler_run(void *arg)
{
    struct timespec next;
    unsigned seed = 12345;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!all.stop) {
        for (int i = 0; i < THREADS; i++)
            sample_one(i);
        if (!all.period)
            continue;
        int64_t at = next.tv_nsec + all.period / 2 + rand_r(&seed) % all.period;
        next.tv_sec += at / 1000000000;
        next.tv_nsec = at % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

/* Starts the sampler; returns its way of copying, or why there is none. */
EXPORT const char *other_start(int64_t period)
{
    sigset_t every, before;
    memset((void *)all.results, 0, sizeof(all.results));
    memset((void *)all.stacks, 0, sizeof(all.stacks));
    all.samples = 0;
    all.stop = false;
    all.period = period;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int rc = stack_other_open(&all.reader);
    bool started = rc == 0 && pthread_create(&all.sampler, NULL, sampler_run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started ? stack_other_how(all.reader) : rc == GPUFL_E_UNAVAILABLE ? "refused" : "failed";
}

/* Ends the sampler and frees all slots; returns its last way of copying. */
EXPORT const char *other_stop(void)
{
    all.stop = true;
    pthread_join(all.sampler, NULL);
    const char *how = stack_other_how(all.reader);
    stack_other_close(all.reader);
    memset(all.threads, 0, sizeof(all.threads));
    return how;
}

EXPORT uint64_t other_samples(void)
{
    return all.samples;
}

EXPORT uint64_t other_result(int result)
{
    return all.results[result];
}

EXPORT uint64_t other_count(uint32_t id)
{
    return id <= STACK_DISTINCT ? all.stacks[id] : 0;
}

EXPORT uint32_t other_distinct(void)
{
    struct stacks_stats stats;
    stacks_stats(&stats);
    return (uint32_t)stats.distinct;
}

/* Writes a line for each frame, innermost first: "number name file line first-line" or "mark text".
 * Returns the depth. */
EXPORT unsigned other_text(uint32_t id, char *to, size_t size)
{
    const struct stack *s = stacks_get(id);
    size_t n = 0;
    to[0] = 0;
    for (unsigned i = 0; s && i < s->depth && n < size; i++) {
        const struct stack_place *p = &s->places[i];
        if (p->kind == STACK_PYTHON)
            n += (size_t)snprintf(to + n, size - n, "%u\t%s\t%s\t%d\t%d\n", p->code->number,
                                  p->code->name, p->code->file, p->line, p->code->first_line);
        else if (p->kind == STACK_MARK)
            n += (size_t)snprintf(to + n, size - n, "mark\t%s\n", p->mark);
    }
    return s ? s->depth : 0;
}

/* The calling thread captures its own stack. */
EXPORT uint32_t other_capture(void)
{
    uint32_t id = stacks_capture(NULL);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return id;
}

/* In a forked child the calling thread walks itself, since the sampler is gone. Returns 0 if it got
 * a stack. */
EXPORT int other_in_child(void)
{
    struct stack_other_thread t;
    enum stack_other_result result;
    sigset_t every, before;
    sigfillset(&every);
    stacks_forget();
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int rc = !stack_other_self(&t)                              ? 1
             : !stack_other_walk(all.reader, &t, &result)       ? 10 + (int)result
             : strcmp(stack_other_how(all.reader), "none") == 0 ? 3
                                                                : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* From now on these system calls fail with EPERM, in all threads. `what` has the letters m for
 * memfd_create, w for pwritev, p for a pipe's writev, r for process_vm_readv. Returns 0 if done. */
EXPORT int other_forbid(const char *what)
{
    static const struct {
        char letter;
        unsigned call;
    } calls[] = {{'m', SYS_memfd_create},
                 {'w', SYS_pwritev},
                 {'p', SYS_writev},
                 {'r', SYS_process_vm_readv}};
    struct sock_filter code[16] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short n = 1;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strchr(what, calls[i].letter)) {
            code[n++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].call, 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
        }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* Gets the us of a walk of a registered thread that waits: least, median and nine tenths. */
EXPORT void other_time(int slot, double out[3])
{
    enum { WALKS = 20000 };
    static double us[WALKS];
    enum stack_other_result result;
    struct stack_other *o;
    if (stack_other_open(&o) != 0)
        return;
    for (int i = 0; i < WALKS; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        stack_other_walk(o, &all.threads[slot], &result);
        clock_gettime(CLOCK_MONOTONIC, &end);
        us[i] =
            (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
    }
    stack_other_close(o);
    qsort(us, WALKS, sizeof(us[0]), ascending);
    out[0] = us[0];
    out[1] = us[WALKS / 2];
    out[2] = us[WALKS * 9 / 10];
}
