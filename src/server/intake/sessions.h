/* sessions.h - the table of sessions that are being received, which senders and the loader
 * share.
 *
 * A session is in the table while a body of it comes, a frame of it is not loaded, or it was
 * used a while ago: each of these holds a reference. When it is taken in, the stores' knowledge
 * of it is read once; from then on every frame passes here, so that the entry is the truth: how
 * far each channel is accepted, which windows are there, whose process it is.
 *
 * Identities of windows, and the lines of the public client's sessions, of which a decoder must
 * hear all from the start, are kept in a file a session next to the journal (session_frames.h).
 *
 * Members that senders and the loader share are guarded by the session's lock. */
#ifndef GPUFL_SERVER_INTAKE_SESSIONS_H
#define GPUFL_SERVER_INTAKE_SESSIONS_H

#include "base/err.h"
#include "meta/meta.h"
#include "server/intake/journal.h"
#include "store/store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SESSION_CHANNELS = STORE_POSITIONS_MAX - 4, SESSION_HOST_MAX = 256 };

struct session_channel {
    char name[JOURNAL_CHANNEL_MAX];
    int64_t offset; /* accepted: plain bytes since the session's start */
};

/* The process that a session belongs to: two processes that use one id differ in one of these. */
struct session_owner {
    bool known;
    int64_t pid;                 /* 0: unknown */
    char host[SESSION_HOST_MAX]; /* "": unknown */
};

struct row_writer;    /* loader.c: what the loader knows of it */
struct queue_session; /* loader_queue.c: its frames that wait */

struct intake_session {
    char workspace[STORE_ID_MAX], session[STORE_ID_MAX];
    unsigned thread; /* of the loader; constant */
    pthread_mutex_t lock;
    bool taken_in; /* what the stores know was read */
    bool dropped;  /* it was deleted: nothing of it is wanted */
    struct session_owner owner;
    struct session_channel channels[SESSION_CHANNELS];
    unsigned channel_count;
    uint64_t *windows; /* owned: identities that are there, sorted */
    size_t window_count, window_cap;
    struct store_position loaded[STORE_POSITIONS_MAX]; /* of the store, when it was taken in */
    unsigned loaded_count;
    bool stored;                   /* the store has something of it */
    bool damaged;                  /* the loader found that what the store has cannot be read */
    struct store_session *columns; /* while the loader has it open, else NULL; the loader's */
    /* Guarded by the table's lock. */
    unsigned users;
    int64_t used; /* CLOCK_MONOTONIC ns, of the last use */
    struct intake_session *next;
    struct row_writer *writer;     /* the loader's thread alone */
    struct queue_session *waiting; /* guarded by the lock of the loader's thread */
};

struct sessions_config {
    const struct store_ops *ops;
    struct store *store;
    struct meta *meta;  /* NULL: none: nothing is registered (a store that is loaded once) */
    const char *folder; /* for kept files; created */
    bool shared;        /* other servers load sessions to the same store */
    unsigned threads;   /* of the loader */
};

struct sessions;

int sessions_open(struct sessions **out, const struct sessions_config *c, struct err *e);
void sessions_close(struct sessions *t); /* nobody uses it any more */
const struct sessions_config *sessions_config(const struct sessions *t);

/* The session, made where it is new. NULL: out of memory. Ids must be sound. */
struct intake_session *sessions_get(struct sessions *t, const char *workspace, const char *session);
/* The session where it is in the table, else NULL. */
struct intake_session *sessions_find(struct sessions *t, const char *workspace,
                                     const char *session);
void sessions_put(struct sessions *t, struct intake_session *s);

/* Reads what the stores know of it, once. Caller holds s->lock. */
int sessions_take_in(struct sessions *t, struct intake_session *s, struct err *e);

/* Like sessions_take_in; what another server has deleted since is then known as deleted. Caller
 * holds s->lock. */
int sessions_take_in_again(struct sessions *t, struct intake_session *s, struct err *e);

/* Forgets what of it was accepted, so that the stores are asked again: what they do not have is
 * then expected from its sender once more. Caller holds s->lock. */
void sessions_forget(struct intake_session *s);

/* Puts what the store has of a damaged session apart, and begins the session anew. UNAVAILABLE:
 * this store cannot. Caller holds s->lock. */
int sessions_replace(struct sessions *t, struct intake_session *s, struct err *e);

/* Reads the session's positions once more, where other servers load the session as well. Caller
 * holds s->lock. */
int sessions_look_again(struct sessions *t, struct intake_session *s, struct err *e);

/* The position of a channel; NULL: the session has no room for another. Caller holds s->lock. */
struct session_channel *sessions_channel(struct intake_session *s, const char *name);

/* Windows. Caller holds s->lock. 0 or NOMEM. */
bool sessions_has_window(const struct intake_session *s, uint64_t identity);
int sessions_add_window(struct intake_session *s, uint64_t identity);
void sessions_drop_window(struct intake_session *s, uint64_t identity);

/* Says whether a header's process can be this session's; fills in what was unknown. Caller holds
 * s->lock. */
bool sessions_owner_fits(struct intake_session *s, int64_t pid, const char *host);

/* Says whether anything of a session was accepted, loaded or not. */
bool sessions_known(struct sessions *t, const char *workspace, const char *session);

/* Notes what a frame says of the session, for frames that the journal hands out at the start. */
int sessions_note(struct intake_session *s, const struct journal_frame *f);

/* The session was deleted: nothing of it is wanted any more, and what was kept of it goes. */
int sessions_drop(struct sessions *t, const char *workspace, const char *session, struct err *e);

/* Releases sessions that nobody has used for ns. */
void sessions_sweep(struct sessions *t, int64_t ns);

/* [0-9A-Za-z_-]+, shorter than max with its NUL. */
bool sessions_id_ok(const char *id, size_t max);

#endif
