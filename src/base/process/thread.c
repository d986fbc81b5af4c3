/* thread.c - starts threads that the traced program does not notice.
 *
 * Signals are blocked before pthread_create, so that they are blocked in the new thread's
 * first instructions, too: the program's handlers run on the program's threads only. On
 * Linux the niceness is per thread; the thread sets its own, because it knows its kernel id.
 *
 * A thread inherits the floating-point environment of its creator, and the program may
 * have turned traps on. Our threads set the default environment before anything
 * else, so that an inexact division of ours does not end the program with SIGFPE. */
#include "base/process/thread.h"

#include "base/alloc.h"
#include "base/err.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Holds the arguments of the new thread, which frees them. */
struct start {
    char name[16];       /* with NUL, the kernel's limit */
    int nice;            /* added */
    void *(*fn)(void *); /* its main function */
    void *arg;           /* of fn */
};

/* The model is initial-exec: one load instead of a call into the dynamic linker per use. */
static __thread int32_t cached_id __attribute__((tls_model("initial-exec")));

static __thread bool ours;

bool thread_is_ours(void)
{
    return ours;
}

int32_t thread_id(void)
{
    if (__builtin_expect(cached_id == 0, 0))
        cached_id = (int32_t)syscall(SYS_gettid);
    return cached_id;
}

void thread_id_forget(void)
{
    cached_id = 0;
}

static void thread_be_nice(int by)
{
    id_t self = (id_t)thread_id();
    errno = 0;
    int now = getpriority(PRIO_PROCESS, self);
    if (now == -1 && errno)
        return;
    setpriority(PRIO_PROCESS, self, now + by);
}

static void *thread_main(void *p)
{
    fesetenv(FE_DFL_ENV);
    struct start start = *(struct start *)p;
    mem_free(p);
    ours = true;
    pthread_setname_np(pthread_self(), start.name);
    if (start.nice > 0)
        thread_be_nice(start.nice);
    return start.fn(start.arg);
}

enum { STACK_LEAST = 1 << 20 }; /* bytes */

/* Lists signals that a thread's own instructions raise. Blocking them would end the process all the
 * same, without the program's crash handler. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/* The default is the program's `ulimit -s`, which may be too little for us. */
static int create(pthread_t *handle, struct start *start)
{
    pthread_attr_t attr;
    size_t size;
    int rc = pthread_attr_init(&attr);
    if (rc)
        return rc;
    if (pthread_attr_getstacksize(&attr, &size) == 0 && size < STACK_LEAST)
        rc = pthread_attr_setstacksize(&attr, STACK_LEAST);
    rc = rc ? rc : pthread_create(handle, &attr, thread_main, start);
    pthread_attr_destroy(&attr);
    return rc;
}

int thread_start(struct thread *t, const char *name, int nice, void *(*fn)(void *), void *arg)
{
    t->running = false;
    struct start *start = mem_zalloc(sizeof *start);
    if (!start)
        return GPUFL_E_NOMEM;
    snprintf(start->name, sizeof start->name, "%s", name);
    start->nice = nice;
    start->fn = fn;
    start->arg = arg;

    sigset_t all, old;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = create(&t->handle, start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        mem_free(start);
        return rc == EAGAIN ? GPUFL_E_NOMEM : err_from_errno(rc);
    }
    t->running = true;
    return 0;
}

/* A lack of memory and a lack of threads give the same errno. */
const char *thread_refusal(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "the system refuses gpufl a thread: the program's memory is limited (ulimit -v), or "
               "its "
               "threads are (ulimit -u, or pids.max of its container); raise that limit";
    return "the system refuses gpufl a thread: the limit of processes and threads is reached "
           "(ulimit -u, "
           "or pids.max of the container); raise it";
}

void thread_join(struct thread *t)
{
    if (!t->running)
        return;
    pthread_join(t->handle, NULL);
    t->running = false;
}

int wakeup_init(struct wakeup *w)
{
    w->set = false;
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    if (rc)
        return err_from_errno(rc);
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!rc)
        rc = pthread_cond_init(&w->cond, &attr);
    pthread_condattr_destroy(&attr);
    if (rc)
        return err_from_errno(rc);
    rc = pthread_mutex_init(&w->lock, NULL);
    if (rc)
        pthread_cond_destroy(&w->cond);
    return err_from_errno(rc);
}

void wakeup_fini(struct wakeup *w)
{
    pthread_cond_destroy(&w->cond);
    pthread_mutex_destroy(&w->lock);
}

void wakeup_signal(struct wakeup *w)
{
    pthread_mutex_lock(&w->lock);
    w->set = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->lock);
}

static struct timespec deadline_after(int64_t ns)
{
    enum { FAR = 1000000000 }; /* seconds: beyond any process, within any time_t */
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    if (ns / 1000000000 > FAR)
        ns = (int64_t)FAR * 1000000000;
    ts.tv_sec += (time_t)(ns / 1000000000);
    ts.tv_nsec += (long)(ns % 1000000000);
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_nsec -= 1000000000;
        ts.tv_sec++;
    }
    return ts;
}

bool wakeup_wait(struct wakeup *w, int64_t timeout_ns)
{
    struct timespec deadline = {0};
    if (timeout_ns >= 0)
        deadline = deadline_after(timeout_ns);
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (!w->set && rc != ETIMEDOUT)
        rc = timeout_ns < 0 ? pthread_cond_wait(&w->cond, &w->lock)
                            : pthread_cond_timedwait(&w->cond, &w->lock, &deadline);
    bool was_set = w->set;
    w->set = false;
    pthread_mutex_unlock(&w->lock);
    return was_set;
}
