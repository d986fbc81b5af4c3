/* engine.h - has what the files of the DuckDB engine share: the instance, its connections, and the
 * sessions that are attached to it.
 *
 * There is one instance, in memory. A large session is a database file of its own, which is
 * attached under an alias when a caller gets the session, and detached when others need the room.
 * So a session is deleted by unlinking its file, and one memory limit holds for all. Small sessions
 * share files in our own format (small.h).
 *
 * Lock order: a session's write_lock, then the store's lock. While a statement runs, only the
 * writer and a backup hold write_lock, and nobody holds the store's lock. */
#ifndef GPUFL_STORE_DUCKDB_ENGINE_H
#define GPUFL_STORE_DUCKDB_ENGINE_H

#include "store/duckdb/gate.h"
#include "store/duckdb/shown.h"
#include "store/duckdb/sql.h"
#include "store/duckdb/watch.h"
#include "store/session_list.h"
#include "store/tables.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

/* This is a connection, in use or in the list of idle ones. */
struct connection {
    struct duck_connection *handle; /* owned */
    struct connection *next;        /* in the idle list; guarded by open.lock */
};

struct store {
    const struct duck *duck;
    struct duck_database *db; /* owned */
    char *root;               /* owned: folder of the files */
    int64_t query_limit;      /* ns */
    int64_t memory_base;      /* bytes that the instance may use with few sessions attached */
    int64_t memory;           /* … that it may use now; guarded by open.lock */
    int64_t memory_most; /* … that it may ever use; = memory_base if the operator set a limit */
    char *program;       /* owned: of store_config; NULL: none */
    atomic_uint copies;  /* number of copies made for select */
    atomic_uint held;    /* how often the library had not released a file yet; relaxed */
    struct watch watch;
    struct packs *packs; /* owned: of small sessions */
    struct shown_list shown;
    struct gate questions; /* for small sessions: as many as processors */
    int64_t small_most;    /* most bytes of a small session's rows; 0: no session is small */
    size_t history_most;   /* rows of a history that are not stored by name yet (history.c) */

    struct session_list open;
    struct connection *idle; /* guarded by open.lock */
    uint64_t aliases;        /* number given out; guarded by open.lock */
};

struct writer;
struct small;

struct store_session {
    struct listed at; /* first */
    struct store *store;
    char alias[24];       /* of its file in the instance: s1, s2, … */
    char *path;           /* owned: its file; for a small session the file that it may get */
    struct small *small;  /* owned; NULL: the session had a file when it was opened */
    unsigned sound_at;    /* sql_given_up when its file last worked; guarded by open.lock */
    bool broken;          /* the file must be attached again; guarded by open.lock */
    bool leaving;         /* being deleted: get fails; guarded by open.lock */
    _Atomic bool dropped; /* deleted for all who have no reference; relaxed */

    /* The number of columns of each table in the file; 0: no such table. Relaxed: the number is set
     * after the table has been made, and a table is never dropped. */
    _Atomic unsigned char have[TABLE_COUNT];
    _Atomic unsigned char have_named; /* likewise, of `history_by_name` (history.c) */

    pthread_mutex_t write_lock; /* held by a thread that writes, or copies the file */
    struct writer *writer;      /* owned; guarded by write_lock, NULL before the first begin */
};

/* Takes an idle connection, or a new one. Give it back with no transaction open. [any] */
int engine_take(struct store *s, struct connection **out, struct err *e);
void engine_give(struct store *s, struct connection *c);

/* Closes a connection whose transaction failed. The library may still have state of that
 * transaction, and the next user of the connection would fail because of it. [any] */
void engine_discard(struct store *s, struct connection *c);

/* Rolls a transaction back; for error paths. */
void engine_undo(struct store *s, struct connection *c);

/* Sets the instance's memory limit for the number of attached sessions. Committed rows that have
 * not been checkpointed are in memory, at least 16 KiB for each column, so each session that is
 * written takes some MiB. Call without store.lock. */
void engine_fit(struct store *s, struct connection *c);

/* Returns how many sessions may be written concurrently with the greatest memory limit. */
unsigned engine_room(struct store *s);

int engine_open(struct store **out, const struct store_config *c, struct err *e);
void engine_close(struct store *s);
void engine_hurry(struct store *s);

/* ---- session.c ----------------------------------------------------------------------------- */

int session_get(struct store *s, const char *workspace, const char *session, bool create,
                struct store_session **out, struct err *e);
void session_put(struct store_session *ss);

/* Opens the file that keeps a workspace's history, as a session. */
int session_get_history(struct store *s, const char *workspace, bool create,
                        struct store_session **out, struct err *e);

/* Keeps a session's files unchanged, attached or not, until session_unhold. */
int session_hold(struct store *s, const char *workspace, const char *id, struct store_session **out,
                 struct err *e);
void session_unhold(struct store_session *ss);

int session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                 struct err *e);
int session_drop(struct store *s, const char *workspace, const char *session, struct err *e);
int session_settle(struct store_session *ss, struct err *e);

/* Makes a new file for the rows of a small session and opens it as a session that is in no list.
 * End it with session_close, then session_free. */
int session_open_own(struct store_session *small, const char *path, struct store_session **out,
                     struct err *e);

/* Opens, in that way, the file of a session that also has records in a pack. */
int session_open_file(struct store_session *small, struct store_session **out, struct err *e);

/* Reserves a session that is not open: others that want the session wait. NULL: no memory.
 * [open.lock held] */
struct store_session *session_reserve(struct store *s, const char *workspace, const char *id,
                                      const char *path);
void session_unreserve(struct store_session *ss);

/* Returns true if the session exists: in a pack, or with a file at path. */
bool session_exists(struct store *s, const char *workspace, const char *id, const char *path);

/* ---- session_files.c ----------------------------------------------------------------------- */

/* Makes the path "<root>/<workspace>/<id>.duckdb", and its folder if `make` says so. */
int session_path(struct store *s, const char *workspace, const char *id, bool make,
                 char path[PATH_MAX], struct err *e);
int session_remove_files(const char *path, struct err *e);
int session_remove_current(const char *path, struct err *e); /* without files that were set aside */
int session_rename_aside(const char *path, struct err *e);
void session_aside_name(const char *path, char *name, size_t room);
int session_set_aside(struct store *s, const char *workspace, const char *session, struct err *e);

/* These are called by the list of open sessions (session_list.h). */
void session_close(struct listed *at);
void session_free(struct listed *at);

/* Puts the table for a FROM clause. A table that the file lacks has no rows; a missing column is
 * null. */
void session_table(struct buf *b, const struct store_session *ss, unsigned table);

const char *session_type(enum cell_type type); /* of a column, in SQL */

/* Puts "s1.main."kernel"", for an existing table. */
void session_name(struct buf *b, const struct store_session *ss, unsigned table);
void session_put_name(struct buf *b, const struct store_session *ss, const struct table *t);

/* Puts statements that make a table, or add the columns after the first `have` to an older one. The
 * second function notes the table in `about`. */
void session_make_table(struct buf *b, const struct store_session *ss, const struct table *t,
                        unsigned have);
void session_note_table(struct buf *b, const struct store_session *ss, unsigned table);

/* ---- write.c ------------------------------------------------------------------------------- */

int write_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                    struct err *e);
int write_begin(struct store_session *ss, struct err *e);
int write_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                 struct err *e);
void write_rollback(struct store_session *ss);
void write_close(struct store_session *ss); /* frees the writer */

int write_begin_waiting(struct store_session *ss, struct err *e); /* for the present writer */

/* Begins a transaction of a session that is in no list and gets all its rows from the caller: the
 * state of struct append is neither loaded nor used. */
int write_begin_alone(struct store_session *ss, struct err *e);

/* ---- keep.c -------------------------------------------------------------------------------- */

int keep_parquet(struct store_session *ss, enum record_type type, const char *path, struct err *e);
void keep_clean(const struct store *s); /* removes what a killed process left */
int keep_flaws(struct store *s, int (*take)(void *arg, const char *flaw), void *arg);
int keep_backup(struct store *s, const char *folder, struct err *e);
int keep_sessions(struct store *s, const char *workspace, int (*take)(void *arg, const char *id),
                  void *arg, struct err *e);

/* Copies a session's file and its write-ahead log under another name; the caller holds its
 * write_lock. GPUFL_E_FULL: together they have more than `most` bytes. */
int keep_copy(const char *from, const char *to, int64_t most, struct err *e);

/* ---- scan.c -------------------------------------------------------------------------------- */

int scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
              const struct wire_visitor *v, struct err *e);
int scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e);
int scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e);
int scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e);
int scan_history(struct store *s, const char *workspace, ask_take take, void *arg, struct err *e);

#endif
