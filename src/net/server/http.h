/* http.h - is an HTTP server: reads requests and sends the answers that the application makes.
 *
 * The server uses libmicrohttpd with epoll and a few threads that only move bytes. When the header
 * of a request is complete, the application says which function handles it and how long its body
 * may be (http_app.begin). The handler runs on a worker while the connection is suspended, so that
 * it may block. Bodies are collected up to a limit, or given piece by piece to a consumer; while
 * the consumer is slower than the sender, nothing is read. Everything that grows has a limit;
 * headers, bodies and idle connections have deadlines.
 *
 * A request belongs to one thread at a time: to the connection's until begin has returned, to the
 * worker while consume and handle run, then to the connection's again. Everything in its memory or
 * its answer lives until done was called. */
#ifndef GPUFL_NET_SERVER_HTTP_H
#define GPUFL_NET_SERVER_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/region.h"
#include "net/server/uri.h"
#include "net/server/workers.h"

#include <stdbool.h>
#include <stdint.h>

#define HTTP_METHODS(M) M(GET) M(HEAD) M(POST) M(PUT) M(PATCH) M(DELETE) M(OPTIONS)

enum http_method {
#define HTTP_METHOD_ENUM(name) HTTP_##name,
    HTTP_METHODS(HTTP_METHOD_ENUM)
#undef HTTP_METHOD_ENUM
        HTTP_OTHER
};

const char *http_method_name(enum http_method m); /* "GET"; "?" of OTHER */

struct http_field {
    const char *name, *value;
};

enum { HTTP_ANSWER_FIELDS = 12, HTTP_ID_SIZE = 24 };

struct http_stream;  /* http_stream.h: server-sent events */
struct http_pipe;    /* http_pipe.h: an answer that is made while it is sent */
struct http_private; /* of the transport */

enum http_answer_kind {
    HTTP_ANSWER_NONE,
    HTTP_ANSWER_BODY,   /* body, made by the handler */
    HTTP_ANSWER_STATIC, /* bytes that outlive the server */
    HTTP_ANSWER_FILE,   /* fd, from its begin */
    HTTP_ANSWER_STREAM, /* server-sent events */
    HTTP_ANSWER_PIPE,   /* made by a worker as it is read */
};

struct http_answer {
    enum http_answer_kind kind;
    int status;
    const char *type; /* media type; NULL: no body */
    struct buf body;  /* owned */
    const void *bytes;
    uint64_t size; /* of bytes, or of the file */
    int fd;        /* owned; -1: none */
    struct http_stream *stream;
    struct http_pipe *pipe;
    struct http_field fields[HTTP_ANSWER_FIELDS];
    unsigned field_count;
    bool cacheable; /* has a tag of its content; the status is 304 if the client has it */
    bool close;     /* the connection ends with it */
};

struct http_request {
    char id[HTTP_ID_SIZE]; /* in the log and in problems */
    enum http_method method;
    const char *target; /* as it came */
    struct uri uri;
    const struct http_field *fields; /* of the header, as they came */
    unsigned field_count;
    const char *peer; /* address of the other end, without port */
    int64_t began;    /* CLOCK_MONOTONIC, ns */
    struct region memory;

    /* Set by the application, in begin at the latest. */
    void *app;                              /* its own */
    void (*handle)(struct http_request *r); /* makes the answer */
    bool quick;                             /* handle never blocks: it runs at once */
    struct workers *workers;                /* else: where it runs */
    size_t body_max;                        /* of the body; more is answered with 413 */
    /* Takes a piece of the body, which is then not collected. Non-zero: the answer is made (a
     * refusal), and the rest of the body is not wanted. */
    int (*consume)(struct http_request *r, const char *data, size_t n);
    void (*done)(struct http_request *r); /* last call, whatever happened; NULL: none */
    const char *route, *user;             /* for the log; NULL: none */
    unsigned slot;                        /* the application's own number, for http_app.seen */

    struct buf body;    /* collected; not NUL-terminated */
    uint64_t body_size; /* bytes of the body so far */
    struct http_answer answer;
    struct http_private *transport;
};

/* Returns the value of a header field, the first of that name; NULL: none. [owner] */
const char *http_field(const struct http_request *r, const char *name);
unsigned http_field_count(const struct http_request *r, const char *name);
/* Returns true if a field is a list that has the word ("gzip" in Accept-Encoding) with a q other
 * than 0. */
bool http_field_has(const struct http_request *r, const char *name, const char *word);
/* Returns the value of a cookie, in the request's memory; NULL: none. */
const char *http_cookie(struct http_request *r, const char *name);

/* ---- answers: the last one made counts ---------------------------------------------------- */

/* Answers with a problem (RFC 9457): {"type","title","status","detail","request"}; detail is a
 * sentence that says what to do. parameter: name of the wrong parameter, which becomes a member;
 * NULL: none. */
void http_problem(struct http_request *r, int status, const char *detail, ...)
    __attribute__((format(printf, 3, 4)));
void http_problem_of(struct http_request *r, int status, const char *parameter, const char *detail,
                     ...) __attribute__((format(printf, 4, 5)));

/* Does what http_problem does, with 503 and HTTP_NOMEM. */
void http_nomem(struct http_request *r);
#define HTTP_NOMEM "The server is out of memory; try again later."

/* Returns the buffer for a body, emptied; http_send then says what it is. */
struct buf *http_body(struct http_request *r, size_t max);
void http_send(struct http_request *r, int status, const char *type);
void http_send_static(struct http_request *r, int status, const char *type, const void *bytes,
                      size_t size);
void http_send_file(struct http_request *r, const char *type, int fd, uint64_t size);
void http_send_nothing(struct http_request *r, int status); /* 204, 303 with Location, … */
void http_send_stream(struct http_request *r, struct http_stream *s);
void http_send_pipe(struct http_request *r, const char *type, struct http_pipe *p);
/* Sets a field of the answer; texts are copied. After HTTP_ANSWER_FIELDS fields the next one is
 * dropped. */
void http_set(struct http_request *r, const char *name, const char *value);
/* Returns true if the client has the document with this tag, as its If-None-Match says. */
bool http_tag_known(const struct http_request *r, const char *tag);
/* Returns true if the request has an answer. */
static inline bool http_answered(const struct http_request *r)
{
    return r->answer.kind != HTTP_ANSWER_NONE;
}
const char *http_status_text(int status); /* "Not Found" */

/* ---- the server --------------------------------------------------------------------------- */

/* Holds the application's functions that the server calls; both [any thread of the transport]. */
struct http_app {
    void *arg;
    /* Called when the header is complete: sets the application's members of the request, or answers
     * at once. Must not block. */
    void (*begin)(void *arg, struct http_request *r);
    /* Called when a request has ended: status of the answer (0: the client left before there was
     * one), bytes of the answer's body that were sent, and whether that is all of it. */
    void (*seen)(void *arg, const struct http_request *r, int status, uint64_t sent, bool whole);
};

struct http_config {
    const char *address;            /* "127.0.0.1", "::1", "0.0.0.0", "localhost" */
    uint16_t port;                  /* 0: any free one */
    const char *tls_cert, *tls_key; /* PEM texts; both or none */
    unsigned threads;               /* that move bytes */
    unsigned connections;           /* at once */
    unsigned connections_per_address;
    size_t header_max; /* bytes of all header fields */
    size_t target_max; /* bytes of the request's target */
    int64_t header_ns; /* for the whole header, from the start of the connection */
    int64_t idle_ns;   /* without a byte, in a body or between requests */
    int64_t body_ns;   /* in which at least body_least bytes of a body must arrive */
    size_t body_least;
    bool compress; /* answers, for clients that take gzip */
};

void http_config_init(struct http_config *c); /* the defaults */

struct http_server;

struct http_load {
    unsigned connections; /* open */
    unsigned requests;    /* in work */
    uint64_t slow;        /* connections ended because they were too slow */
};

int http_open(struct http_server **out, const struct http_config *c, const struct http_app *app,
              struct err *e);
uint16_t http_port(const struct http_server *s);
struct http_load http_load(struct http_server *s);

/* Takes no more connections; open ones answer with Connection: close. [any] */
void http_quiesce(struct http_server *s);
/* Waits until no request is in work; false: the timeout came first. */
bool http_wait(struct http_server *s, int64_t timeout_ns);
/* Ends all open connections, whatever they do. Handlers continue, but their answers are lost; call
 * http_wait afterwards. [any] */
void http_cut(struct http_server *s);
/* Ends all connections. No request may be in work. */
void http_close(struct http_server *s);

#endif
