/* quota.h - how much a workspace, and a key, may send in a day (UTC) and in a second.
 *
 * Sessions, bytes of bodies as they come, and hosts are counted in memory, from midnight or from
 * the server's start: each of several servers counts by itself. What was begun may go on: bodies of
 * a session that counts already, from a host that counts, are refused for their bytes alone. A
 * session and a host count when one of their bodies was accepted, and only where they are limited.
 * Rates are of the last moment: a client beyond its rate waits some seconds.
 *
 * The options say what holds for all. Limits of one workspace or key (quota_set) hold instead, from
 * the moment at which they are set, and are kept in the small tables by whoever sets them.
 *
 * Threads: any; one lock. */
#ifndef GPUFL_SERVER_API_QUOTA_H
#define GPUFL_SERVER_API_QUOTA_H

#include "analyze/common/json_out.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

/* The first three are of a day; RATE: bytes a second; BODIES: bodies a second. */
enum quota_what { QUOTA_SESSIONS, QUOTA_BYTES, QUOTA_HOSTS, QUOTA_RATE, QUOTA_BODIES, QUOTA_WHATS };
enum quota_of { QUOTA_WORKSPACE, QUOTA_KEY, QUOTA_OFS };

struct quota_use;

/* Limits of one workspace or key. */
struct quota_own {
    enum quota_of of;
    char id[64];
    int64_t limits[QUOTA_WHATS];
};

struct quotas {
    int64_t limits[QUOTA_OFS][QUOTA_WHATS]; /* 0: none; constant */
    pthread_mutex_t lock;
    struct quota_own *owns; /* owned, guarded by lock */
    size_t own_count, own_cap;
    int64_t read_at; /* when the caller read the small tables, ns; guarded by lock; 0: never */
    int64_t day;     /* UTC days since the epoch. This and below: guarded by lock */
    struct quota_use *uses; /* owned */
    size_t count, cap;
};

/* Texts like "sessions=1000,bytes=10G,hosts=50,rate=1M,bodies=20"; NULL: no limits. INVAL with a
 * sentence. */
int quotas_init(struct quotas *q, const char *workspace, const char *key, struct err *e);
void quotas_fini(struct quotas *q);

/* A body that somebody sends. */
struct quota_body {
    const char *workspace;
    const char *key;     /* "": the sender is no key */
    const char *session; /* NULL: not known before the body is read */
    const char *host;    /* NULL: not stated */
    int64_t now;         /* ns since the Unix epoch */
};

/* Sets the limits of one workspace or key; "": those of the options hold again. INVAL with a
 * sentence, and nothing has changed. */
int quota_set(struct quotas *q, enum quota_of of, const char *id, const char *limits,
              struct err *e);

/* Says whether the body may be sent. TIMEOUT: a limit is reached; *e says which, and *wait gets the
 * seconds until it may be tried again: until the next day, or some. */
int quota_admit(struct quotas *q, const struct quota_body *b, int64_t *wait, struct err *e);

struct parts;

/* Reads the limits of single workspaces and keys from the small tables, once a minute. */
void quota_refresh(const struct parts *p);

/* The body was accepted. bytes: as they came. */
void quota_count(struct quotas *q, const struct quota_body *b, int64_t bytes);

/* "limits":[{"of","what","limit","used"},…] for the workspace and, where it is not "", the key. */
void quota_json(struct quotas *q, const struct quota_body *b, struct json_out *out);

/* The end of the day, ns since the Unix epoch. */
int64_t quota_resets(int64_t now);

#endif
