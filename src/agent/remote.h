/* remote.h - makes a sender's requests to a gpufl-server: a session's positions, a body, the
 * session's end. The addresses and members are those of docs/openapi.json.
 *
 * Each call makes one request and does not repeat it: the answer's status says whether that makes
 * sense (backoff_transient). Called by one thread at a time. */
#ifndef GPUFL_AGENT_REMOTE_H
#define GPUFL_AGENT_REMOTE_H

#include "agent/part_head.h"
#include "base/buf.h"
#include "net/client/http_client.h"

enum { REMOTE_CHANNELS = 32, REMOTE_ERRORS = 32 };

struct remote_config {
    struct http_client_config http; /* its url may end in api_path */
    const char *api_path;           /* NULL or "": "/api/v1" */
};

struct remote;

int remote_open(struct remote **out, const struct remote_config *c, struct err *e);
void remote_close(struct remote *r);
const char *remote_url(const struct remote *r);   /* for messages; without the API's path */
const char *remote_proxy(const struct remote *r); /* see http_client_proxy */
const char *remote_asked(const struct remote *r); /* "the server", or that and the proxy's URL */

/* Both are for HTTP (http_client_set_watch, http_client_answered); another way of sending (struct
 * remote_way) watches by itself. */
void remote_set_watch(struct remote *r, const struct http_client_watch *watch);
bool remote_answered(const struct remote *r);

/* Describes a line that was left out. */
struct remote_error {
    uint64_t line; /* of the body, from 1 */
    char type[32], reason[128];
};

struct remote_answer {
    int status;          /* of HTTP; 0: there was none */
    char detail[384];    /* of a problem; "" */
    int64_t retry_after; /* s; -1: not given */
    int64_t sent;        /* bytes of the body that were sent */
    bool sound;          /* the answer's body is a JSON object */
    /* No answer: no byte was sent or received for too long on a connection. */
    bool stalled;
    bool cut; /* no answer: the connection ended while the body was sent */
    uint64_t accepted, rejected;
    int64_t offset;    /* the channel's, from a 200 or a 409; -1: not given */
    bool acknowledged; /* the server has the whole window */
    bool repeated;     /* the server had all of it already */
    struct remote_error errors[REMOTE_ERRORS];
    unsigned error_count;
};

struct remote_position {
    char channel[PART_CHANNEL_MAX];
    int64_t offset; /* uncompressed bytes that the server has */
};

struct remote_positions {
    struct remote_position items[REMOTE_CHANNELS];
    unsigned count;
    bool known; /* the answer has a list of them */
};

/* Describes a body to send. Texts are the caller's. */
struct remote_body {
    const char *session;
    const char *channel;     /* of a window: its own */
    int64_t offset;          /* uncompressed bytes before the body; -1: a window */
    const char *window_id;   /* NULL: none */
    int64_t window_sequence; /* 0: none */
    int64_t window_crc32;    /* of the body; -1: not known */
    const char *host;        /* of the session; "" or NULL: unknown */
    int64_t (*read)(void *arg, char *out, size_t size); /* as http_client_call.read */
    const char *encoding;                               /* of what read gives; NULL: plain */
    int64_t size;
    int64_t (*plain)(void *arg); /* uncompressed bytes that read has returned; NULL: unknown */
    void (*progress)(void *arg, int64_t sent);
    void *arg;
};

/* All return 0 if there was an answer, whatever its status; else a code like http_client_send.
 * GPUFL_E_PERM also: an answer of success that is not a gpufl-server's, for example a login page;
 * nothing was acknowledged. */
int remote_ask_positions(struct remote *r, const char *session, struct remote_positions *out,
                         /* 404: the server has no such address. */
                         struct remote_answer *a, struct err *e);
int remote_send(struct remote *r, const struct remote_body *b, struct remote_answer *a,
                struct err *e);
int remote_complete(struct remote *r, const char *session, struct remote_answer *a, struct err *e);

/* Completes the session like remote_complete, and gives the ends of the channels, since some ways
 * of sending do not keep the order between channels. */
int remote_complete_at(struct remote *r, const char *session, const struct remote_positions *ends,
                       struct remote_answer *a, struct err *e);

/* ---- another way than HTTP ------------------------------------------------------------------- */

/* Holds functions that answer like a server, with the statuses of HTTP. What the receiver has is
 * unknown, so there is no function for positions. */
struct remote_way {
    const char *url, *asked; /* as remote_url and remote_asked; they live as long as arg */
    int (*send)(void *arg, const struct remote_body *b, struct remote_answer *a, struct err *e);
    int (*complete)(void *arg, const char *session, const struct remote_positions *ends,
                    struct remote_answer *a, struct err *e);
    void (*tick)(void *arg); /* called from time to time */
    void (*close)(void *arg);
};

/* Opens a remote of such functions. way: constant; arg: owned by the remote if the result is 0. */
int remote_open_way(struct remote **out, const struct remote_way *way, void *arg, struct err *e);
bool remote_is_blind(const struct remote *r); /* what the receiver has is unknown */
void remote_tick(struct remote *r);
void *remote_arg(struct remote *r); /* of the way */

/* ---- requests that send no session ----------------------------------------------------------- */

/* Holds the body of an answer of success; valid until the next request. */
struct remote_text {
    const char *data;
    size_t len;
    const char *tag; /* the ETag; "": none */
};

/* path is relative to the API's path. out: may be NULL. */
int remote_post(struct remote *r, const char *path, const struct buf *json, struct remote_answer *a,
                struct remote_text *out, struct err *e);
struct remote_tagged {
    const char *path, *value; /* value: escaped, and appended to the path */
    const char *tag;          /* of the document that the caller has already; "": none */
};
/* With a tag the answer may be 304. */
int remote_get_tagged(struct remote *r, const struct remote_tagged *t, struct remote_answer *a,
                      struct remote_text *out, struct err *e);
/* Describes an answer without end, given to `take` piece by piece (as http_client_call.write). */
struct remote_listening {
    const char *path, *value; /* value: escaped, and appended to the path */
    int (*take)(void *arg, const char *data, size_t n);
    void *arg;
    int64_t until; /* CLOCK_MONOTONIC ns: the request ends then, with GPUFL_E_TIMEOUT */
};
int remote_listen(struct remote *r, const struct remote_listening *l, struct remote_answer *a,
                  struct err *e);

/* The functions read an answer's body; for tests, too. False: it is no answer of that kind. */
bool remote_read_answer(const char *json, size_t len, struct remote_answer *a);
bool remote_read_positions(const char *json, size_t len, struct remote_positions *p);

#endif
