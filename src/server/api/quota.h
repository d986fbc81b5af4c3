/* quota.h - limits what a workspace, and a key, may send in a day (UTC) and in a second.
 *
 * Sessions, bytes of bodies as sent, and hosts are counted from midnight on, in memory and in the
 * small tables: before a body is acknowledged, its counts are written (quota_store.c), so they
 * outlive a restart. Servers that share the small tables add up; one learns within a
 * minute what another counted. What has begun may go on: bodies of a session and host that are
 * counted already are refused only for their bytes. A session and a host are counted when one of
 * their bodies is accepted, and only if there is a limit. Rates are measured by each server over
 * the last few seconds: a client beyond its rate waits some seconds.
 *
 * The options have the limits for all. Limits of one workspace or key (quota_set) replace them as
 * soon as they are set; the caller stores these in the small tables.
 *
 * Threads: any. Lock order: writing, lock. */
#ifndef GPUFL_SERVER_API_QUOTA_H
#define GPUFL_SERVER_API_QUOTA_H

#include "analyze/common/json_out.h"
#include "base/err.h"
#include "meta/quota_days.h"

#include <pthread.h>
#include <stdbool.h>

/* The first three are of a day; RATE: bytes a second; BODIES: bodies a second. */
enum quota_what { QUOTA_SESSIONS, QUOTA_BYTES, QUOTA_HOSTS, QUOTA_RATE, QUOTA_BODIES, QUOTA_WHATS };
enum quota_of { QUOTA_WORKSPACE, QUOTA_KEY, QUOTA_OFS };

struct quota_use;

/* Holds the limits of one workspace or key. */
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
    uint64_t days;           /* how often a day began */
    uint64_t counted;        /* number of counted bodies */
    uint64_t written;        /* … whose counts are in the small tables */
    pthread_mutex_t writing; /* held while counts are written or read */
    bool failing;            /* the last counts could not be written; guarded by writing */
};

/* Reads texts like "sessions=1000,bytes=10G,hosts=50,rate=1M,bodies=20"; NULL: no limits.
 * GPUFL_E_INVAL with a sentence. */
int quotas_init(struct quotas *q, const char *workspace, const char *key, struct err *e);
void quotas_fini(struct quotas *q);

/* This is a body, and its sender. */
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

/* Returns 0 if the body may be sent. GPUFL_E_TIMEOUT: a limit is reached, which *e names; *wait
 * gets the seconds until the next try: some, or until the next day. */
int quota_admit(struct quotas *q, const struct quota_body *b, int64_t *wait, struct err *e);

/* Counts an accepted body. bytes: as sent. quota_keep writes it. */
void quota_count(struct quotas *q, const struct quota_body *b, int64_t bytes);

/* Holds counts on their way to the small tables. */
struct quota_batch {
    struct meta_quota_counts counts;
    uint64_t upto, days; /* of struct quotas */
};

/* Gives what is not in the small tables, in *mem: 0 or GPUFL_E_NOMEM. quota_wrote notes that it was
 * written. [writing held] */
int quota_unwritten(struct quotas *q, struct region *mem, struct quota_batch *out);
void quota_wrote(struct quotas *q, const struct quota_batch *b);

/* Takes a day's counts from the small tables, after all was written: 0 or GPUFL_E_NOMEM. [writing
 * held] */
int quota_recall(struct quotas *q, int64_t day, const struct meta_quota_counts *c);

int64_t quota_day(int64_t now); /* UTC days since the Unix epoch */

/* Puts "limits":[{"of","what","limit","used"},…] for the workspace, and for the key if it is not
 * "". */
void quota_json(struct quotas *q, const struct quota_body *b, struct json_out *out);

/* ---- quota_store.c --------------------------------------------------------------------------- */

/* Reads the limits of single workspaces and keys, and the counts of the day, from the small tables,
 * once a minute and when a day begins. */
void quota_refresh(struct quotas *q, struct meta *m);

/* Writes the counts of bodies that quota_count counted; callers at one time share a transaction. If
 * that fails, the log says so, and the next call writes them. */
void quota_keep(struct quotas *q, struct meta *m);

/* Returns the end of the day, ns since the Unix epoch. */
int64_t quota_resets(int64_t now);

#endif
