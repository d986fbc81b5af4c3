/* engine.h - the part that the files of the ClickHouse engine share: servers, workspaces,
 * sessions.
 *
 * A workspace is a database (ADR 9); its tables have a partition for each week (ADR 34). A session
 * is on one server, which its number decides; of several servers the others hold other sessions.
 * Rows count when their commit's number does: the session's last row of table `commits` says
 * which those are.
 *
 * Lock order: a session's write_lock, a workspace's lock, the store's lock. The store's lock is not
 * held while a server is asked. */
#ifndef GPUFL_STORE_CLICKHOUSE_ENGINE_H
#define GPUFL_STORE_CLICKHOUSE_ENGINE_H

#include "store/clickhouse/link.h"
#include "store/session_list.h"
#include "store/tables.h"

#include "base/process/thread.h"

#include <stdatomic.h>

enum { RUN_SHIFT = 19 /* rows of a run: KERNEL_SLICE */, RUN_ROWS = 1 << RUN_SHIFT };

/* What the sweep (sweep.c) has to do in a workspace. */
enum sweep_state { SWEEP_NOTHING, SWEEP_LATER, SWEEP_ASKED };

struct workspace {
    struct workspace *next; /* guarded by open.lock */
    char name[STORE_ID_MAX];
    pthread_mutex_t lock; /* who makes tables */
    _Atomic int dirty;    /* enum sweep_state; relaxed */
    bool known;           /* the existing tables have been looked up; guarded by lock */
    _Atomic bool ready
        [TABLE_COUNT]; /* places that are there with today's columns; release: after it is so */
    _Atomic int64_t
        select_good[LINK_HOSTS_MAX]; /* CLOCK_MONOTONIC ns until which its user need not be
                                                  * looked at; relaxed */
    _Atomic int64_t
        select_rows[LINK_HOSTS_MAX]; /* of its profile: an answer is cut there; relaxed */
    unsigned char have[LINK_HOSTS_MAX][TABLE_COUNT]; /* columns there were; guarded by lock */
    pthread_mutex_t sizes_lock;
    struct place_sizes {
        int64_t at; /* CLOCK_MONOTONIC ns; 0: never */
        int64_t rows[TABLE_COUNT], bytes[TABLE_COUNT];
    } sizes[LINK_HOSTS_MAX]; /* of the tables, by place; guarded by sizes_lock */
};

struct store {
    struct links links;
    char select_user[LINK_NAME_MAX], select_password[256]; /* of clients; "": none */
    int64_t query_limit;                                   /* ns */
    bool all_large;                                        /* no session begins small; constant */
    bool alone;                                            /* no other process writes; constant */
    const struct store_turns *turns;                       /* NULL: nobody else writes */
    struct session_list open;
    struct sweep {
        struct thread thread;
        struct wakeup wake;
        _Atomic bool stop; /* relaxed; wake brings it */
    } sweep;
    struct workspace *workspaces; /* guarded by open.lock; never freed before the store */
};

struct writer;
struct view;
struct known;

struct store_session {
    struct listed at; /* first */
    struct store *store;
    struct workspace *workspace;
    uint64_t key;         /* its number in the tables */
    unsigned host;        /* the server that has it */
    _Atomic bool dropped; /* deleted for everybody who has no reference; relaxed */

    pthread_mutex_t write_lock; /* held by the writer */
    struct writer *writer;      /* owned; guarded by write_lock, NULL before the first begin */
    _Atomic bool damaged;       /* some of its rows could not be read; relaxed */
    int64_t seen;        /* commit of the positions that were reported last; -1: never; relaxed */
    struct known *known; /* owned: its last commit (known.c); NULL: the server is asked */
    struct view *view;   /* owned: what scans read, in place of the last commit; NULL: none */
};

/* ---- layout.c: tables --------------------------------------------------------------------- */

enum { PLACE_COLUMNS_MAX = RECORD_MAX_COLUMNS + 6 };

/* The table that has the rows of a table: all levels of tiles share one, and so do spans. */
unsigned place_of(unsigned table);
const char *place_name(unsigned place);
bool place_numbered(unsigned place); /* its rows have run and rowid */
bool place_levelled(unsigned place); /* its rows have a level */
/* Rows of such a table come again with more, under the same rowid; the last commit's version of a
 * row counts. */
bool place_completed(unsigned place);
int place_level(unsigned table);
int place_find(struct store_text name); /* -1: none has that name */

/* Numbers of commits a week: those of its partition. A number begins with the time in ms. */
enum { NUMBER_SHIFT = 20 };
#define PLACE_WEEK (INT64_C(604800000) << NUMBER_SHIFT)

uint64_t place_key(const char *session);

/* The server, of so many, that has the session of that number. */
unsigned place_host(uint64_t key, unsigned count);

/* "`gpufl_w`.`kernel`" of the workspace's database. */
void place_put(struct buf *b, const struct store *s, const char *workspace, const char *table);

/* Puts the table of all servers, for questions across sessions. */
void place_put_all(struct buf *b, const struct store *s, const char *workspace, const char *table);

/* Puts the statement that makes a table like the place's, and the names of its columns. */
void place_put_create(struct buf *b, const struct store *s, const char *workspace, unsigned place,
                      const char *name);
void place_put_columns(struct buf *b, unsigned place);

/* Adds the columns to a server's table that an older version did not know. */
int place_complete(struct store *s, const struct workspace *w, unsigned host, unsigned place,
                   struct err *e);

/* Makes the table with all its columns on all servers, where it is missing. */
int place_ready(struct store *s, struct workspace *w, unsigned place, struct err *e);

struct workspace *workspace_of(struct store *s, const char *name); /* NULL: out of memory */
void workspaces_free(struct store *s);

/* ---- state.c: what counts ------------------------------------------------------------------ */

enum state_kind { STATE_MADE, STATE_COMMIT, STATE_DROPPED, STATE_APART };

struct state_range {
    int64_t first, last; /* numbers of commits that count */
};

struct state {
    enum state_kind kind;
    bool small;     /* its rows are in `small` (small.h) */
    int64_t commit; /* its number */
    int64_t rows[TABLE_COUNT];
    struct state_range *ranges; /* owned, ascending */
    size_t range_count, range_cap;
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count;
};

void state_init(struct state *t);
void state_get_counts(struct state *t, struct store_text text); /* as `commits` has them */
void state_fini(struct state *t);
int state_copy(struct state *to, const struct state *from);

/* The session's last commit. NOENT: there is no such session. */
int state_read(const struct store_session *ss, struct state *t, struct err *e);

/* The last one before a number. */
int state_read_before(const struct store_session *ss, int64_t before, struct state *t,
                      struct err *e);

/* Makes it the last one, with its number. Afterwards it counts; after an error perhaps. */
int state_write(const struct store_session *ss, const struct state *t, struct err *e);

/* Puts the row that makes it the last one, as a block; inserts blocks of sessions that are in the
 * same tables. Then known_written says of each what came of it. */
int state_put(struct buf *body, const struct store_session *ss, const struct state *t);
int state_insert(const struct store_session *any, const struct buf *body, struct err *e);

/* ---- known.c: what need not be asked ------------------------------------------------------- */

int known_open(struct store_session *ss, struct err *e);
void known_close(struct store_session *ss);

/* The last commit, without a question. False: the server has to be asked. *rc: of state_read. */
bool known_get(const struct store_session *ss, struct state *t, int *rc);
/* Notes what the server said; NULL: it has no such session. */
void known_read(const struct store_session *ss, const struct state *t);
/* Notes what was written; NULL: perhaps. */
void known_written(const struct store_session *ss, const struct state *t);
/* Makes a session without asking the server. False: it has to be written. */
bool known_make(const struct store_session *ss, const struct state *t);
/* The server is asked the next time. */
void known_forget(const struct store_session *ss);
/* Writes a session that was made, before it is closed. */
void known_settle(const struct store_session *ss);

/* Adds a number to the commits that count. */
int state_count(struct state *t, int64_t number);

/* A number that no commit of the session had, begun or done, in this process or another. */
int64_t state_number(const struct state *t);

/* "session = … AND commit BETWEEN …": which rows are of commits that count. */
void state_where(struct buf *b, const struct store_session *ss, const struct state *t);

/* Bytes of a statement with one state, or, for a completed table, with two. */
enum { STATE_STATEMENT_MAX = 1 << 20 };

/* small.c: puts what has the rows of a session's table: the table, or a sub-select of `small`. all:
 * over all servers. */
void small_put_place(struct buf *b, const struct store_session *ss, const struct state *t,
                     unsigned table, bool all);

/* Adds the session's rows by the place where they are. */
void state_add_rows(const struct state *t, int64_t rows[TABLE_COUNT]);

/* Puts the condition for readers of a table: without rows that came again since. */
void state_where_last(struct buf *b, const struct store_session *ss, const struct state *t,
                      unsigned table);

/* ---- turn.c: several processes --------------------------------------------------------------- */

/* The turn to write the session. BUSY: another process has it. */
int turn_take(const struct store_session *ss, struct err *e);
/* For the turn's holder. BUSY: the turn is lost, and what was written may not count. */
int turn_keep(const struct store_session *ss, struct err *e);
int turn_give(const struct store_session *ss, struct err *e);

/* ---- session.c ----------------------------------------------------------------------------- */

/* A session by itself, in no list. */
void click_session_name(struct store_session *ss, struct store *s, struct workspace *w,
                        const char *id);
int click_session_get(struct store *s, const char *workspace, const char *session, bool create,
                      struct store_session **out, struct err *e);
void click_session_put(struct store_session *ss);
int click_session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                       struct err *e);
int click_session_drop(struct store *s, const char *workspace, const char *session, struct err *e);
/* Somebody may have opened the session while another handle wrote: what is known is asked again. */
void click_session_forget(struct store *s, const char *workspace, const char *session);
int click_session_settle(struct store_session *ss, struct err *e);
/* Notes what came of reading rows of the session, and returns it. */
int click_session_note(struct store_session *ss, int rc);
/* Called by the list of open sessions (session_list.h). */
void click_session_close(struct listed *at);
void click_session_free(struct listed *at);

/* ---- apart.c ------------------------------------------------------------------------------- */

int click_session_put_apart(struct store *s, const char *workspace, const char *session,
                            struct err *e);
/* Ends what was set aside of the session, if anything was. */
int click_apart_end(const struct store_session *ss, struct err *e);

/* ---- write.c ------------------------------------------------------------------------------- */

int click_write_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                          struct err *e);
int click_write_peek(struct store_session *ss, struct store_position *out, unsigned *count,
                     struct err *e);
int click_write_begin(struct store_session *ss, struct err *e);
int click_write_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                       struct err *e);
void click_write_commit_all(struct store_commit *of, size_t n);
void click_write_rollback(struct store_session *ss);
void click_write_close(struct store_session *ss); /* frees the writer */

/* ---- tidy.c, sweep.c: what is left over ------------------------------------------------------ */

/* Has rows that do not count taken out; makes one range of numbers of several ones once none are
 * left. [write_lock held] */
int click_tidy_session(struct store_session *ss, struct err *e);

/* The thread that removes rows of deleted sessions. */
int sweep_start(struct store *s, struct err *e);
void sweep_stop(struct store *s);
/* Notes that the workspace may have such rows. [any] */
void sweep_ask(struct store *s, struct workspace *w);
/* Has the rows removed that a session had at a commit, before it is made anew. */
int sweep_session(const struct store_session *ss, const struct state *t, struct err *e);

/* Asks for one number. */
int click_ask_number(struct store *s, unsigned host, const struct buf *text, int64_t *out,
                     struct err *e);
/* How many removals ClickHouse has not finished in the workspace's tables. */
int sweep_pending(struct store *s, const struct workspace *w, unsigned host, int64_t *out,
                  struct err *e);

/* ---- relayout.c: tables of earlier versions -------------------------------------------------- */

/* Makes tables that have a partition for each session, as 0.1.0 made them, into tables with a
 * partition for each week. [workspace.lock held] */
int relayout(struct store *s, const struct workspace *w, unsigned host, struct err *e);

/* ---- scan.c, keep.c, ask_run.c --------------------------------------------------------------- */

int click_scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                    const struct wire_visitor *v, struct err *e);
int click_scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e);
int click_scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e);
int click_scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e);
int click_scan_hold(struct store_session *ss, struct store_session **out, struct err *e);
void click_scan_let(struct store_session *ss);

int click_keep_history(struct store *s, const char *workspace, const struct store_history *of,
                       size_t count, struct err *e);
int click_keep_parquet(struct store_session *ss, enum record_type type, const char *path,
                       struct err *e);
int click_keep_sessions(struct store *s, const char *workspace,
                        int (*take)(void *arg, const char *id), void *arg, struct err *e);
int click_keep_walk_history(struct store *s, const char *workspace, ask_take take, void *arg,
                            struct err *e);

int click_ask_question(struct store *s, const struct store_question *q,
                       const struct store_visitor *v, struct err *e);

int click_engine_open(struct store **out, const struct store_config *c, struct err *e);
void click_engine_close(struct store *s);

#endif
