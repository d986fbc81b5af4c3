/* workers.c - keeps a ring of jobs under one lock. Jobs take milliseconds: one lock is no
 * bottleneck. */
#include "net/server/workers.h"

#include "base/alloc.h"
#include "base/process/thread.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS_MAX = 256 };

struct job {
    void (*fn)(void *arg);
    void *arg;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t more; /* a job has come, or the end */
    struct job *jobs;    /* owned; guarded by lock, as all below */
    size_t first, count, room;
    unsigned busy;
    bool ending;
    struct thread *threads; /* owned */
    unsigned thread_count;
};

static void *work(void *arg)
{
    struct workers *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->count == 0 && !w->ending)
            pthread_cond_wait(&w->more, &w->lock);
        if (w->count == 0)
            break;
        struct job job = w->jobs[w->first];
        w->first = (w->first + 1) % w->room;
        w->count--;
        w->busy++;
        pthread_mutex_unlock(&w->lock);
        job.fn(job.arg);
        pthread_mutex_lock(&w->lock);
        w->busy--;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_open(struct workers **out, const char *name, unsigned threads, size_t queue,
                 struct err *e)
{
    *out = NULL;
    if (threads == 0 || threads > THREADS_MAX || queue == 0)
        return err_set(e, GPUFL_E_INVAL, "between 1 and %d worker threads are possible, not %u",
                       THREADS_MAX, threads);
    struct workers *w = mem_zalloc(sizeof *w);
    if (!w)
        return err_nomem(e);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    w->room = queue;
    w->jobs = mem_array(queue, sizeof *w->jobs);
    w->threads = mem_array(threads, sizeof *w->threads);
    int rc = w->jobs && w->threads ? 0 : err_nomem(e);
    for (unsigned i = 0; i < threads && rc == 0; i++) {
        char text[24];
        snprintf(text, sizeof text, "%.11s-%u", name, i % 1000);
        rc = thread_start(&w->threads[i], text, 0, work, w);
        if (rc)
            err_set(e, rc, "cannot start the %uth worker thread", i + 1);
        else
            w->thread_count++;
    }
    if (rc) {
        workers_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void workers_close(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->thread_count; i++)
        thread_join(&w->threads[i]);
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    mem_free(w->threads);
    mem_free(w->jobs);
    mem_free(w);
}

bool workers_submit(struct workers *w, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&w->lock);
    bool taken = !w->ending && w->count < w->room;
    if (taken) {
        w->jobs[(w->first + w->count) % w->room] = (struct job){fn, arg};
        w->count++;
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
    return taken;
}

struct workers_load workers_load(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    struct workers_load load = {
        .threads = w->thread_count, .busy = w->busy, .waiting = w->count, .room = w->room};
    pthread_mutex_unlock(&w->lock);
    return load;
}
