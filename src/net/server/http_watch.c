/* http_watch.c - ends connections that take too long.
 *
 * libmicrohttpd ends connections that bring no byte for a while. One byte in time
 * is enough for it, so that a few hundred clients that drip their headers could
 * hold every connection there is. Here a header has a deadline as a whole, and a
 * body must bring a least number of bytes in every window, unless it is us who do
 * not read.
 *
 * A client that ends its side in the middle of a request is not seen by libmicrohttpd where that
 * comes right after bytes: it reads those, and waits for another event. So a client that has
 * ended its side while we expect something is looked for here, and its socket is made to report
 * once more. What it sent before is read first, and an answer in work goes out.
 *
 * A connection is ended by shutting its socket down: its own thread then sees the end and cleans
 * up. This file learns of that before the socket is closed, so that under the lock a descriptor
 * is always the connection's own. */
#include "net/server/http_inside.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <poll.h>
#include <sys/socket.h>

enum { AT_ONCE = 64 }; /* connections in one poll */

static const int64_t LOOK_NS = 500000000;

static const int64_t QUIET_NS = 1000000000;

/* Returns true if a connection must end now; a body's window with enough bytes begins again. While
 * the server ends, a silent client has a second: one that left in the middle of a body may not be
 * noticed otherwise (its end comes with the bytes before it, and libmicrohttpd waits for another
 * event). */
static bool overdue(const struct http_server *s, struct http_conn *conn, int64_t now)
{
    const struct http_config *c = &s->config;
    int64_t age = now - conn->since;
    bool quiet = atomic_load_explicit(&s->quiet, memory_order_relaxed);
    if (quiet && conn->state != CONN_WORKING && age > QUIET_NS && conn->bytes == 0)
        return true;
    switch (conn->state) {
    case CONN_FRESH:
        return age > c->header_ns;
    case CONN_IDLE:
        return age > c->idle_ns + c->header_ns;
    case CONN_BODY:
        if (age <= (quiet ? QUIET_NS : c->body_ns))
            return false;
        if (!quiet && conn->bytes < c->body_least)
            return true;
        conn->since = now;
        conn->bytes = 0;
        return false;
    case CONN_WORKING:
        break;
    }
    return false;
}

/* To shut down a side that the other end has shut down changes nothing, but causes an event. */
static void shut_ended(struct pollfd *fds, nfds_t n)
{
    if (poll(fds, n, 0) <= 0)
        return;
    for (nfds_t i = 0; i < n; i++)
        if (fds[i].revents & POLLRDHUP)
            shutdown(fds[i].fd, SHUT_RD);
}

/* Finds clients that will send no more, where more is awaited. The lock is held. */
static void look_for_ends(struct http_watch *w)
{
    struct pollfd fds[AT_ONCE];
    nfds_t n = 0;
    for (struct http_conn *c = w->first; c; c = c->next) {
        if (c->ended || c->state == CONN_WORKING)
            continue;
        fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLRDHUP};
        if (n == AT_ONCE) {
            shut_ended(fds, n);
            n = 0;
        }
    }
    shut_ended(fds, n);
}

static void look(struct http_server *s)
{
    struct http_watch *w = &s->watch;
    int64_t now = clock_mono();
    pthread_mutex_lock(&w->lock);
    look_for_ends(w);
    for (struct http_conn *c = w->first; c; c = c->next)
        if (!c->ended && overdue(s, c, now)) {
            shutdown(c->fd, SHUT_RDWR);
            c->ended = true;
            w->slow++;
        }
    pthread_mutex_unlock(&w->lock);
}

void http_watch_cut(struct http_server *s)
{
    struct http_watch *w = &s->watch;
    pthread_mutex_lock(&w->lock);
    for (struct http_conn *c = w->first; c; c = c->next) {
        shutdown(c->fd, SHUT_RDWR);
        c->ended = true;
    }
    pthread_mutex_unlock(&w->lock);
}

static void *watch_run(void *arg)
{
    struct http_server *s = arg;
    while (!wakeup_wait(&s->watch.stop, LOOK_NS))
        look(s);
    return NULL;
}

int http_watch_open(struct http_server *s, struct err *e)
{
    pthread_mutex_init(&s->watch.lock, NULL);
    int rc = wakeup_init(&s->watch.stop);
    if (rc == 0)
        rc = thread_start(&s->watch.thread, "http-watch", 0, watch_run, s);
    return rc ? err_set(e, rc, "cannot start the thread that watches connections") : 0;
}

void http_watch_close(struct http_server *s)
{
    if (s->watch.thread.running) {
        wakeup_signal(&s->watch.stop);
        thread_join(&s->watch.thread);
    }
    wakeup_fini(&s->watch.stop);
    pthread_mutex_destroy(&s->watch.lock);
}

static void begin(struct http_server *s, struct MHD_Connection *c, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_conn *conn = info ? mem_zalloc(sizeof *conn) : NULL;
    *context = conn;
    if (!conn)
        return; /* its first request is then refused */
    conn->fd = info->connect_fd;
    conn->since = clock_mono();
    struct http_watch *w = &s->watch;
    pthread_mutex_lock(&w->lock);
    conn->next = w->first;
    if (w->first)
        w->first->prev = conn;
    w->first = conn;
    w->count++;
    pthread_mutex_unlock(&w->lock);
}

static void end(struct http_server *s, struct http_conn *conn)
{
    struct http_watch *w = &s->watch;
    pthread_mutex_lock(&w->lock);
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        w->first = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    w->count--;
    pthread_mutex_unlock(&w->lock);
    mem_free(conn);
}

void http_watch_notify(void *cls, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        begin(s, c, context);
    } else if (*context) {
        end(s, *context);
        *context = NULL;
    }
}

void http_watch_state(struct http_server *s, struct http_conn *c, enum conn_state state)
{
    int64_t now = clock_mono();
    pthread_mutex_lock(&s->watch.lock);
    c->state = state;
    c->since = now;
    c->bytes = 0;
    pthread_mutex_unlock(&s->watch.lock);
}

void http_watch_bytes(struct http_server *s, struct http_conn *c, size_t n)
{
    pthread_mutex_lock(&s->watch.lock);
    c->bytes += n;
    pthread_mutex_unlock(&s->watch.lock);
}
