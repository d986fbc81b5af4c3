/* session_ref.h - the session that a request is about: its entry, its columns, its time base.
 *
 * Times of columns are CLOCK_MONOTONIC of the host; answers count them from the session's start,
 * which the session's first header line has. The start is searched once and remembered. [worker] */
#ifndef GPUFL_SERVER_REQUEST_SESSION_REF_H
#define GPUFL_SERVER_REQUEST_SESSION_REF_H

#include "meta/meta.h"
#include "server/request/call.h"
#include "store/store.h"

#include <pthread.h>

enum { STARTS_MAX = 512 };

/* Starts of sessions that were asked about lately. [any] */
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
    struct store_session *columns; /* NULL: nothing of it has been committed */
    int64_t start;                 /* CLOCK_MONOTONIC ns */
};

/* false: the problem is the answer. */
bool session_ref_open(struct call *c, const char *session, struct session_ref *s);
void session_ref_close(struct call *c, struct session_ref *s);

/* Called before an answer that is sent while it is made, which an absent store could only cut
 * short: asks the store for something small. false: the problem is the answer, and s is closed. */
bool session_ref_answers(struct call *c, struct session_ref *s);

/* Says whether the client has this answer already: the session has ended, and nothing came since.
 * Answers 304 then; else tag gets the answer's tag, "" for none. */
bool session_ref_unchanged(struct call *c, const struct session_ref *s, char tag[32]);

#endif
