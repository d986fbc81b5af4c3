/* link.h - makes connections to ClickHouse's servers, and the requests on them.
 *
 * A statement is the body of a POST. For an insert the body is the rows, and the statement is in
 * the query. Answers are blocks of the format Native. Name and password are in header fields: no
 * address, statement or message has them.
 *
 * Idle links are in one list; a thread that takes a link has it alone. Functions: any thread; a
 * link: its owner. */
#ifndef GPUFL_STORE_CLICKHOUSE_LINK_H
#define GPUFL_STORE_CLICKHOUSE_LINK_H

#include "net/client/http_client.h"
#include "store/clickhouse/native.h"

#include <pthread.h>

enum { LINK_HOSTS_MAX = 16, LINK_NAME_MAX = 64, LINK_IDLE_MAX = 16 };

/* Holds the parts of "clickhouse://user:password@host:port,host:port/prefix?cluster=name". */
struct link_place {
    char hosts[LINK_HOSTS_MAX][256]; /* "http://host:port" */
    unsigned host_count;
    char user[LINK_NAME_MAX], password[256];
    char prefix[LINK_NAME_MAX];  /* of the databases; [0-9A-Za-z_]+ */
    char cluster[LINK_NAME_MAX]; /* its name in the servers' settings; "": none */
};

struct link {
    struct http_client *client; /* owned */
    struct http_client_answer answer;
    struct native_in in;
    unsigned host;
    struct link *next; /* guarded by links.lock */
};

struct links {
    struct link_place place;
    pthread_mutex_t lock;
    struct link *idle;    /* guarded by lock */
    unsigned idle_count;  /* guarded by lock */
    int64_t memory_limit; /* bytes of the server's memory for a statement */
    int threads;          /* for a statement; 0: the server's default */
};

/* Reads an address. GPUFL_E_INVAL with a sentence, which does not contain the password. */
int link_parse(struct link_place *p, const char *url, struct err *e);

int links_open(struct links *l, const char *url, int64_t memory_limit, int threads, struct err *e);
void links_close(struct links *l);

/* This is a statement, and what takes the blocks of its answer. */
struct link_question {
    const char *text;
    size_t len;
    ask_take take; /* NULL: there is no answer */
    void *arg;
    int64_t until; /* CLOCK_MONOTONIC ns; 0: no limit */
};

/* Runs a statement. The server's errors become codes of base/err.h (GPUFL_E_NOENT: no such database
 * or table), with its sentence. */
int link_ask(struct links *l, unsigned host, const struct link_question *q, struct err *e);

struct link_login {
    const char *name, *password;
};

/* Runs a statement as another user, in that user's profile: no setting is sent. */
int link_ask_as(struct links *l, unsigned host, const struct link_login *who,
                const struct link_question *q, struct err *e);

/* This is a statement whose answer is a text. */
struct link_text {
    const char *id; /* with which the statement can be killed */
    const struct buf *text;
    int64_t until;      /* CLOCK_MONOTONIC ns */
    struct buf *answer; /* its limit is the answer's */
};

/* Runs a statement as another user. The server sends the answer when it is complete. GPUFL_E_FULL:
 * the answer is longer than its limit, and has the beginning. */
int link_text_as(struct links *l, unsigned host, const struct link_login *who,
                 const struct link_text *t, struct err *e);

/* Runs a statement that has no answer. */
int link_do(struct links *l, unsigned host, const char *text, struct err *e);

/* Inserts a body of Native blocks; into: "`database`.`table`". After an error it is unknown whether
 * the rows were inserted. */
int link_insert(struct links *l, unsigned host, const char *into, const char *body, size_t len,
                struct err *e);

#endif
