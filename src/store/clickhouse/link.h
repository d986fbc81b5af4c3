/* link.h - connections to ClickHouse's servers, and what is said over them.
 *
 * A statement goes out as the body of a POST, rows of an insert as the body with the statement in
 * the query; answers come as blocks of the format Native. Name and password travel in header
 * fields: they stand in no address, no statement and no message.
 *
 * Links lie idle in one list by server; whoever takes one has it alone. Functions: any thread; a
 * link: its owner. */
#ifndef GPUFL_STORE_CLICKHOUSE_LINK_H
#define GPUFL_STORE_CLICKHOUSE_LINK_H

#include "net/client/http_client.h"
#include "store/clickhouse/native.h"

#include <pthread.h>

enum { LINK_HOSTS_MAX = 16, LINK_NAME_MAX = 64, LINK_IDLE_MAX = 16 };

/* "clickhouse://user:password@host:port,host:port/prefix?cluster=name", taken apart. */
struct link_place {
    char hosts[LINK_HOSTS_MAX][256]; /* "http://host:port" */
    unsigned host_count;
    char user[LINK_NAME_MAX], password[256];
    char prefix[LINK_NAME_MAX];  /* of the databases; [0-9A-Za-z_]+ */
    char cluster[LINK_NAME_MAX]; /* as the servers call it; "": none */
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
    int64_t memory_limit; /* bytes a statement may take; of the server */
    int threads;          /* of a statement; 0: the server's own choice */
};

/* INVAL with a sentence that does not hold the password. */
int link_parse(struct link_place *p, const char *url, struct err *e);

int links_open(struct links *l, const char *url, int64_t memory_limit, int threads, struct err *e);
void links_close(struct links *l);

/* Runs a statement; its blocks go to take. until: CLOCK_MONOTONIC ns; 0: no limit. The server's
 * errors come as codes of base/err.h (NOENT: no such database or table), with its sentence. */
int link_ask(struct links *l, unsigned host, const char *text, size_t len, int64_t until,
             ask_take take, void *arg, struct err *e);

struct link_login {
    const char *name, *password;
};

/* The same as another user, in its own profile: no setting is sent. Its text ends with a NUL. */
int link_ask_as(struct links *l, unsigned host, const struct link_login *who, const char *text,
                ask_take take, void *arg, struct err *e);

/* A statement whose answer is a text, sent when it is whole, under an id by which it can be killed.
 * FULL: there is more than answer may hold, which has the beginning. */
int link_text_as(struct links *l, unsigned host, const struct link_login *who, const char *id,
                 const struct buf *text, int64_t until, struct buf *answer, struct err *e);

/* The same as link_ask for a statement without an answer, from a text. */
int link_do(struct links *l, unsigned host, const char *text, struct err *e);

/* Inserts a body of Native blocks; into: "`database`.`table`". After an error it is not known
 * whether the rows are there. */
int link_insert(struct links *l, unsigned host, const char *into, const char *body, size_t len,
                struct err *e);

#endif
