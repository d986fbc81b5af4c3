/* quota.h - how much a workspace, and a key, may send in a day (UTC).
 *
 * Sessions, bytes of bodies as they come, and hosts are counted in memory, from midnight or from
 * the server's start: each of several servers counts by itself. What was begun may go on: bodies of
 * a session that counts already, from a host that counts, are refused for their bytes alone. A
 * session and a host count when a body of theirs was accepted, and only where they are limited.
 *
 * Threads: any; one lock. */
#ifndef GPUFL_SERVER_API_QUOTA_H
#define GPUFL_SERVER_API_QUOTA_H

#include "analyze/common/json_out.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

enum quota_what { QUOTA_SESSIONS, QUOTA_BYTES, QUOTA_HOSTS, QUOTA_WHATS };
enum quota_of { QUOTA_WORKSPACE, QUOTA_KEY, QUOTA_OFS };

struct quota_use;

struct quotas {
    int64_t limits[QUOTA_OFS][QUOTA_WHATS]; /* a day; 0: none. Constant */
    pthread_mutex_t lock;
    int64_t day;            /* UTC days since the epoch. This and below: guarded by lock */
    struct quota_use *uses; /* owned */
    size_t count, cap;
};

/* Texts like "sessions=1000,bytes=10G,hosts=50"; NULL: no limits. INVAL with a sentence. */
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

/* Says whether the body may be sent. TIMEOUT: a limit of the day is reached; *e says which, and
 * *wait gets the seconds until the next day. */
int quota_admit(struct quotas *q, const struct quota_body *b, int64_t *wait, struct err *e);

/* The body was accepted. bytes: as they came. */
void quota_count(struct quotas *q, const struct quota_body *b, int64_t bytes);

/* "limits":[{"of","what","limit","used"},…] for the workspace and, where it is not "", the key. */
void quota_json(struct quotas *q, const struct quota_body *b, struct json_out *out);

/* The end of the day, ns since the Unix epoch. */
int64_t quota_resets(int64_t now);

#endif
