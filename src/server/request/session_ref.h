/* session_ref.h - finds the session of a request: its entry, its columns, and the start of its
 * times.
 *
 * Times in columns are CLOCK_MONOTONIC of the host; answers count from the session's start, which
 * is in the session's first header line. The start is searched once and cached. [worker] */
#ifndef GPUFL_SERVER_REQUEST_SESSION_REF_H
#define GPUFL_SERVER_REQUEST_SESSION_REF_H

#include "meta/meta.h"
#include "server/request/call.h"
#include "store/store.h"

#include <pthread.h>

enum { STARTS_MAX = 512 };

/* Keeps cached starts of sessions that were used lately. [any] */
struct starts {
    pthread_mutex_t lock;
    struct start {
        char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
        int64_t at;
    } entries[STARTS_MAX]; /* guarded by lock; by hash of the ids */
};

void starts_init(struct starts *s);
void starts_fini(struct starts *s);

struct session_ref {
    struct meta_session row;       /* texts in the call's memory */
    struct store_session *columns; /* NULL: nothing has been committed */
    int64_t start;                 /* CLOCK_MONOTONIC ns */
};

/* Finds and opens the session; false: a problem was answered. */
bool session_ref_open(struct call *c, const char *session, struct session_ref *s);
void session_ref_close(struct call *c, struct session_ref *s);

/* Call this function before an answer that is sent while it is made, which could only be cut if the
 * store failed: asks the store for something small. False: a problem was answered, and s is
 * closed. */
bool session_ref_answers(struct call *c, struct session_ref *s);

/* Returns true if the client has this answer already, since the session has ended and nothing came
 * since; then 304 was answered. Otherwise tag gets the answer's tag, "" for none. */
bool session_ref_unchanged(struct call *c, const struct session_ref *s, char tag[32]);

#endif
