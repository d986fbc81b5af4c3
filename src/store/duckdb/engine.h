/* engine.h - the part that the files of the DuckDB engine share: the instance, its connections,
 * and the sessions that are attached to it.
 *
 * One instance in memory serves all; a large session is a separate database file, attached under
 * an alias when somebody gets it, and detached when others need the room. So deleting it is
 * unlinking a file, and one memory limit holds for all. Small sessions share files of ours
 * (small.h).
 *
 * Lock order: a session's write_lock, then the store's lock. Neither is held while a statement
 * runs, except for write_lock by the writer and by a backup. */
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

/* A connection and the watch over it; in one list or in the other. */
struct connection {
    struct duck_connection *handle; /* owned */
    struct connection *next;        /* of the idle ones; guarded by open.lock */
};

struct store {
    const struct duck *duck;
    struct duck_database *db; /* owned */
    char *root;               /* owned: folder of the files */
    int64_t query_limit;      /* ns */
    int64_t memory_base;      /* bytes the instance may take with few sessions attached */
    int64_t memory;           /* and now; guarded by open.lock */
    int64_t memory_most;      /* and ever; as the base where the operator said so */
    char *program;            /* owned: of store_config; NULL: none */
    atomic_uint copies;       /* made for select; numbers them */
    atomic_uint held;         /* times that the library had not released a file yet; relaxed */
    struct watch watch;
    struct packs *packs; /* owned: of small sessions */
    struct shown_list shown;
    struct gate questions; /* of small sessions: one a processor at once */
    int64_t small_most;    /* bytes of a small session's rows in memory; 0: none is small */

    struct session_list open;
    struct connection *idle; /* guarded by open.lock */
    uint64_t aliases;        /* given out; guarded by open.lock */
};

struct writer;
struct small;

struct store_session {
    struct listed at; /* first */
    struct store *store;
    char alias[24];       /* of its file in the instance: s1, s2, … */
    char *path;           /* owned: its file; of a small session: that it may get */
    struct small *small;  /* owned; NULL: it had a file when it was opened */
    unsigned sound_at;    /* sql_given_up when it was last known to answer; guarded by open.lock */
    bool broken;          /* does not answer: to be attached again; guarded by open.lock */
    bool leaving;         /* being deleted: nobody gets it; guarded by open.lock */
    _Atomic bool dropped; /* deleted for everybody who has no reference; relaxed */

    /* Columns that each table of the file has; 0: no such table. Relaxed: a table exists before its
     * count says so, and is never dropped. */
    _Atomic unsigned char have[TABLE_COUNT];

    pthread_mutex_t write_lock; /* held by a thread that writes, or copies the file */
    struct writer *writer;      /* owned; guarded by write_lock, NULL before the first begin */
};

/* Takes an idle connection, or a new one; give it back outside a transaction. [any] */
int engine_take(struct store *s, struct connection **out, struct err *e);
void engine_give(struct store *s, struct connection *c);

/* Closes a connection whose transaction failed. Nobody knows what the library still keeps of that
 * transaction, and the next user of the connection would fail for it. [any] */
void engine_discard(struct store *s, struct connection *c);

/* Ends a transaction without keeping anything; for error paths. */
void engine_undo(struct store *s, struct connection *c);

/* Gives the instance memory for as many sessions as are attached. What is committed to a session
 * and not yet in its final form is in memory, 16 KiB a column at least, so that each session that
 * is written takes some MiB. Not with store.lock. */
void engine_fit(struct store *s, struct connection *c);

/* Sessions that the greatest memory limit has room for while all of them are written. */
unsigned engine_room(struct store *s);

int engine_open(struct store **out, const struct store_config *c, struct err *e);
void engine_close(struct store *s);
void engine_hurry(struct store *s);

/* ---- session.c ----------------------------------------------------------------------------- */

int session_get(struct store *s, const char *workspace, const char *session, bool create,
                struct store_session **out, struct err *e);
void session_put(struct store_session *ss);

/* The file that keeps a workspace's history, as a session. */
int session_get_history(struct store *s, const char *workspace, bool create,
                        struct store_session **out, struct err *e);

/* Keeps a session's files as they are, attached or not, until it is let go. */
int session_hold(struct store *s, const char *workspace, const char *id, struct store_session **out,
                 struct err *e);
void session_let_go(struct store_session *ss);

int session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                 struct err *e);
int session_drop(struct store *s, const char *workspace, const char *session, struct err *e);
int session_settle(struct store_session *ss, struct err *e);

/* Opens a file for the rows of a small session, made anew, as a session that nobody else knows:
 * session_close, then session_free. */
int session_open_own(struct store_session *small, const char *path, struct store_session **out,
                     struct err *e);

/* Opens the file that is beside a small session's pack, in the same way. */
int session_open_beside(struct store_session *small, struct store_session **out, struct err *e);

/* Keeps a session that is not open to the caller: whoever wants it waits. NULL: no memory.
 * [open.lock held] */
struct store_session *session_reserve(struct store *s, const char *workspace, const char *id,
                                      const char *path);
void session_unreserve(struct store_session *ss);

/* Says whether there is a session: in a pack, or with a file at path. */
bool session_exists(struct store *s, const char *workspace, const char *id, const char *path);

/* ---- session_files.c ----------------------------------------------------------------------- */

/* "<root>/<workspace>/<id>.duckdb", its folder made where asked for. */
int session_path(struct store *s, const char *workspace, const char *id, bool make,
                 char path[PATH_MAX], struct err *e);
int session_remove_files(const char *path, struct err *e);
int session_remove_current(const char *path, struct err *e); /* but not those set aside */
int session_rename_apart(const char *path, struct err *e);
void session_apart_name(const char *path, char *name, size_t room);
int session_put_apart(struct store *s, const char *workspace, const char *session, struct err *e);

/* Called by the list of open sessions (session_list.h). */
void session_close(struct listed *at);
void session_free(struct listed *at);

/* The table for a FROM clause: what is not in the file reads as no rows, or as nulls. */
void session_table(struct buf *b, const struct store_session *ss, unsigned table);

/* "s1.main."kernel"", for an existing table. */
void session_name(struct buf *b, const struct store_session *ss, unsigned table);

/* Statements that make a table, bring an older one up to date, and note what it has now. */
void session_create_table(struct buf *b, const struct store_session *ss, unsigned table);
void session_add_columns(struct buf *b, const struct store_session *ss, unsigned table);
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

/* A transaction of a session that nobody else knows, whose rows are all given by the caller: what
 * struct append remembers is neither read nor asked. */
int write_begin_alone(struct store_session *ss, struct err *e);

/* ---- keep.c ---------------------------------------------------------------------------------- */

int keep_history(struct store *s, const char *workspace, const struct store_history *of,
                 size_t count, struct err *e);
int keep_parquet(struct store_session *ss, enum record_type type, const char *path, struct err *e);
void keep_clean(const struct store *s); /* of what a killed process left */
int keep_flaws(struct store *s, int (*take)(void *arg, const char *flaw), void *arg);
int keep_backup(struct store *s, const char *folder, struct err *e);
int keep_sessions(struct store *s, const char *workspace, int (*take)(void *arg, const char *id),
                  void *arg, struct err *e);

/* Copies a session's file and its log under another name; the caller holds its write_lock. FULL:
 * together they have more than `most` bytes. */
int keep_copy(const char *from, const char *to, int64_t most, struct err *e);

/* ---- scan.c -------------------------------------------------------------------------------- */

int scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
              const struct wire_visitor *v, struct err *e);
int scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e);
int scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e);
int scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e);
int scan_history(struct store *s, const char *workspace, ask_take take, void *arg, struct err *e);

#endif
