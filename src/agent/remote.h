/* remote.h - a sender's requests to a gpufl-server: a session's positions, a body, the session's
 * end. The addresses and members are those of docs/openapi.json.
 *
 * One request a call, no second try: the answer's status says whether one makes sense
 * (backoff_transient). One thread at a time. */
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

/* Both hand on to the HTTP client (http_client_set_watch, http_client_answered); any other way of
 * sending watches by itself. */
void remote_set_watch(struct remote *r, const struct http_client_watch *watch);
bool remote_answered(const struct remote *r);

/* A line that was left out. */
struct remote_error {
    uint64_t line; /* of the body, from 1 */
    char type[32], reason[128];
};

struct remote_answer {
    int status;          /* of HTTP; 0: there was none */
    char detail[384];    /* of a problem; "" */
    int64_t retry_after; /* s; -1: not given */
    int64_t sent;        /* bytes of the body that went out */
    bool sound;          /* the answer's body is a JSON object */
    bool stalled;        /* no answer: nothing moved for too long on a connection */
    bool cut;            /* no answer: the connection ended when the body was under way */
    uint64_t accepted, rejected;
    int64_t offset;    /* the channel's, from a 200 or a 409; -1: not given */
    bool acknowledged; /* a window counts as a whole */
    bool repeated;     /* the server had all of it already */
    struct remote_error errors[REMOTE_ERRORS];
    unsigned error_count;
};

struct remote_position {
    char channel[PART_CHANNEL_MAX];
    int64_t offset; /* plain bytes that are there */
};

struct remote_positions {
    struct remote_position items[REMOTE_CHANNELS];
    unsigned count;
    bool known; /* the answer has a list of them */
};

/* A body to send. Texts are the caller's. */
struct remote_body {
    const char *session;
    const char *channel;     /* of a window: its own */
    int64_t offset;          /* plain bytes before the body; -1: a window */
    const char *window_id;   /* NULL: none */
    int64_t window_sequence; /* 0: none */
    int64_t window_crc32;    /* of the body; -1: not known */
    const char *host;        /* of the session; "" or NULL: unknown */
    int64_t (*read)(void *arg, char *out, size_t size); /* as http_client_call.read */
    const char *encoding;                               /* of what read gives; NULL: plain */
    int64_t size;
    int64_t (*plain)(void *arg); /* plain bytes that read has given; NULL: not known */
    void (*progress)(void *arg, int64_t sent);
    void *arg;
};

/* All: 0 where there was an answer, whatever its status; else as http_client_send. PERM, too: an
 * answer of success to a body or a question that is not a gpufl-server's, as of a page that asks
 * for a login; nothing was acknowledged. */
int remote_ask_positions(struct remote *r, const char *session, struct remote_positions *out,
                         struct remote_answer *a, struct err *e); /* 404: it has no such address */
int remote_send(struct remote *r, const struct remote_body *b, struct remote_answer *a,
                struct err *e);
int remote_complete(struct remote *r, const char *session, struct remote_answer *a, struct err *e);

/* Completes the session as remote_complete does, and says where the channels end, since channels
 * overtake each other on some ways. */
int remote_complete_at(struct remote *r, const char *session, const struct remote_positions *ends,
                       struct remote_answer *a, struct err *e);

/* ---- another way than HTTP ------------------------------------------------------------------- */

/* Answers as a server does, with the statuses of HTTP, to the same questions. Nobody can say what
 * the far end has: positions are not asked for. */
struct remote_way {
    const char *url, *asked; /* as remote_url and remote_asked; they live as long as arg */
    int (*send)(void *arg, const struct remote_body *b, struct remote_answer *a, struct err *e);
    int (*complete)(void *arg, const char *session, const struct remote_positions *ends,
                    struct remote_answer *a, struct err *e);
    void (*tick)(void *arg); /* called from time to time */
    void (*close)(void *arg);
};

/* way: constant; arg: owned by the remote from a return of 0 on. */
int remote_open_way(struct remote **out, const struct remote_way *way, void *arg, struct err *e);
bool remote_is_blind(const struct remote *r); /* cannot say what the far end has */
void remote_tick(struct remote *r);
void *remote_arg(struct remote *r); /* of the way */

/* ---- requests that send no session ---------------------------------------------------------- */

/* The body of an answer of success; valid until the next request. */
struct remote_text {
    const char *data;
    size_t len;
    const char *tag; /* the ETag; "": none */
};

/* path comes after the API's path. out: may be NULL. */
int remote_post(struct remote *r, const char *path, const struct buf *json, struct remote_answer *a,
                struct remote_text *out, struct err *e);
struct remote_tagged {
    const char *path, *value; /* value: escaped, and appended to the path */
    const char *tag;          /* of the document that is there already; "": none */
};
/* With a tag the answer may be 304. */
int remote_get_tagged(struct remote *r, const struct remote_tagged *t, struct remote_answer *a,
                      struct remote_text *out, struct err *e);
/* An answer without end, given to `take` piece by piece (as http_client_call.write). */
struct remote_listening {
    const char *path, *value; /* value: escaped, and appended to the path */
    int (*take)(void *arg, const char *data, size_t n);
    void *arg;
    int64_t until; /* CLOCK_MONOTONIC ns: ends then, with TIMEOUT */
};
int remote_listen(struct remote *r, const struct remote_listening *l, struct remote_answer *a,
                  struct err *e);

/* Fills what an answer's body says; for tests, too. False: it is no answer of that kind. */
bool remote_read_answer(const char *json, size_t len, struct remote_answer *a);
bool remote_read_positions(const char *json, size_t len, struct remote_positions *p);

#endif
