/* session_ref.h - the session that a request is about: its entry, its columns, its time base.
 *
 * Times of columns are CLOCK_MONOTONIC of the host; answers tell them since the
 * session's start, which stands in the session's first header line. It is looked
 * for once and remembered. [worker] */
#ifndef GPUFL_SERVER_API_SESSION_REF_H
#define GPUFL_SERVER_API_SESSION_REF_H

#include "meta/meta.h"
#include "server/api/call.h"
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

/* Before an answer that is sent while it is made, which a store that is away could only cut short:
 * asks it for something small. false: the problem is the answer, and s is closed. */
bool session_ref_answers(struct call *c, struct session_ref *s);

/* Whether the client has this already: what it asked is of a session that has ended, and nothing
 * came since. Answers 304 then; else tag gets what to give with the answer, "" for none. */
bool session_ref_unchanged(struct call *c, const struct session_ref *s, char tag[32]);

#endif
