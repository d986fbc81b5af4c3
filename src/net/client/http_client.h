/* http_client.h - sends one HTTP request after the other.
 *
 * The client uses libcurl, which is opened when something is to be sent; no program or library of
 * ours is linked to it. A build without libcurl's header has http_client_none.c instead. In both
 * cases the error says what to install. Bodies come from a callback, so memory does not grow with
 * them; answers are collected up to a limit.
 *
 * Certificates are checked; a URL without a scheme means https. Redirects are not followed, so the
 * key is sent to no other server. Proxies are those of the environment (https_proxy, no_proxy, …),
 * except for servers on this machine, which are reached directly. No message contains the key or
 * the signer; both are wiped when the client is closed. The client does not repeat a request: that
 * is the caller's part (backoff.h).
 *
 * A client is for one thread at a time; several clients are independent. */
#ifndef GPUFL_NET_CLIENT_HTTP_CLIENT_H
#define GPUFL_NET_CLIENT_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum { HTTP_CLIENT_FIELDS = 12, HTTP_CLIENT_ANSWER_MAX = 4 << 20, HTTP_CLIENT_URL_MAX = 2048 };

struct sockaddr;

struct http_client_config {
    const char *url; /* "https://host[:port][/prefix]"; no scheme: https */
    const char *key; /* sent as Bearer; NULL or "": none */
    /* Says how libcurl signs requests, "aws:amz:us-east-1:s3"; NULL: it does not. */
    const char *sign;
    const char *signer;      /* with sign: "NAME:SECRET" */
    const char *ca_file;     /* PEM with the authorities to trust; NULL: the system's */
    const char *ca_advice;   /* ends the sentence on an untrusted certificate; NULL: the system's */
    const char *client_cert; /* PEM with the certificate to show; NULL: none */
    const char *client_key;  /* PEM with its key */
    bool insecure;           /* certificates are not checked */
    bool direct;             /* the environment's proxies are not used */
    const char *agent;       /* "gpufl/0.1.0" */
    int64_t connect_timeout; /* ns; 0: 10 s */
    int64_t stall_timeout;   /* ns without a byte either way; 0: 60 s */
    int64_t deadline; /* CLOCK_MONOTONIC ns: requests end then, with GPUFL_E_STATE; 0: none */
    /* Non-zero: requests end with GPUFL_E_STATE within a second. NULL: never. A signal handler sets
     * it, or another thread with __atomic_store_n. */
    const volatile sig_atomic_t *stop;
    /* Called for each address before the client connects to it, whatever name led there. False: the
     * client does not connect, and the request ends with GPUFL_E_PERM. With this function no proxy
     * is used, since it would hide the address. NULL: all addresses are allowed. */
    bool (*allow)(void *arg, const struct sockaddr *to, unsigned len);
    void *allow_arg;
};

struct http_client_field {
    const char *name, *value;
};

/* Describes a request. Texts are the caller's. */
struct http_client_call {
    const char *method; /* "GET", "POST" */
    const char *path;   /* after the URL's prefix: "/api/v1/…", with its query */
    struct http_client_field
        fields[HTTP_CLIENT_FIELDS]; /* after the client's own; name NULL: end */
    /* Writes the next bytes of the body to out and returns how many; 0: the end; negative: a code
     * of base/err.h, which ends the request and is its result. NULL: no body. */
    int64_t (*read)(void *arg, char *out, size_t size);
    int64_t body_size; /* bytes; -1: unknown, sent in chunks */
    /* Called from time to time with the bytes of the body that were sent so far. May be NULL. */
    void (*progress)(void *arg, int64_t sent);
    /* Takes the body of an answer with a status below 300 piece by piece; that body is then not
     * collected. Returns 0, or a code of base/err.h, which ends the request and is its result.
     * NULL: all bodies are collected. */
    int (*write)(void *arg, const char *data, size_t n);
    void *arg; /* of read, progress and write */
    /* CLOCK_MONOTONIC ns: this request ends then, with GPUFL_E_TIMEOUT; 0: none. */
    int64_t deadline;
};

/* This is a body that is in memory: the arg of a call whose `read` is http_client_read_text. */
struct http_client_text {
    const char *at;
    size_t left; /* bytes */
};

int64_t http_client_read_text(void *arg, char *out, size_t size);

/* Watches requests that take long. */
struct http_client_watch {
    /* Called about once a second during a request. moved: CLOCK_MONOTONIC ns at which bytes of a
     * body were last sent or received; 0: none were. False: the request ends with
     * GPUFL_E_UNAVAILABLE, as without an answer. */
    bool (*waiting)(void *arg, int64_t moved);
    void *arg;
};

struct http_client_answer {
    int status;          /* 0: there was none */
    struct buf body;     /* owned; at most HTTP_CLIENT_ANSWER_MAX */
    int64_t retry_after; /* s that the server asks to wait; -1: it does not say */
    int64_t sent;        /* bytes of the body */
    bool stalled;        /* the connection stood, but no byte was sent or received for too long */
    bool cut;            /* no answer came, and the connection ended while the body was sent */
    char tag[72];        /* the ETag; "": none, or it is too long */
};

struct http_client;

/* Opens a client. GPUFL_E_INVAL with a sentence: a malformed URL; GPUFL_E_NOT_BUILT: no libcurl. */
int http_client_open(struct http_client **out, const struct http_client_config *c, struct err *e);
void http_client_close(struct http_client *c);

/* Returns "https://host:port/prefix": where requests go; for messages. */
const char *http_client_url(const struct http_client *c);
/* Returns "http://host:port" of the proxy that requests go through, without name and password; "":
 * none. */
const char *http_client_proxy(const struct http_client *c);

/* Sets the watch for the requests that follow; it is copied. NULL: none. */
void http_client_set_watch(struct http_client *c, const struct http_client_watch *watch);
/* Returns true if the server, or a proxy, has answered any request of this client. */
bool http_client_answered(const struct http_client *c);

/* Sends one request and waits for its answer, whatever its status. 0, or GPUFL_E_UNAVAILABLE (no
 * connection, or it broke or stalled), GPUFL_E_PERM (the certificate is not trusted), GPUFL_E_STATE
 * (stopped, or the client's deadline has passed), GPUFL_E_TIMEOUT (the call's deadline),
 * GPUFL_E_FULL (the answer is too long), GPUFL_E_INVAL (a field has control characters), or the
 * code of read or write; *e has the sentence. The answer must be initialized, and is emptied
 * first. */
int http_client_send(struct http_client *c, const struct http_client_call *call,
                     struct http_client_answer *a, struct err *e);

void http_client_answer_init(struct http_client_answer *a);
void http_client_answer_fini(struct http_client_answer *a);

/* Writes the normal form of a URL to out: with a scheme, without trailing slashes. GPUFL_E_INVAL
 * with a sentence: the URL has another scheme, a name and password, a query or control characters,
 * or is too long. */
int http_client_clean_url(const char *url, char *out, size_t size, struct err *e);
/* Returns true if the server is this machine: localhost, *.localhost, 127.0.0.0/8, ::1, 0.0.0.0,
 * ::, in every spelling that libcurl accepts: old forms of IPv4, zones, %XX, mapped addresses. No
 * proxy is used for them. */
bool http_client_is_here(const char *clean_url);
/* Does what http_client_is_here does, but returns false for 0.0.0.0 and ::, on which a server
 * listens for all machines. */
bool http_client_is_loopback(const char *clean_url);
/* Returns true if others can read a request to that URL on its way: http, and not to this machine.
 * A proxy changes nothing: it forwards http as it is, and of https it sees only the host. */
bool http_client_in_clear(const char *clean_url);
/* Writes the proxy that the environment names for a URL, with name and password, to out; "": none,
 * or none for this host (no_proxy, http_client_is_here). GPUFL_E_INVAL with a sentence: the text is
 * no proxy, or the host is not ASCII, since only libcurl can tell which machine that is. */
int http_client_find_proxy(const char *clean_url, char *out, size_t size, struct err *e);
/* Writes a proxy's URL without name and password to out, for messages. */
void http_client_show_proxy(const char *proxy, char *out, size_t size);

#endif
