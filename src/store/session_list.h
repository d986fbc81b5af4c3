/* session_list.h - the list of the sessions that a store has open, last used first.
 *
 * An engine's struct store_session begins with a struct listed. A thread that opens or closes
 * one puts it into an intermediate state, releases the lock while the engine works, and wakes
 * the others. A session without a reference stays until others need the room: the one used
 * longest ago goes first.
 *
 * Functions with a list are called with its lock held, except for init, fini and close_all;
 * those that wait or close release it meanwhile. */
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
    unsigned most;          /* that may be open while some of them have no reference */
    /* The engine closes a session that is still in the list and that nobody can get, without the
     * lock; then it frees the session, out of the list, with the lock. */
    void (*close)(struct listed *at);
    void (*free)(struct listed *at);
};

void session_list_init(struct session_list *l, void (*close)(struct listed *at),
                       void (*free)(struct listed *at));
void session_list_close_all(struct session_list *l);
void session_list_fini(struct session_list *l);

struct listed *session_list_find(struct session_list *l, const char *workspace, const char *id);

/* Finds a session that is neither being opened nor closed; waits for that. */
struct listed *session_list_find_settled(struct session_list *l, const char *workspace,
                                         const char *id);

/* Adds a session as OPENING, with one reference; marks it OPEN; removes it without closing it. */
void session_list_add(struct session_list *l, struct listed *at);
void session_list_opened(struct session_list *l, struct listed *at);
void session_list_remove(struct session_list *l, struct listed *at);

void session_list_used(struct session_list *l, struct listed *at); /* is the last used one now */
void session_list_close(struct session_list *l, struct listed *at);
void session_list_make_room(struct session_list *l); /* for one more, where something can go */

/* Errors: INVAL for a bad id; NOENT for an absent session; BUSY where it is being deleted and is to
 * be created, else NOENT. */
int session_check_ids(const char *workspace, const char *session, struct err *e);
int session_absent(const char *session, struct err *e);
int session_going(const char *session, bool create, struct err *e);

#endif
