/* sessions.h - keeps the table of sessions that are being received, which senders and the loader
 * share.
 *
 * A session is in the table while one of its bodies comes, one of its frames is not loaded, or it
 * was used a short time ago; the first two hold references. What the stores have of a session is
 * read once (sessions_take_in). From then on every frame passes through the table, so the entry is
 * up to date: the accepted offset of each channel, the windows, and the process.
 *
 * Identities of windows, and the lines of the public client's sessions, which a decoder needs from
 * the start, are kept in a file for each session next to the journal (session_frames.h).
 *
 * The session's lock guards the members that senders and the loader share. */
#ifndef GPUFL_SERVER_INTAKE_SESSIONS_H
#define GPUFL_SERVER_INTAKE_SESSIONS_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/journal.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SESSION_CHANNELS = STORE_POSITIONS_MAX - 4, SESSION_HOST_MAX = 256 };

struct session_channel {
    char name[JOURNAL_CHANNEL_MAX];
    int64_t offset; /* accepted uncompressed bytes since the session's start */
};

/* Identifies the process of a session, which distinguishes two processes that use one id. */
struct session_owner {
    bool known;
    int64_t pid;                 /* 0: unknown */
    char host[SESSION_HOST_MAX]; /* "": unknown */
};

struct row_writer;    /* loader.c: the loader's state of a session */
struct queue_session; /* loader/queue.c: its waiting frames */

struct intake_session {
    char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
    unsigned thread; /* of the loader; constant */
    pthread_mutex_t lock;
    bool taken_in; /* what the stores have was read */
    bool dropped;  /* the session was deleted: its frames are dropped */
    struct session_owner owner;
    struct session_channel channels[SESSION_CHANNELS];
    unsigned channel_count;
    uint64_t *windows; /* owned: identities of accepted windows, sorted */
    size_t window_count, window_cap;
    /* Positions in the store when they were read. */
    struct store_position loaded[STORE_POSITIONS_MAX];
    unsigned loaded_count;
    bool stored; /* the store has something of the session */
    /* The loader found that the session's columns cannot be read. */
    bool damaged;
    /* While the loader has the session open, else NULL; only for the loader. */
    struct store_session *columns;
    /* Guarded by the table's lock. */
    unsigned users;
    int64_t used; /* CLOCK_MONOTONIC ns of the last use */
    struct intake_session *next;
    _Atomic bool loading; /* the loader has a row writer for it; relaxed */
    /* Number of the first frame that the loader had no memory to keep: this one and all after it
     * are loaded at the next start, because a position in the columns says that all before it is
     * there. 0: none. Relaxed. */
    _Atomic uint64_t withheld;
    struct row_writer *writer;     /* only for the loader's thread */
    struct queue_session *waiting; /* guarded by the lock of the loader's thread */
};

struct sessions_config {
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;  /* NULL: sessions are not registered (a store that is loaded once) */
    const char *folder; /* for kept files; created */
    bool shared;        /* other servers load sessions to the same store */
    unsigned threads;   /* of the loader */
};

struct sessions;

int sessions_open(struct sessions **out, const struct sessions_config *c, struct err *e);
void sessions_close(struct sessions *t); /* call when the table is no longer used */
const struct sessions_config *sessions_config(const struct sessions *t);

/* Finds or adds the session, and takes a reference. NULL: out of memory. Ids must be valid. */
struct intake_session *sessions_get(struct sessions *t, const char *workspace, const char *session);
/* Does what sessions_get does, but returns NULL if the session is not in the table. */
struct intake_session *sessions_find(struct sessions *t, const char *workspace,
                                     const char *session);
void sessions_put(struct sessions *t, struct intake_session *s);

/* Withholds a frame for which there was no memory, and all frames of the session after it, until
 * the next start, and logs that. The journal keeps them. [any] */
void sessions_withhold(struct sessions *t, struct intake_session *s, uint64_t number);
/* Returns true if the frame is withheld. [any] */
static inline bool sessions_withholds(const struct intake_session *s, uint64_t number)
{
    uint64_t from = atomic_load_explicit(&s->withheld, memory_order_relaxed);
    return from && number >= from;
}
/* Returns the number of sessions with withheld frames. [any] */
uint64_t sessions_withheld(const struct sessions *t);

/* Reads what the stores have of the session, once. Caller holds s->lock. */
int sessions_take_in(struct sessions *t, struct intake_session *s, struct err *e);

/* Does what sessions_take_in does, and also notices that another server has deleted the session.
 * Caller holds s->lock. */
int sessions_take_in_again(struct sessions *t, struct intake_session *s, struct err *e);

/* Forgets what was accepted of the session, so that the stores are read again, and the sender has
 * to send again what they do not have. Caller holds s->lock. */
void sessions_forget(struct intake_session *s);

/* Sets the columns of a damaged session aside, and begins the session again. GPUFL_E_UNAVAILABLE:
 * this store cannot do that. Caller holds s->lock. */
int sessions_replace(struct sessions *t, struct intake_session *s, struct err *e);

/* Reads the session's positions once more, if other servers may load the session, too. Caller holds
 * s->lock. */
int sessions_look_again(struct sessions *t, struct intake_session *s, struct err *e);

/* Returns the position of a channel; NULL: the session has no room for another. Caller holds
 * s->lock. */
struct session_channel *sessions_channel(struct intake_session *s, const char *name);

/* The functions keep the identities of accepted windows. Caller holds s->lock. 0 or
 * GPUFL_E_NOMEM. */
bool sessions_has_window(const struct intake_session *s, uint64_t identity);
int sessions_add_window(struct intake_session *s, uint64_t identity);
void sessions_drop_window(struct intake_session *s, uint64_t identity);

/* Returns true if the process of a header can be this session's; fills in what was unknown. Caller
 * holds s->lock. */
bool sessions_owner_fits(struct intake_session *s, int64_t pid, const char *host);

/* Returns true if something of the session was accepted, loaded or not. */
bool sessions_known(struct sessions *t, const char *workspace, const char *session);

/* Updates the entry from a frame that the journal gives out at the start. */
int sessions_note(struct intake_session *s, const struct journal_frame *f);

/* Notes that the session was deleted: its frames are dropped from now on, and its kept file is
 * removed. */
int sessions_drop(struct sessions *t, const char *workspace, const char *session, struct err *e);

/* Removes sessions that have not been used for ns. */
void sessions_sweep(struct sessions *t, int64_t ns);

/* Returns true for [0-9A-Za-z_-]+ of fewer than max bytes. */
bool sessions_id_ok(const char *id, size_t max);

#endif
