/* fd_thread.c - see fd_thread.h. */
#include "base/process/fd_thread.h"

#include "base/process/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held by the caller whose job runs */
static struct thread thread;                             /* guarded by lock, like all below */
static sem_t asked, done;
static void (*job)(void *arg); /* NULL: the end */
static void *job_arg;
static _Atomic int32_t own_tid; /* relaxed; 0: there is no thread */
static bool has_table;          /* the thread's answer, valid after its first post of done */

/* Closes all descriptors, for kernels before Linux 5.9. */
static bool close_all(void)
{
    DIR *dir = opendir("/proc/thread-self/fd");
    if (!dir)
        return false;
    int own = dirfd(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = atoi(entry->d_name); /* "." and ".." give 0, which is to be closed, too */
        if (fd != own)
            close(fd);
    }
    closedir(dir);
    return true;
}

bool fd_thread_own_table(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#endif
    /* Containers allow this flag, but not unshare(2). */
    if (syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE) != 0 &&
        (unshare(CLONE_FILES) != 0 || !close_all()))
        return false;
    for (int fd = 0; fd >= 0 && fd < STDERR_FILENO;)
        fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return true;
}

static void await(sem_t *s)
{
    while (sem_wait(s) && errno == EINTR)
        continue;
}

static void *fd_thread_main(void *unused)
{
    (void)unused;
    has_table = fd_thread_own_table();
    atomic_store_explicit(&own_tid, thread_id(), memory_order_relaxed);
    sem_post(&done);
    for (;;) {
        await(&asked);
        if (!job)
            return NULL;
        job(job_arg);
        sem_post(&done);
    }
}

/* Caller holds the lock. */
static void stop(void)
{
    job = NULL;
    sem_post(&asked);
    thread_join(&thread);
    atomic_store_explicit(&own_tid, 0, memory_order_relaxed);
    sem_destroy(&asked);
    sem_destroy(&done);
}

bool fd_thread_start(void)
{
    pthread_mutex_lock(&lock);
    if (!thread.running && sem_init(&asked, 0, 0) == 0 && sem_init(&done, 0, 0) == 0 &&
        thread_start(&thread, FD_THREAD_NAME, 0, fd_thread_main, NULL) == 0) {
        await(&done);
        if (!has_table)
            stop();
    }
    bool runs = thread.running;
    pthread_mutex_unlock(&lock);
    return runs;
}

void fd_thread_stop(void)
{
    pthread_mutex_lock(&lock);
    if (thread.running)
        stop();
    pthread_mutex_unlock(&lock);
}

void fd_thread_run(void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    if (thread.running) {
        job = fn;
        job_arg = arg;
        sem_post(&asked);
        await(&done);
    } else {
        fn(arg);
    }
    pthread_mutex_unlock(&lock);
}

int64_t fd_thread_cpu_ns(void)
{
    struct timespec t = {0};
    clockid_t clock;
    pthread_mutex_lock(&lock);
    if (!thread.running || pthread_getcpuclockid(thread.handle, &clock) != 0 ||
        clock_gettime(clock, &t) != 0)
        t = (struct timespec){0};
    pthread_mutex_unlock(&lock);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int32_t fd_thread_id(void)
{
    return atomic_load_explicit(&own_tid, memory_order_relaxed);
}

void fd_thread_forget(void)
{
    atomic_store_explicit(&own_tid, 0, memory_order_relaxed);
    pthread_mutex_init(&lock, NULL);
    thread.running = false;
}
