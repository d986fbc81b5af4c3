/* http_request.c - handles the life of a request: libmicrohttpd's callbacks.
 *
 *   line     its target has been read: the request is created
 *   access   headers are there (begin), then pieces of a body, then its end, then,
 *            when a worker has made the answer, once more to take it
 *   done     the answer is out, or the connection is gone
 *
 * libmicrohttpd takes an answer only before the body or after all of it, and one
 * given before ends the connection in a way that may cost the client the answer.
 * So an early answer waits until the rest of the body has been read and thrown
 * away, if that is little; if it is much, the connection is cut.
 *
 * A consumed body is handed to a worker through `pending`: the connection fills
 * it, and is set aside while it is full; the worker swaps it with `taken` and
 * consumes that. So receiving and consuming overlap, and neither waits in memory. */
#include "net/server/http_inside.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    ARENA_MAX = 1 << 20,     /* bytes of a request's own texts */
    PENDING_MAX = 256 << 10, /* bytes of a consumed body that wait for the worker */
    /* Bytes of an unwanted body that are read so that the answer arrives. */
    THROWN_MAX = 16 << 20,
};

/* Holds the request and the transport's side of it in one piece. */
struct request_pair {
    struct http_request request;
    struct http_private private;
};

static void request_free(struct http_request *r)
{
    struct http_private *t = r->transport;
    if (r->done)
        r->done(r);
    http_answer_drop(r);
    buf_fini(&r->body);
    buf_fini(&t->pending);
    buf_fini(&t->taken);
    region_fini(&r->memory);
    pthread_mutex_destroy(&t->lock);
    struct http_server *s = t->server;
    bool counted = t->counted;
    mem_free(r); /* first member of the pair */
    if (!counted)
        return;
    pthread_mutex_lock(&s->lock);
    if (--s->requests == 0)
        pthread_cond_broadcast(&s->fewer);
    pthread_mutex_unlock(&s->lock);
}

static void peer_text(struct http_request *r, struct MHD_Connection *c)
{
    char text[INET6_ADDRSTRLEN] = "?";
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info ? info->client_addr : NULL;
    if (a && a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, text,
                  sizeof text);
    else if (a && a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, text,
                  sizeof text);
    const char *copy = region_strdup(&r->memory, text);
    r->peer = copy ? copy : "?";
}

/* libmicrohttpd would parse the query as well, into memory that some hundred parameters use
 * up; then it answers twice, or never. The target is in a writable buffer of its own, which is the
 * server's now. */
static void hide_query(const char *target)
{
    char *mark = (char *)(uintptr_t)strchr(target, '?');
    if (mark && mark[1])
        mark[1] = '\0';
}

void *http_request_line(void *cls, const char *target, struct MHD_Connection *c)
{
    struct http_server *s = cls;
    struct request_pair *pair = mem_zalloc(sizeof *pair);
    if (!pair)
        return NULL;
    struct http_request *r = &pair->request;
    struct http_private *t = &pair->private;
    r->transport = t;
    r->answer.fd = -1;
    r->began = clock_mono();
    region_init(&r->memory, ARENA_MAX);
    buf_init(&r->body, 0);
    buf_init(&t->pending, PENDING_MAX);
    buf_init(&t->taken, PENDING_MAX);
    pthread_mutex_init(&t->lock, NULL);
    t->server = s;
    t->connection = c;
    uint64_t number = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
    snprintf(r->id, sizeof r->id, "%08x-%06llx", s->boot,
             (unsigned long long)number & 0xffffffffffff);
    t->too_long = strlen(target) > s->config.target_max;
    r->target = t->too_long ? "" : region_strdup(&r->memory, target);
    t->no_memory = r->target == NULL;
    hide_query(target);
    peer_text(r, c);
    pthread_mutex_lock(&s->lock);
    t->counted = !s->over;
    s->requests += t->counted;
    pthread_mutex_unlock(&s->lock);
    if (t->counted)
        return r;
    request_free(r);
    return NULL; /* its connection is closed */
}

/* ---- the header ------------------------------------------------------------------------------ */

static enum http_method method_of(const char *name)
{
    for (enum http_method m = 0; m < HTTP_OTHER; m++)
        if (strcmp(http_method_name(m), name) == 0)
            return m;
    return HTTP_OTHER;
}

/* Returns the Content-Length as a number; -1: absent. libmicrohttpd has refused a malformed one. */
static int64_t announced(const struct http_request *r)
{
    const char *text = http_field(r, "Content-Length");
    return text ? strtoll(text, NULL, 10) : -1;
}

/* Gives the answer of a request that the transport refused. */
static void refuse(struct http_request *r, int status)
{
    if (status == 413)
        http_problem(r, 413, "The body may have at most %zu bytes.", r->body_max);
    else
        http_problem(r, 503, "The server has more to do than it can; try again in a moment.");
}

/* Converts an absolute target (RFC 9112, 3.2.2) to a path. Its host must be that of the field Host:
 * otherwise two readers could take different ones. */
static void shorten_target(struct http_request *r)
{
    const char *host = http_field(r, "Host"), *at = r->target;
    size_t scheme = strncasecmp(at, "http://", 7) == 0    ? 7
                    : strncasecmp(at, "https://", 8) == 0 ? 8
                                                          : 0;
    if (!scheme)
        return;
    at += scheme;
    size_t n = strcspn(at, "/?#");
    if (!n || !host || strlen(host) != n || strncasecmp(host, at, n) != 0) {
        http_problem(r, 400, "The host in the request's target is not the one in Host.");
        return;
    }
    const char *slash = at[n] == '/' ? "" : "/";
    size_t size = strlen(slash) + strlen(at + n) + 1;
    char *path = region_take(&r->memory, size);
    if (!path) {
        http_nomem(r);
        return;
    }
    snprintf(path, size, "%s%s", slash, at + n);
    r->target = path;
}

/* Refuses requests that are wrong for any application; else calls the application's begin. */
static void begin(struct http_request *r, const char *method, const char *version)
{
    struct http_private *t = r->transport;
    struct http_server *s = t->server;
    struct err e = {0};
    r->method = method_of(method);
    if (t->too_long) {
        http_problem(r, 414, "The address has more than %zu bytes.", s->config.target_max);
    } else if (t->no_memory || !t->conn) {
        http_nomem(r);
    } else {
        http_header_read(r, version);
        if (!http_answered(r))
            shorten_target(r);
        if (!http_answered(r) && uri_parse(&r->uri, r->target, &r->memory, &e))
            http_problem(r, e.code == GPUFL_E_NOMEM ? 503 : 400, "Not understood: %s.", e.text);
    }
    if (!http_answered(r))
        s->app.begin(s->app.arg, r);
    if (!http_answered(r) && announced(r) > 0 && (uint64_t)announced(r) > r->body_max)
        refuse(r, 413);
    buf_init(&r->body, r->body_max);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void run_on_worker(void *arg);

/* Gives the request to a worker; false: none is free. The lock is held. */
static bool give_to_worker(struct http_request *r)
{
    struct http_private *t = r->transport;
    if (!t->working)
        t->working = workers_submit(r->workers, run_on_worker, r);
    return t->working;
}

static enum MHD_Result throw_away(struct http_request *r, size_t *size)
{
    r->transport->thrown += *size;
    *size = 0;
    return r->transport->thrown > THROWN_MAX ? MHD_NO : MHD_YES;
}

/* Gives a piece for the consumer: as much as there is room for. */
static enum MHD_Result give_piece(struct http_request *r, const char *data, size_t *size)
{
    struct http_private *t = r->transport;
    enum MHD_Result result = MHD_YES;
    pthread_mutex_lock(&t->lock);
    size_t room = t->pending.max - t->pending.len, n = *size < room ? *size : room;
    if (!t->refused && r->body_size + n > r->body_max)
        t->refused = 413;
    if (t->refused || (!t->working && http_answered(r))) {
        result = throw_away(r, size);
    } else {
        buf_put(&t->pending, data, n);
        if (buf_error(&t->pending) || !give_to_worker(r))
            t->refused = 503;
        r->body_size += n;
        *size -= n;
        if (t->refused) {
            result = throw_away(r, size);
        } else if (*size) { /* libmicrohttpd calls again for what is left only when it is resumed */
            t->waiting = true;
            http_watch_state(t->server, t->conn, CONN_WORKING);
            MHD_suspend_connection(t->connection);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return result;
}

static enum MHD_Result body_piece(struct http_request *r, const char *data, size_t *size)
{
    http_watch_bytes(r->transport->server, r->transport->conn, *size);
    if (r->consume)
        return give_piece(r, data, size);
    if (http_answered(r))
        return throw_away(r, size);
    r->body_size += *size;
    if (r->body_size > r->body_max) {
        refuse(r, 413);
        return throw_away(r, size);
    }
    buf_put(&r->body, data, *size);
    if (buf_error(&r->body))
        refuse(r, 503);
    *size = 0;
    return MHD_YES;
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void handle(struct http_request *r)
{
    if (!http_answered(r) && r->transport->refused)
        refuse(r, r->transport->refused);
    if (!http_answered(r))
        r->handle(r);
    if (!http_answered(r))
        http_problem(r, 500, "The server did not answer.");
    http_answer_complete(r);
}

/* Consumes what is pending until nothing is; the lock is held, but not while consuming. */
static void consume_all(struct http_request *r)
{
    struct http_private *t = r->transport;
    while (t->pending.len && !t->orphan) {
        struct buf swap = t->taken;
        t->taken = t->pending;
        t->pending = swap;
        if (t->waiting) {
            t->waiting = false;
            http_watch_state(t->server, t->conn, CONN_BODY);
            MHD_resume_connection(t->connection);
        }
        pthread_mutex_unlock(&t->lock);
        if (!http_answered(r) && r->consume(r, t->taken.data, t->taken.len) && !http_answered(r))
            http_problem(r, 500, "The body was refused without a reason.");
        buf_clear(&t->taken);
        pthread_mutex_lock(&t->lock);
    }
}

/* Does one turn of a worker: takes pieces of a body, and at its end gives the answer. */
static void run_on_worker(void *arg)
{
    struct http_request *r = arg;
    struct http_private *t = r->transport;
    pthread_mutex_lock(&t->lock);
    consume_all(r);
    bool orphan = t->orphan, ended = t->ended;
    if (orphan || !ended)
        t->working = false;
    pthread_mutex_unlock(&t->lock);
    if (orphan) {
        request_free(r);
    } else if (ended) {
        handle(r);
        t->phase = PHASE_READY;
        MHD_resume_connection(t->connection); /* from here on the request may be freed */
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

static enum MHD_Result queue_answer(struct http_request *r)
{
    struct http_private *t = r->transport;
    struct MHD_Response *response = http_answer_response(r);
    if (!response)
        return MHD_NO;
    t->phase = PHASE_SENT;
    t->status = r->answer.status;
    enum MHD_Result result = MHD_queue_response(t->connection, (unsigned)t->status, response);
    MHD_destroy_response(response);
    return result;
}

/* The request is complete: answers at once, or sets the connection aside for a worker. */
static enum MHD_Result body_end(struct http_request *r)
{
    struct http_private *t = r->transport;
    http_watch_state(t->server, t->conn, CONN_WORKING);
    pthread_mutex_lock(&t->lock);
    bool now = !t->working && (t->refused || http_answered(r) || r->quick);
    if (!now && !give_to_worker(r)) {
        t->refused = 503;
        now = true;
    }
    if (!now) {
        t->phase = PHASE_HANDLING;
        t->ended = true;
        MHD_suspend_connection(t->connection);
        pthread_mutex_unlock(&t->lock);
        return MHD_YES;
    }
    pthread_mutex_unlock(&t->lock);
    handle(r);
    return queue_answer(r);
}

/* After the header an early answer is sent at once only if the body is long, if its end is in
 * doubt, or if the client waits for "100 Continue" before it sends the body. */
static enum MHD_Result header_end(struct http_request *r, const char *method, const char *version)
{
    struct http_private *t = r->transport;
    begin(r, method, version);
    t->phase = PHASE_BODY;
    if (t->conn)
        http_watch_state(t->server, t->conn, CONN_BODY);
    bool unsent = http_field_has(r, "Expect", "100-continue");
    if (http_answered(r) && (announced(r) > THROWN_MAX || t->doubtful || unsent || !t->conn)) {
        r->answer.close = true;
        http_answer_complete(r);
        return queue_answer(r);
    }
    return MHD_YES;
}

enum MHD_Result http_request_access(void *cls, struct MHD_Connection *c, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *size, void **context)
{
    (void)cls;
    (void)url;
    struct http_request *r = *context;
    if (!r)
        return MHD_NO;
    struct http_private *t = r->transport;
    switch (t->phase) {
    case PHASE_HEADER: {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        t->conn = info ? info->socket_context : NULL;
        return header_end(r, method, version);
    }
    case PHASE_BODY:
        return *size ? body_piece(r, data, size) : body_end(r);
    case PHASE_READY:
        return queue_answer(r);
    case PHASE_HANDLING:
    case PHASE_SENT:
        break;
    }
    return MHD_YES;
}

void http_request_completed(void *cls, struct MHD_Connection *c, void **context,
                            enum MHD_RequestTerminationCode how)
{
    (void)c;
    struct http_server *s = cls;
    struct http_request *r = *context;
    *context = NULL;
    if (!r)
        return;
    struct http_private *t = r->transport;
    if (t->conn)
        http_watch_state(s, t->conn, CONN_IDLE);
    s->app.seen(s->app.arg, r, t->status, atomic_load_explicit(&t->sent, memory_order_relaxed),
                how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    pthread_mutex_lock(&t->lock);
    t->orphan = t->working && t->phase == PHASE_BODY;
    bool later = t->orphan;
    pthread_mutex_unlock(&t->lock);
    if (!later)
        request_free(r);
}
