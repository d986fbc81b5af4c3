/* http_pipe.c - has one buffer between a worker that writes and a connection that sends. */
#include "net/server/http_pipe.h"

#include "net/server/http_send.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { ROOM = 256 << 10, BLOCK = 32 << 10 };

struct http_pipe {
    struct workers *workers;
    int64_t patience_ns;
    int (*produce)(void *arg, struct http_pipe *p);
    void (*done)(void *arg);
    void *arg;
    struct MHD_Connection *connection;
    atomic_uint_fast64_t *sent;
    pthread_mutex_t lock;
    pthread_cond_t space; /* there is room, or the reader has gone */
    struct buf buf;       /* guarded by lock, as all below */
    size_t read;
    bool started, waiting, gone;
    bool finished;
    int code; /* of produce */
};

static void pipe_free(struct http_pipe *p)
{
    if (p->done)
        p->done(p->arg);
    buf_fini(&p->buf);
    pthread_cond_destroy(&p->space);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

int http_pipe_open(struct http_pipe **out, struct workers *w, int64_t patience_ns,
                   int (*produce)(void *arg, struct http_pipe *p), void (*done)(void *arg),
                   void *arg)
{
    struct http_pipe *p = *out = mem_zalloc(sizeof *p);
    if (!p)
        return GPUFL_E_NOMEM;
    p->workers = w;
    p->patience_ns = patience_ns;
    p->produce = produce;
    p->done = done;
    p->arg = arg;
    buf_init(&p->buf, ROOM);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->space, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&p->lock, NULL);
    return 0;
}

void http_pipe_drop(struct http_pipe *p)
{
    pipe_free(p);
}

static void wake(struct http_pipe *p)
{
    if (p->waiting) {
        p->waiting = false;
        MHD_resume_connection(p->connection);
    }
}

/* Waits until there is room, for patience_ns at most; the lock is held. */
static int wait_for_room(struct http_pipe *p)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(p->patience_ns / 1000000000);
    int rc = 0;
    while (!p->gone && p->buf.len == p->buf.max && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&p->space, &p->lock, &until);
    if (p->gone)
        return GPUFL_E_STATE;
    return p->buf.len == p->buf.max ? GPUFL_E_TIMEOUT : 0;
}

int http_pipe_write(struct http_pipe *p, const void *data, size_t n)
{
    const char *at = data;
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    while (n && rc == 0) {
        rc = wait_for_room(p);
        if (rc)
            break;
        size_t room = p->buf.max - p->buf.len, part = n < room ? n : room;
        buf_put(&p->buf, at, part);
        rc = buf_error(&p->buf);
        at += part;
        n -= part;
        wake(p);
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static void run(void *arg)
{
    struct http_pipe *p = arg;
    int rc = p->produce(p->arg, p);
    pthread_mutex_lock(&p->lock);
    p->finished = true;
    p->code = rc;
    bool gone = p->gone;
    if (!gone)
        wake(p);
    pthread_mutex_unlock(&p->lock);
    if (gone)
        pipe_free(p);
}

/* libmicrohttpd asks for bytes. */
static ssize_t pipe_read(void *cls, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    struct http_pipe *p = cls;
    ssize_t n = 0;
    pthread_mutex_lock(&p->lock);
    if (!p->started) {
        p->started = workers_submit(p->workers, run, p);
        p->finished = !p->started;
        p->code = p->started ? 0 : GPUFL_E_BUSY;
    }
    size_t left = p->buf.len - p->read;
    if (left) {
        n = (ssize_t)(left < max ? left : max);
        memcpy(out, p->buf.data + p->read, (size_t)n);
        p->read += (size_t)n;
        atomic_fetch_add_explicit(p->sent, (uint64_t)n, memory_order_relaxed);
        if (p->read == p->buf.len) {
            p->read = p->buf.len = 0;
            pthread_cond_signal(&p->space);
        }
    } else if (p->finished) {
        n = p->code ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        p->waiting = true;
        MHD_suspend_connection(p->connection);
    }
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* The response is dropped: the producer, if it runs, frees the rest when it notices. */
static void pipe_gone(void *cls)
{
    struct http_pipe *p = cls;
    pthread_mutex_lock(&p->lock);
    bool running = p->started && !p->finished;
    p->gone = true;
    pthread_cond_signal(&p->space);
    pthread_mutex_unlock(&p->lock);
    if (!running)
        pipe_free(p);
}

struct MHD_Response *http_pipe_response(struct http_pipe *p, struct MHD_Connection *c,
                                        atomic_uint_fast64_t *sent)
{
    p->connection = c;
    p->sent = sent;
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, pipe_read, p, pipe_gone);
}
