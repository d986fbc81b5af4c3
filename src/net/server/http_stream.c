/* http_stream.c - keeps listeners of a hub, under the hub's one lock.
 *
 * A listener whose queue is empty has its connection suspended; the next event resumes it. That,
 * the queues and the list of listeners are guarded by the hub's lock, so that a resumed connection
 * is always one that is there: a response is given up, and with it the listener, only while its
 * connection is not set aside. */
#include "net/server/http_stream.h"

#include "net/server/http_send.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/process/thread.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TOPIC_SIZE = 64, BLOCK = 16 << 10 };

struct http_hub {
    struct http_hub_config config;
    pthread_mutex_t lock;
    struct http_stream *first; /* guarded by lock, as all below */
    struct http_hub_load load;
    bool ended;
    struct wakeup stop;
    struct thread thread;
};

struct http_stream {
    struct http_hub *hub;
    struct http_stream *next, *prev; /* guarded by hub->lock, as all below */
    char topic[TOPIC_SIZE];
    struct buf queue; /* what waits, from `read` on */
    size_t read;
    uint64_t dropped;                  /* events lost since the listener got a "lost" */
    int64_t spoke;                     /* ns; when something was last queued */
    bool waiting;                      /* its connection is suspended */
    struct MHD_Connection *connection; /* once it is sent */
    atomic_uint_fast64_t *sent;
};

/* Lets the connection read; the lock is held. */
static void wake(struct http_stream *s)
{
    if (s->waiting) {
        s->waiting = false;
        MHD_resume_connection(s->connection);
    }
}

/* Makes room for n more bytes in the queue, by moving the waiting bytes to its start. */
static bool make_room(struct http_stream *s, size_t n)
{
    if (s->read) {
        memmove(s->queue.data, s->queue.data + s->read, s->queue.len - s->read);
        s->queue.len -= s->read;
        s->read = 0;
    }
    return n <= s->queue.max - s->queue.len && buf_reserve(&s->queue, n) == 0;
}

static void *beat(void *arg)
{
    struct http_hub *h = arg;
    while (!wakeup_wait(&h->stop, h->config.beat_ns / 2)) {
        int64_t now = clock_mono();
        pthread_mutex_lock(&h->lock);
        for (struct http_stream *s = h->first; s; s = s->next)
            if (s->connection && now - s->spoke >= h->config.beat_ns) {
                if (make_room(s, 3))
                    buf_str(&s->queue, ":\n\n");
                s->spoke = now;
                wake(s);
            }
        pthread_mutex_unlock(&h->lock);
    }
    return NULL;
}

int http_hub_open(struct http_hub **out, const struct http_hub_config *c, struct err *e)
{
    *out = NULL;
    struct http_hub *h = mem_zalloc(sizeof *h);
    if (!h)
        return err_nomem(e);
    h->config = *c;
    pthread_mutex_init(&h->lock, NULL);
    int rc = wakeup_init(&h->stop);
    if (rc == 0)
        rc = thread_start(&h->thread, "http-beat", 0, beat, h);
    if (rc) {
        http_hub_close(h);
        return err_set(e, rc, "cannot start the thread of the event streams");
    }
    *out = h;
    return 0;
}

void http_hub_end(struct http_hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->ended = true;
    for (struct http_stream *s = h->first; s; s = s->next)
        wake(s);
    pthread_mutex_unlock(&h->lock);
}

void http_hub_close(struct http_hub *h)
{
    if (!h)
        return;
    if (h->thread.running) {
        wakeup_signal(&h->stop);
        thread_join(&h->thread);
    }
    wakeup_fini(&h->stop);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

int http_stream_open(struct http_stream **out, struct http_hub *h, const char *topic)
{
    *out = NULL;
    struct http_stream *s = mem_zalloc(sizeof *s);
    if (!s)
        return GPUFL_E_NOMEM;
    s->hub = h;
    s->spoke = clock_mono();
    snprintf(s->topic, sizeof s->topic, "%s", topic);
    buf_init(&s->queue, h->config.queue);
    buf_str(&s->queue, "retry: 2000\n\n"); /* ms; the client sees at once that the stream is open */
    pthread_mutex_lock(&h->lock);
    int rc = h->ended ? GPUFL_E_STATE : h->load.listeners >= h->config.listeners ? GPUFL_E_FULL : 0;
    if (rc == 0) {
        s->next = h->first;
        if (h->first)
            h->first->prev = s;
        h->first = s;
        h->load.listeners++;
        h->load.opened++;
    }
    pthread_mutex_unlock(&h->lock);
    if (rc) {
        buf_fini(&s->queue);
        mem_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void http_stream_drop(struct http_stream *s)
{
    struct http_hub *h = s->hub;
    pthread_mutex_lock(&h->lock);
    if (s->prev)
        s->prev->next = s->next;
    else
        h->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    h->load.listeners--;
    pthread_mutex_unlock(&h->lock);
    buf_fini(&s->queue);
    mem_free(s);
}

void http_hub_publish(struct http_hub *h, const char *topic, const char *event, const char *data,
                      size_t len)
{
    size_t need = strlen(event) + len + 17; /* "event: " LF "data: " LF LF */
    pthread_mutex_lock(&h->lock);
    h->load.published++;
    for (struct http_stream *s = h->first; s; s = s->next) {
        if (strcmp(s->topic, topic) != 0)
            continue;
        if (!make_room(s, need)) {
            s->dropped++;
            h->load.dropped++;
            continue;
        }
        buf_printf(&s->queue, "event: %s\ndata: ", event);
        buf_put(&s->queue, data, len);
        buf_str(&s->queue, "\n\n");
        s->spoke = clock_mono();
        wake(s);
    }
    pthread_mutex_unlock(&h->lock);
}

struct http_hub_load http_hub_load(struct http_hub *h)
{
    pthread_mutex_lock(&h->lock);
    struct http_hub_load load = h->load;
    pthread_mutex_unlock(&h->lock);
    return load;
}

/* libmicrohttpd asks for bytes. */
static ssize_t stream_read(void *cls, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    struct http_stream *s = cls;
    struct http_hub *h = s->hub;
    ssize_t n = 0;
    pthread_mutex_lock(&h->lock);
    if (s->dropped && s->read == s->queue.len && make_room(s, 64)) {
        buf_printf(&s->queue, "event: lost\ndata: {\"events\":%" PRIu64 "}\n\n", s->dropped);
        s->dropped = 0;
    }
    size_t left = s->queue.len - s->read;
    if (left) {
        n = (ssize_t)(left < max ? left : max);
        memcpy(out, s->queue.data + s->read, (size_t)n);
        s->read += (size_t)n;
        atomic_fetch_add_explicit(s->sent, (uint64_t)n, memory_order_relaxed);
    } else if (h->ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->waiting = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&h->lock);
    return n;
}

static void stream_free(void *cls)
{
    http_stream_drop(cls);
}

struct MHD_Response *http_stream_response(struct http_stream *s, struct MHD_Connection *c,
                                          atomic_uint_fast64_t *sent)
{
    pthread_mutex_lock(&s->hub->lock);
    s->connection = c;
    s->sent = sent;
    pthread_mutex_unlock(&s->hub->lock);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, s, stream_free);
}
