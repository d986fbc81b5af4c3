/* metrics_page.c - see metrics_page.h: the connections and their thread. */
#include "net/server/metrics_page.h"

#include "base/alloc.h"
#include "base/process/thread.h"
#include "net/server/listen.h"
#include "net/server/metrics_request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 32, PAGE_MOST = 8 << 20, HEAD_ROOM = 512 };

static const int64_t SECOND = 1000000000;
static const int64_t HEAD_NS = 10 * SECOND;   /* for the head of a request */
static const int64_t ANSWER_NS = 30 * SECOND; /* for reading the answer */
static const int64_t LEAVE_NS = SECOND;       /* for hanging up after the answer */
static const int64_t REST_NS = SECOND / 10;   /* without descriptors, until the next try */

/* LEAVES: the answer was sent. The server waits for the client's end, since closing with unread
 * bytes would destroy the answer of a client that sent more than a head. */
enum asker_state { RECEIVES, ANSWERS, LEAVES };

struct asker {
    int fd; /* -1: free */
    enum asker_state state;
    int64_t until;     /* steady ns: the connection ends then */
    struct buf answer; /* head and body; owned in ANSWERS */
    size_t sent;       /* bytes of it */
    size_t len;        /* bytes of the request */
    char head[METRICS_HEAD_MOST];
};

/* Holds all but end, address and port belong to the thread while it runs. */
struct metrics_page {
    struct metrics_page_config config;
    char address[128];
    uint16_t port;
    int listener, end; /* end: an eventfd; -1: none */
    struct thread thread;
    int64_t rest_until; /* steady ns until which no connection is taken */
    struct asker askers[CONNECTIONS];
};

static int64_t steady(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- answers [thread] ------------------------------------------------------------------------ */

/* Makes the body; returns the status. */
static int make_body(const struct metrics_page *p, const struct metrics_request *r,
                     struct buf *body)
{
    int status = r->status;
    if (status != 200)
        buf_printf(body, "%s\n", metrics_status_advice(status));
    else if (r->target == METRICS_SAMPLES)
        p->config.fill(p->config.arg, body);
    else if (!p->config.health(p->config.arg, body))
        status = 503;
    if (!buf_error(body))
        return status;
    buf_clear(body);
    buf_printf(body, "%s\n", metrics_status_advice(503));
    return 503;
}

static const char *type_of(const struct metrics_page *p, const struct metrics_request *r)
{
    if (r->status == 200 && r->target == METRICS_SAMPLES)
        return "text/plain; version=0.0.4; charset=utf-8";
    return r->status == 200 ? p->config.health_type : "text/plain; charset=utf-8";
}

static void make_answer(const struct metrics_page *p, struct asker *k,
                        const struct metrics_request *r)
{
    char date[64];
    time_t now = time(NULL);
    struct tm utc;
    struct buf body;
    buf_init(&body, PAGE_MOST);
    int status = make_body(p, r, &body);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    buf_init(&k->answer, PAGE_MOST + HEAD_ROOM);
    buf_printf(&k->answer,
               "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "%sConnection: close\r\n\r\n",
               status, metrics_status_text(status), date, type_of(p, r), body.len,
               status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (!r->head)
        buf_put(&k->answer, body.data, body.len);
    buf_fini(&body);
}

/* ---- a connection [thread] ------------------------------------------------------------------- */

static void hang_up(struct asker *k)
{
    if (k->fd >= 0)
        close(k->fd);
    buf_fini(&k->answer);
    k->fd = -1;
}

static void answer(struct asker *k, int64_t now)
{
    while (k->sent < k->answer.len) {
        ssize_t n = send(k->fd, k->answer.data + k->sent, k->answer.len - k->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            hang_up(k);
            return;
        }
        k->sent += (size_t)n;
    }
    buf_fini(&k->answer);
    shutdown(k->fd, SHUT_WR);
    k->state = LEAVES;
    k->until = now + LEAVE_NS;
}

static void receive(const struct metrics_page *p, struct asker *k, int64_t now)
{
    ssize_t n = recv(k->fd, k->head + k->len, sizeof k->head - k->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(k);
        return;
    }
    k->len += (size_t)n;
    struct metrics_request r = metrics_request_read(k->head, k->len);
    if (!r.status)
        return;
    make_answer(p, k, &r);
    if (buf_error(&k->answer)) { /* no memory for the head, either */
        hang_up(k);
        return;
    }
    k->state = ANSWERS;
    k->until = now + ANSWER_NS;
    answer(k, now);
}

static void leave(struct asker *k)
{
    ssize_t n = recv(k->fd, k->head, sizeof k->head, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        hang_up(k);
}

static void go_on(const struct metrics_page *p, struct asker *k, int64_t now)
{
    if (k->state == RECEIVES)
        receive(p, k, now);
    else if (k->state == ANSWERS)
        answer(k, now);
    else
        leave(k);
}

/* Returns a free place, or that of the connection that would end next. */
static struct asker *find_place(struct metrics_page *p)
{
    struct asker *next = &p->askers[0];
    for (int i = 0; i < CONNECTIONS; i++) {
        struct asker *k = &p->askers[i];
        if (k->fd < 0)
            return k;
        if (k->until < next->until)
            next = k;
    }
    hang_up(next);
    return next;
}

static void take_connection(struct metrics_page *p, int64_t now)
{
    int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            p->rest_until = now + REST_NS;
        return;
    }
    struct asker *k = find_place(p);
    k->fd = fd;
    k->state = RECEIVES;
    k->until = now + p->config.head_ns;
    k->len = k->sent = 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Fills in the descriptors to wait for: end, the listener, then each place. Returns the time limit
 * in ms, -1: none. */
static int wait_for(const struct metrics_page *p, struct pollfd *fds, int64_t now)
{
    bool rests = p->rest_until > now;
    int64_t until = rests ? p->rest_until : INT64_MAX;
    fds[0] = (struct pollfd){.fd = p->end, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = rests ? -1 : p->listener, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct asker *k = &p->askers[i];
        fds[i + 2] = (struct pollfd){.fd = k->fd, .events = k->state == ANSWERS ? POLLOUT : POLLIN};
        if (k->fd >= 0 && k->until < until)
            until = k->until;
    }
    if (until == INT64_MAX)
        return -1;
    return until > now ? (int)((until - now) / (SECOND / 1000)) + 1 : 0;
}

static void *serve(void *arg)
{
    struct metrics_page *p = arg;
    struct pollfd fds[CONNECTIONS + 2];
    for (;;) {
        int ready = poll(fds, CONNECTIONS + 2, wait_for(p, fds, steady()));
        /* No memory, or a limit of descriptors that is too low. */
        if (ready < 0 && errno != EINTR)
            ready = poll(fds, 1, (int)(REST_NS / (SECOND / 1000)));
        if (ready > 0 && fds[0].revents)
            break;
        if (ready <= 0)
            memset(fds, 0, sizeof fds); /* no descriptor's state is known; only deadlines count */
        int64_t now = steady();
        for (int i = 0; i < CONNECTIONS; i++) {
            struct asker *k = &p->askers[i];
            if (k->fd >= 0 && fds[i + 2].revents)
                go_on(p, k, now);
            if (k->fd >= 0 && k->until <= now)
                hang_up(k);
        }
        if (fds[1].revents)
            take_connection(p, now);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        hang_up(&p->askers[i]);
    return NULL;
}

/* ---- the owner ------------------------------------------------------------------------------- */

int metrics_page_open(struct metrics_page **out, const struct metrics_page_config *c, struct err *e)
{
    *out = NULL;
    struct metrics_page *p = mem_zalloc(sizeof *p);
    if (!p)
        return err_nomem(e);
    p->config = *c;
    if (p->config.head_ns <= 0)
        p->config.head_ns = HEAD_NS;
    p->listener = p->end = -1;
    for (int i = 0; i < CONNECTIONS; i++)
        p->askers[i].fd = -1;
    int rc = listen_parse(c->listen, p->address, sizeof p->address, &p->port, e);
    if (!rc)
        rc = listen_open(p->address, &p->port, &p->listener, e);
    if (!rc) {
        p->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (p->end < 0)
            rc = err_set_vendor(e, err_from_errno(errno), errno, "no descriptor for the page");
    }
    if (!rc && thread_start(&p->thread, "gpufl-page", 0, serve, p))
        rc = err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal());
    if (rc) {
        metrics_page_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void metrics_page_url(const struct metrics_page *p, char *out, size_t size)
{
    bool v6 = strchr(p->address, ':') != NULL;
    snprintf(out, size, "http://%s%s%s:%u", v6 ? "[" : "", p->address, v6 ? "]" : "", p->port);
}

void metrics_page_close(struct metrics_page *p)
{
    if (!p)
        return;
    if (p->thread.running) {
        uint64_t one = 1;
        ssize_t n;
        do
            n = write(p->end, &one, sizeof one);
        while (n < 0 && errno == EINTR);
        thread_join(&p->thread);
    }
    if (p->listener >= 0)
        close(p->listener);
    if (p->end >= 0)
        close(p->end);
    mem_free(p);
}
