/* session_list.h - the list of a store's open sessions, the last used one first.
 *
 * An engine's struct store_session begins with a struct listed. A thread that opens or closes a
 * session sets an intermediate state, releases the lock while the engine works, and wakes the other
 * threads. A session without a reference stays open until others need the room; the one used
 * longest ago is closed first.
 *
 * Call the functions with the list's lock held, except init, fini and close_all. Functions that
 * wait or close release the lock meanwhile. */
#ifndef GPUFL_STORE_SESSION_LIST_H
#define GPUFL_STORE_SESSION_LIST_H

#include "store/store.h"

#include <pthread.h>

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING };

struct append;

struct listed {
    struct listed *next;      /* guarded by the list's lock */
    unsigned refs;            /* guarded by the list's lock */
    enum session_state state; /* guarded by the list's lock */
    struct append *append;    /* inside a transaction, else NULL; the session's writer alone */
    char workspace[STORE_ID_MAX], id[STORE_ID_MAX];
};

struct session_list {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a session's state */
    struct listed *first;   /* guarded by lock */
    unsigned count;         /* guarded by lock */
    unsigned most;          /* open sessions, as long as some of them have no reference */
    /* close is called without the lock, for a session that is still in the list but that no caller
     * can get; then free is called with the lock, after the session has left the list. */
    void (*close)(struct listed *at);
    void (*free)(struct listed *at);
};

void session_list_init(struct session_list *l, void (*close)(struct listed *at),
                       void (*free)(struct listed *at));
void session_list_close_all(struct session_list *l);
void session_list_fini(struct session_list *l);

struct listed *session_list_find(struct session_list *l, const char *workspace, const char *id);

/* Finds a session; waits while it is being opened or closed. */
struct listed *session_list_find_settled(struct session_list *l, const char *workspace,
                                         const char *id);

/* session_list_add adds a session as OPENING, with one reference; session_list_opened marks it
 * OPEN; session_list_remove removes it without closing it. */
void session_list_add(struct session_list *l, struct listed *at);
void session_list_opened(struct session_list *l, struct listed *at);
void session_list_remove(struct session_list *l, struct listed *at);

void session_list_used(struct session_list *l, struct listed *at); /* makes it the last used one */
void session_list_close(struct session_list *l, struct listed *at);
void session_list_make_room(struct session_list *l); /* for one more, if a session can be closed */

/* The functions set errors with sentences: GPUFL_E_INVAL for a bad id; GPUFL_E_NOENT for an absent
 * session; for a session that is being deleted GPUFL_E_BUSY if create, else GPUFL_E_NOENT. */
int session_check_ids(const char *workspace, const char *session, struct err *e);
int session_absent(const char *session, struct err *e);
int session_going(const char *session, bool create, struct err *e);

#endif
