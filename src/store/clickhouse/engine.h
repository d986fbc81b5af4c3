/* engine.h - has what the files of the ClickHouse engine share: servers, workspaces, sessions.
 *
 * A workspace is a database (ADR 9); its tables have a partition for each week (ADR 34). A session
 * is on one server, which its number decides; other servers have other sessions. A row counts if
 * the number of its commit counts: the session's last row in table `commits` has the numbers that
 * count.
 *
 * Lock order: a session's write_lock, a workspace's lock, the store's lock. The store's lock is not
 * held during a request to a server. */
#ifndef GPUFL_STORE_CLICKHOUSE_ENGINE_H
#define GPUFL_STORE_CLICKHOUSE_ENGINE_H

#include "store/clickhouse/link.h"
#include "store/session_list.h"
#include "store/tables.h"

#include "base/process/thread.h"

#include <stdatomic.h>

enum { RUN_SHIFT = 19 /* rows of a run: KERNEL_SLICE */, RUN_ROWS = 1 << RUN_SHIFT };

/* Says what the sweep (sweep.c) has to do in a workspace. */
enum sweep_state { SWEEP_NOTHING, SWEEP_LATER, SWEEP_ASKED };

struct workspace {
    struct workspace *next; /* guarded by open.lock */
    char name[STORE_ID_MAX];
    pthread_mutex_t lock; /* held while tables are made */
    _Atomic int dirty;    /* enum sweep_state; relaxed */
    bool known;           /* the existing tables have been looked up; guarded by lock */
    /* By place: the table is there with all present columns. Release: set after that is so. */
    _Atomic bool ready[TABLE_COUNT];
    /* CLOCK_MONOTONIC ns until which its user need not be checked again; relaxed. */
    _Atomic int64_t select_good[LINK_HOSTS_MAX];
    /* Rows at which the profile of its user cuts an answer; relaxed. */
    _Atomic int64_t select_rows[LINK_HOSTS_MAX];
    /* Columns when they were last looked up; guarded by lock. */
    unsigned char have[LINK_HOSTS_MAX][TABLE_COUNT];
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
    bool all_large;                  /* sessions never begin small; constant */
    bool alone;                      /* no other process writes; constant */
    const struct store_turns *turns; /* NULL: no other process writes */
    struct session_list open;
    struct sweep {
        struct thread thread;
        struct wakeup wake;
        _Atomic bool stop; /* relaxed; `wake` wakes the thread */
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
    _Atomic bool dropped; /* deleted for all who have no reference; relaxed */

    pthread_mutex_t write_lock; /* held by the writer */
    struct writer *writer;      /* owned; guarded by write_lock, NULL before the first begin */
    _Atomic bool damaged;       /* some of its rows could not be read; relaxed */
    int64_t seen;        /* commit of the positions that were last reported; -1: never; relaxed */
    struct known *known; /* owned: its last commit (known.c); NULL: ask the server */
    struct view *view;   /* owned: what scans read instead of the last commit; NULL: none */
};

/* ---- layout.c: tables ---------------------------------------------------------------------- */

enum { PLACE_COLUMNS_MAX = RECORD_MAX_COLUMNS + 6 };

/* Returns the place of a table: the table in ClickHouse that has its rows. All levels of tiles
 * share one place, and so do spans. */
unsigned place_of(unsigned table);
const char *place_name(unsigned place);
bool place_numbered(unsigned place); /* its rows have run and rowid */
bool place_levelled(unsigned place); /* its rows have a level */
/* Returns true if rows of the place may be written again with more facts, under the same rowid; the
 * version of the last commit counts. */
bool place_completed(unsigned place);
int place_level(unsigned table);
int place_find(struct store_text name); /* -1: none has that name */

/* A commit's number has the time in ms in its high bits. PLACE_WEEK is the difference of a week,
 * which is a partition. */
enum { NUMBER_SHIFT = 20 };
#define PLACE_WEEK (INT64_C(604800000) << NUMBER_SHIFT)

uint64_t place_key(const char *session);

/* Returns which of `count` servers has the session with that number. */
unsigned place_host(uint64_t key, unsigned count);

/* Writes "`gpufl_w`.`kernel`" of the workspace's database. */
void place_put(struct buf *b, const struct store *s, const char *workspace, const char *table);

/* Puts the name of the table over all servers, for questions across sessions. */
void place_put_all(struct buf *b, const struct store *s, const char *workspace, const char *table);

/* place_put_create puts the statement that makes a table with the columns of the place;
 * place_put_columns puts their names. */
void place_put_create(struct buf *b, const struct store *s, const char *workspace, unsigned place,
                      const char *name);
void place_put_columns(struct buf *b, unsigned place);

/* Adds the columns that a server's table lacks because an older version made it. */
int place_complete(struct store *s, const struct workspace *w, unsigned host, unsigned place,
                   struct err *e);

/* Makes the table, and its missing columns, on all servers. */
int place_ready(struct store *s, struct workspace *w, unsigned place, struct err *e);

struct workspace *workspace_of(struct store *s, const char *name); /* NULL: out of memory */
void workspaces_free(struct store *s);

/* ---- state.c: what counts ------------------------------------------------------------------ */

enum state_kind { STATE_MADE, STATE_COMMIT, STATE_DROPPED, STATE_APART };

struct state_range {
    int64_t first, last; /* numbers of commits that count, both included */
};

struct state {
    enum state_kind kind;
    bool small;     /* the rows are in table `small` (small.h) */
    int64_t commit; /* its number */
    int64_t rows[TABLE_COUNT];
    struct state_range *ranges; /* owned, ascending */
    size_t range_count, range_cap;
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count;
};

void state_init(struct state *t);
void state_get_counts(struct state *t, struct store_text text); /* text as in table `commits` */
void state_fini(struct state *t);
int state_copy(struct state *to, const struct state *from);

/* Reads the session's last commit. NOENT: there is no such session. */
int state_read(const struct store_session *ss, struct state *t, struct err *e);

/* Reads the last commit before a number. */
int state_read_before(const struct store_session *ss, int64_t before, struct state *t,
                      struct err *e);

/* Writes the state as the last commit, under its number. After an error it may or may not count. */
int state_write(const struct store_session *ss, const struct state *t, struct err *e);

/* state_put puts the row of state_write as a block; state_insert inserts the blocks of sessions
 * with the same tables. Call known_written for each session afterwards. */
int state_put(struct buf *body, const struct store_session *ss, const struct state *t);
int state_insert(const struct store_session *any, const struct buf *body, struct err *e);

/* ---- known.c: the last commit in memory ---------------------------------------------------- */

int known_open(struct store_session *ss, struct err *e);
void known_close(struct store_session *ss);

/* Gets the last commit without a request. False: the server has to be asked. *rc: like the result
 * of state_read. */
bool known_get(const struct store_session *ss, struct state *t, int *rc);
/* Notes the server's answer; NULL: it has no such session. */
void known_read(const struct store_session *ss, const struct state *t);
/* Notes what was written; NULL: whether it was written is unknown. */
void known_written(const struct store_session *ss, const struct state *t);
/* Makes a session without a request. False: the session has to be written. */
bool known_make(const struct store_session *ss, const struct state *t);
/* Forgets the commit, so that the server is asked next time. */
void known_forget(const struct store_session *ss);
/* Writes a session that is only in memory, before it is closed. */
void known_settle(const struct store_session *ss);

/* Adds a number to the commits that count. */
int state_count(struct state *t, int64_t number);

/* Returns a number that no commit of the session has had, finished or not, in this process or
 * another. */
int64_t state_number(const struct state *t);

/* Puts "session = … AND commit BETWEEN …", which selects the rows of commits that count. */
void state_where(struct buf *b, const struct store_session *ss, const struct state *t);

/* Limits the bytes of a statement with one state, or for a table whose rows are completed with
 * two. */
enum { STATE_STATEMENT_MAX = 1 << 20 };

/* Puts (in small.c) what follows FROM for a session's table: the table, or a sub-select of `small`.
 * all: over all servers. */
void small_put_place(struct buf *b, const struct store_session *ss, const struct state *t,
                     unsigned table, bool all);

/* Adds the numbers of the session's rows to rows, by place. */
void state_add_rows(const struct state *t, int64_t rows[TABLE_COUNT]);

/* Puts the condition for readers of a table: rows that were written again count only once. */
void state_where_last(struct buf *b, const struct store_session *ss, const struct state *t,
                      unsigned table);

/* ---- turn.c: several processes ------------------------------------------------------------- */

/* Takes the turn (struct store_turns) to write the session. GPUFL_E_BUSY: another process has
 * it. */
int turn_take(const struct store_session *ss, struct err *e);
/* Keeps the turn for its holder. GPUFL_E_BUSY: the turn is lost, and what was written may not
 * count. */
int turn_keep(const struct store_session *ss, struct err *e);
int turn_give(const struct store_session *ss, struct err *e);

/* ---- session.c ----------------------------------------------------------------------------- */

/* Initializes a session that is in no list. */
void click_session_name(struct store_session *ss, struct store *s, struct workspace *w,
                        const char *id);
int click_session_get(struct store *s, const char *workspace, const char *session, bool create,
                      struct store_session **out, struct err *e);
void click_session_put(struct store_session *ss);
int click_session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                       struct err *e);
int click_session_drop(struct store *s, const char *workspace, const char *session, struct err *e);
/* Forgets the last commit of a session that may have been opened while another handle wrote. */
void click_session_forget(struct store *s, const char *workspace, const char *session);
int click_session_settle(struct store_session *ss, struct err *e);
/* Notes the result of reading rows of the session, and returns it. */
int click_session_note(struct store_session *ss, int rc);
/* These are called by the list of open sessions (session_list.h). */
void click_session_close(struct listed *at);
void click_session_free(struct listed *at);

/* ---- aside.c ------------------------------------------------------------------------------- */

int click_session_set_aside(struct store *s, const char *workspace, const char *session,
                            struct err *e);
/* Deletes what was set aside of the session, if anything. */
int click_aside_end(const struct store_session *ss, struct err *e);

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

/* ---- tidy.c, sweep.c: what is left over ---------------------------------------------------- */

/* Starts the removal of rows that do not count. When none are left, several ranges of numbers
 * become one. [write_lock held] */
int click_tidy_session(struct store_session *ss, struct err *e);

/* The functions start and stop the thread that removes rows of deleted sessions. */
int sweep_start(struct store *s, struct err *e);
void sweep_stop(struct store *s);
/* Notes that the workspace may have rows of deleted sessions. [any] */
void sweep_ask(struct store *s, struct workspace *w);
/* Removes the rows that a session had at a commit, before the session is made again. */
int sweep_session(const struct store_session *ss, const struct state *t, struct err *e);

/* Runs a statement whose answer is one number. */
int click_ask_number(struct store *s, unsigned host, const struct buf *text, int64_t *out,
                     struct err *e);
/* Gets how many removals ClickHouse has not finished in the workspace's tables. */
int sweep_pending(struct store *s, const struct workspace *w, unsigned host, int64_t *out,
                  struct err *e);

/* ---- relayout.c: tables of earlier versions ------------------------------------------------ */

/* Turns tables with a partition for each session, as 0.1.0 made them, into tables with a partition
 * for each week. [workspace.lock held] */
int relayout(struct store *s, const struct workspace *w, unsigned host, struct err *e);

/* ---- scan.c, keep.c, ask_run.c ------------------------------------------------------------- */

int click_scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                    const struct wire_visitor *v, struct err *e);
int click_scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e);
int click_scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e);
int click_scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e);
int click_scan_hold(struct store_session *ss, struct store_session **out, struct err *e);
void click_scan_release(struct store_session *ss);

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
