/* earlier_calls.c - see earlier_calls.h. */
#include "backend/nvidia/life/earlier_calls.h"

#include "base/clock.h"
#include "base/process/thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 1024 };
static const int64_t RUN = 5000000; /* ns of processor time within which any launch returns */

static struct {
    pthread_mutex_t lock; /* guards what follows */
    struct {
        int32_t tid;
        int64_t ran;    /* ns of processor time at that moment */
    } threads[THREADS]; /* threads whose calls may not have returned */
    size_t count;
    _Atomic bool some; /* relaxed: there are any */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

void earlier_calls_begin(void)
{
    DIR *tasks = opendir("/proc/self/task");
    pthread_mutex_lock(&me.lock);
    me.count = 0;
    for (struct dirent *e; tasks && me.count < THREADS && (e = readdir(tasks));) {
        int32_t tid = (int32_t)strtol(e->d_name, NULL, 10);
        int64_t ran = tid > 0 && tid != thread_id() ? clock_cpu_of_thread(tid) : -1;
        if (ran < 0)
            continue;
        me.threads[me.count].tid = tid;
        me.threads[me.count++].ran = ran;
    }
    atomic_store_explicit(&me.some, me.count > 0, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
    if (tasks)
        closedir(tasks);
}

/* Returns true if the thread is running or waits for a processor, and is not a thread of gpufl.
 * False also if that is unknown. */
static bool can_run(int32_t tid)
{
    char path[48], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name = strchr(text, '('), *after = strrchr(text, ')');
    return name && after && strncmp(name, "(gpufl", 6) != 0 && strncmp(after, ") R", 3) == 0;
}

bool earlier_calls_returned(void)
{
    if (!atomic_load_explicit(&me.some, memory_order_relaxed))
        return true;
    int32_t own = thread_id(); /* it is in this function, so in none of these calls */
    pthread_mutex_lock(&me.lock);
    for (size_t i = me.count; i-- > 0;) {
        int64_t ran = clock_cpu_of_thread(me.threads[i].tid);
        if (me.threads[i].tid == own || ran < 0 || ran - me.threads[i].ran >= RUN ||
            !can_run(me.threads[i].tid))
            me.threads[i] = me.threads[--me.count];
    }
    bool none = me.count == 0;
    atomic_store_explicit(&me.some, !none, memory_order_relaxed);
    pthread_mutex_unlock(&me.lock);
    return none;
}
