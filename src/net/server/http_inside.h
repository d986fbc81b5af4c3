/* http_inside.h - has declarations that the HTTP server's files share; no other file includes it.
 *
 *   http_server.c   listening, limits, ending
 *   http_request.c  the life of a request: libmicrohttpd's callbacks, workers, bodies
 *   http_header.c   header fields: copied, and doubt refused
 *   http_answer.c   from what the handler made to what is sent
 *   http_watch.c    deadlines of connections */
#ifndef GPUFL_NET_SERVER_HTTP_INSIDE_H
#define GPUFL_NET_SERVER_HTTP_INSIDE_H

#include "base/process/thread.h"
#include "net/server/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#if MHD_VERSION < 0x00097500
#error "libmicrohttpd 0.9.75 or later is needed"
#endif

/* This is the state of a connection, which decides its deadline. */
enum conn_state {
    CONN_FRESH,   /* accepted; a header must be complete soon */
    CONN_IDLE,    /* between requests */
    CONN_BODY,    /* a body comes, and is awaited */
    CONN_WORKING, /* the server makes the answer: no deadline */
};

struct http_conn {
    struct http_conn *next, *prev; /* guarded by watch.lock, as all below */
    int fd;
    enum conn_state state;
    int64_t since;  /* ns; when the state began, or the body's present window */
    uint64_t bytes; /* of the body in the window */
    bool ended;     /* shut down already */
};

struct http_watch {
    pthread_mutex_t lock;
    struct http_conn *first; /* guarded by lock */
    unsigned count;          /* guarded by lock */
    uint64_t slow;           /* guarded by lock */
    struct wakeup stop;
    struct thread thread;
};

struct http_server {
    struct http_config config; /* texts: not kept, except for tls */
    struct http_app app;
    struct MHD_Daemon *daemon;
    int listening; /* owned until the daemon has it; -1: none */
    int daemons;   /* the daemon's listening descriptor */
    int silent;    /* owned; takes the place of the socket behind it */
    uint16_t port;
    atomic_bool quiet;         /* quiesced; relaxed: a hint to close connections */
    pthread_mutex_t lock;      /* guards requests */
    pthread_cond_t fewer;      /* requests fell to 0 */
    unsigned requests;         /* in work; guarded by lock */
    bool over;                 /* no further request begins; guarded by lock */
    atomic_uint_fast64_t next; /* request number; relaxed */
    uint32_t boot;             /* first half of request ids */
    struct http_watch watch;
};

enum http_phase {
    PHASE_HEADER,   /* the request line has been read */
    PHASE_BODY,     /* collected, consumed or thrown away */
    PHASE_HANDLING, /* a worker has it; the connection is suspended */
    PHASE_READY,    /* the answer is made */
    PHASE_SENT,     /* the answer was given to libmicrohttpd */
};

/* Holds the transport's side of a request. A worker that consumes a body runs concurrently with the
 * connection's thread: members that both use are guarded by lock, and the one that ends last frees
 * the request. */
struct http_private {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_conn *conn;
    enum http_phase phase;
    bool too_long, no_memory;  /* of the target, of copies made before there was an answer */
    bool doubtful;             /* where its body ends: the connection ends with the answer */
    bool counted;              /* in server->requests */
    int refused;               /* guarded by lock: status of the transport's own refusal; 0: none */
    uint64_t thrown;           /* bytes of the body that were discarded */
    int status;                /* sent */
    atomic_uint_fast64_t sent; /* bytes of the answer's body given to the connection; relaxed */
    pthread_mutex_t lock;
    struct buf pending; /* guarded by lock: of a consumed body, not yet taken */
    struct buf taken;   /* the worker's */
    bool working;       /* guarded by lock: a worker has the request */
    bool waiting;       /* guarded by lock: the connection is suspended until there is room */
    bool ended;         /* guarded by lock: the body is complete, the connection suspended */
    bool orphan;        /* guarded by lock: the connection is gone */
};

/* These functions in http_request.c are libmicrohttpd's callbacks; MHD_AccessHandlerCallback has
 * eight parameters. */
void *http_request_line(void *cls, const char *target, struct MHD_Connection *c);
enum MHD_Result http_request_access(void *cls, struct MHD_Connection *c, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *size, void **context);
void http_request_completed(void *cls, struct MHD_Connection *c, void **context,
                            enum MHD_RequestTerminationCode how);

/* http_header.c: reads the fields of the header; answers with a refusal where they are
 * ambiguous. */
void http_header_read(struct http_request *r, const char *version);

/* http_answer.c. http_answer_complete does what is possible before the answer is sent (tag, 304,
 * gzip), and may take time. http_answer_response returns NULL when out of memory. */
void http_answer_complete(struct http_request *r);
struct MHD_Response *http_answer_response(struct http_request *r);
void http_answer_drop(struct http_request *r); /* frees what an answer holds */

/* The functions are in http_watch.c. */
int http_watch_open(struct http_server *s, struct err *e);
void http_watch_close(struct http_server *s);
void http_watch_notify(void *cls, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode what);
void http_watch_state(struct http_server *s, struct http_conn *c, enum conn_state state);
void http_watch_cut(struct http_server *s); /* shuts all connections down */
void http_watch_bytes(struct http_server *s, struct http_conn *c, size_t n);

#endif
