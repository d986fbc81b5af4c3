/* quota.h - limits what a workspace, and a key, may send in a day (UTC) and in a second.
 *
 * Sessions, bytes of bodies as sent, and hosts are counted in memory, from midnight or from the
 * server's start; each of several servers counts separately. What has begun may go on: bodies of a
 * session and host that are counted already are refused only for their bytes. A session and a host
 * are counted when one of their bodies is accepted, and only if there is a limit. Rates are
 * measured over the last few seconds: a client beyond its rate waits some seconds.
 *
 * The options have the limits for all. Limits of one workspace or key (quota_set) replace them as
 * soon as they are set; the caller stores these in the small tables.
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

/* The limits of one workspace or key. */
struct quota_own {
    enum quota_of of;
    char id[64];
    int64_t limits[QUOTA_WHATS];
};

struct quotas {
    int64_t limits[QUOTA_OFS][QUOTA_WHATS]; /* 0: no limit; constant */
    pthread_mutex_t lock;
    struct quota_own *owns; /* owned, guarded by lock */
    size_t own_count, own_cap;
    int64_t read_at; /* when the caller read the small tables, ns; guarded by lock; 0: never */
    int64_t day;     /* UTC days since the epoch. This and below: guarded by lock */
    struct quota_use *uses; /* owned */
    size_t count, cap;
};

/* Reads texts like "sessions=1000,bytes=10G,hosts=50,rate=1M,bodies=20"; NULL: no limits.
 * GPUFL_E_INVAL with a sentence. */
int quotas_init(struct quotas *q, const char *workspace, const char *key, struct err *e);
void quotas_fini(struct quotas *q);

/* A body, and its sender. */
struct quota_body {
    const char *workspace;
    const char *key;     /* "": sent without a key */
    const char *session; /* NULL: not known before the body is read */
    const char *host;    /* NULL: not stated */
    int64_t now;         /* ns since the Unix epoch */
};

/* Sets the limits of one workspace or key; "": those of the options count again. GPUFL_E_INVAL with
 * a sentence: nothing has changed. */
int quota_set(struct quotas *q, enum quota_of of, const char *id, const char *limits,
              struct err *e);

/* 0: the body may be sent. GPUFL_E_TIMEOUT: a limit is reached, which *e names; *wait gets the
 * seconds until the next try: some, or until the next day. */
int quota_admit(struct quotas *q, const struct quota_body *b, int64_t *wait, struct err *e);

struct parts;

/* Reads the limits of single workspaces and keys from the small tables, once a minute. */
void quota_refresh(const struct parts *p);

/* Counts an accepted body. bytes: as sent. */
void quota_count(struct quotas *q, const struct quota_body *b, int64_t bytes);

/* Puts "limits":[{"of","what","limit","used"},…] for the workspace, and for the key if it is not
 * "". */
void quota_json(struct quotas *q, const struct quota_body *b, struct json_out *out);

/* The end of the day, ns since the Unix epoch. */
int64_t quota_resets(int64_t now);

#endif
