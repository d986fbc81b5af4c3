/* http_client.h - sends one HTTP request after the other.
 *
 * Over libcurl, which is opened when something is to be sent; no program or library of ours is
 * linked to it. A build without its header has http_client_none.c instead. Both say what to
 * install. Bodies come from a callback, in memory that does not grow with them; answers are
 * collected up to a ceiling.
 *
 * Certificates are checked; https is meant where a URL names no scheme. Redirects are not
 * followed, so that the key goes nowhere else; proxies are those of the environment
 * (https_proxy, no_proxy, …), except for servers on this machine, which are asked directly. No
 * message has the key or the signer, which are wiped at the end. The caller tries again
 * (backoff.h).
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
    const char *url;         /* "https://host[:port][/prefix]"; no scheme: https */
    const char *key;         /* sent as Bearer; NULL or "": none */
    const char *sign;        /* how libcurl signs requests, "aws:amz:us-east-1:s3"; NULL: not */
    const char *signer;      /* with sign: "NAME:SECRET" */
    const char *ca_file;     /* PEM with the authorities to trust; NULL: the system's */
    const char *ca_advice;   /* ends the sentence on an untrusted certificate; NULL: the system's */
    const char *client_cert; /* PEM with the certificate to show; NULL: none */
    const char *client_key;  /* PEM with its key */
    bool insecure;           /* certificates are not checked */
    bool direct;             /* the environment's proxies are not for this */
    const char *agent;       /* "gpufl/0.1.0" */
    int64_t connect_timeout; /* ns; 0: 10 s */
    int64_t stall_timeout;   /* ns without a byte either way; 0: 60 s */
    int64_t deadline; /* CLOCK_MONOTONIC ns: requests end then, with GPUFL_E_STATE; 0: none */
    /* Non-zero: requests end with GPUFL_E_STATE within a second. NULL: never. A signal handler sets
     * it, or another thread with __atomic_store_n. */
    const volatile sig_atomic_t *stop;
    /* Asked for each address before it is connected to, whatever name led there; false: it is
     * not, and the request ends with GPUFL_E_PERM. No proxy is used then: it would hide the
     * address. NULL: all may be. */
    bool (*allow)(void *arg, const struct sockaddr *to, unsigned len);
    void *allow_arg;
};

struct http_client_field {
    const char *name, *value;
};

/* A request. Texts are the caller's. */
struct http_client_call {
    const char *method; /* "GET", "POST" */
    const char *path;   /* after the URL's prefix: "/api/v1/…", with its query */
    struct http_client_field
        fields[HTTP_CLIENT_FIELDS]; /* after the client's own; name NULL: end */
    /* The next bytes of the body into out: how many, 0 at the end, negative: a code of
     * base/err.h, which breaks the request off and is its result. NULL: no body. */
    int64_t (*read)(void *arg, char *out, size_t size);
    int64_t body_size; /* bytes; -1: unknown, sent in chunks */
    /* Called now and then with the bytes of the body that have gone out so far. May be NULL. */
    void (*progress)(void *arg, int64_t sent);
    /* Takes the answer of a status below 300 piece by piece, which is then not collected: 0, or
     * a code of base/err.h, which breaks the request off and is its result. NULL: all is
     * collected. */
    int (*write)(void *arg, const char *data, size_t n);
    void *arg;        /* of all three */
    int64_t deadline; /* CLOCK_MONOTONIC ns: this request ends then, with TIMEOUT; 0: none */
};

/* A body that is in memory: `read` of a call whose arg is a struct http_client_text. */
struct http_client_text {
    const char *at;
    size_t left; /* bytes */
};

int64_t http_client_read_text(void *arg, char *out, size_t size);

/* Watches requests that take long. */
struct http_client_watch {
    /* Called about once a second in a request. moved: CLOCK_MONOTONIC ns at which bytes of a body
     * last went either way, 0: none did. False: the request ends with UNAVAILABLE, for no answer
     * came. */
    bool (*waiting)(void *arg, int64_t moved);
    void *arg;
};

struct http_client_answer {
    int status;          /* 0: there was none */
    struct buf body;     /* owned; at most HTTP_CLIENT_ANSWER_MAX */
    int64_t retry_after; /* s that the server asks to wait; -1: it does not say */
    int64_t sent;        /* bytes of the body */
    bool stalled;        /* the server was connected to, and nothing moved for too long */
    bool cut;            /* no answer came, and the connection ended when the body was under way */
    char tag[72];        /* the ETag; "": none, or too long a one */
};

struct http_client;

/* INVAL with a sentence for a malformed URL, NOT_BUILT without libcurl. */
int http_client_open(struct http_client **out, const struct http_client_config *c, struct err *e);
void http_client_close(struct http_client *c);

/* "https://host:port/prefix": where requests go; for messages. */
const char *http_client_url(const struct http_client *c);
/* "http://host:port" of the proxy that requests go through, without name and password; "": none. */
const char *http_client_proxy(const struct http_client *c);

/* watch: copied; NULL: none. For the requests that follow. */
void http_client_set_watch(struct http_client *c, const struct http_client_watch *watch);
/* Says whether the server, or a proxy, has answered any request of this client. */
bool http_client_answered(const struct http_client *c);

/* Sends one request and waits for its answer, whatever its status. 0, or UNAVAILABLE (nobody there,
 * the connection broke, it stood still), PERM (the certificate is not trusted), STATE (stopped, no
 * time left), TIMEOUT (the call's deadline), FULL (an answer too long), the code of read or write;
 * *e has the sentence. The answer must be initialized, and is emptied first. Texts with control
 * characters go into no field: INVAL. */
int http_client_send(struct http_client *c, const struct http_client_call *call,
                     struct http_client_answer *a, struct err *e);

void http_client_answer_init(struct http_client_answer *a);
void http_client_answer_fini(struct http_client_answer *a);

/* The text of a URL cleaned up: scheme added, trailing slashes cut, into out. INVAL with a
 * sentence: another scheme, a name and password in it, a query, control characters, too long. */
int http_client_clean_url(const char *url, char *out, size_t size, struct err *e);
/* Says whether the server is this machine: localhost, *.localhost, 127.0.0.0/8, ::1, 0.0.0.0, ::,
 * in every spelling that libcurl takes: old forms of IPv4, zones, %XX, mapped addresses. No proxy
 * is asked for those. */
bool http_client_is_here(const char *clean_url);
/* Says the same without 0.0.0.0 and ::, since a server listens there for all machines. */
bool http_client_is_loopback(const char *clean_url);
/* Says whether a request to that URL can be read on the way: http, and not to this machine. A
 * proxy on the way changes nothing: it passes http on as it is, and sees of https only the host. */
bool http_client_in_clear(const char *clean_url);
/* The proxy that the environment names for a URL, with name and password, into out; "": none, or
 * not for this host (no_proxy, is_here). INVAL with a sentence where it cannot be one, and where
 * the host is not in ASCII: which machine that is, libcurl alone knows. */
int http_client_find_proxy(const char *clean_url, char *out, size_t size, struct err *e);
/* A proxy's URL without name and password, for messages. */
void http_client_show_proxy(const char *proxy, char *out, size_t size);

#endif
