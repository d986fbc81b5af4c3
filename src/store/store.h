/* store.h - is the column store: takes rows of sessions, and gives rows and aggregates.
 *
 * There are two engines behind one ops table: DuckDB (files under a data folder) and ClickHouse
 * (over HTTP). Only their two folders know an engine; both pass one conformance suite
 * (tests/store).
 *
 * A session is what one traced process logged; its name is a UUID inside a workspace. Its tables
 * are the records of schema/records.def, with columns of 64-bit integers (null: unknown), `names`
 * (id, text), and the pyramid (wire/tile.h). A dictionary row is stored once for each id; event
 * rows keep the order in which they were appended. Times are CLOCK_MONOTONIC of the session, as
 * logged.
 *
 * Writing: a session has one writer at a time. Rows that are appended between begin and commit
 * become visible and durable together with the positions given to commit, or not at all. A loader
 * that replays a journal asks for the positions first and skips what the store has. So everything
 * is loaded exactly once.
 *
 * Reading: any number of readers, on any thread, concurrently with the writer; a read sees the last
 * commit. Handles have a reference count: get and put.
 *
 * A workspace also has the table `history`: the sums that a finished session leaves for questions
 * across sessions.
 *
 * Functions return 0 or a code of base/err.h, with a sentence if they take a struct err.
 * GPUFL_E_NOENT: no such session. */
#ifndef GPUFL_STORE_STORE_H
#define GPUFL_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/decode.h"
#include "wire/tile.h"

#include <stdbool.h>

#define STORE_ID_MAX 64 /* bytes of a workspace's or session's id with its NUL: [0-9A-Za-z_-]+ */

/* The turn is the right to change which rows of a session count, if several processes write to one
 * engine, which cannot distinguish them. A process takes the turn before a change and gives it back
 * afterwards. [any] */
struct store_turns {
    void *arg;
    /* GPUFL_E_BUSY: another process has the turn, and this one is next; try again soon. *seized:
     * the last holder did not give the turn back, and its last commit may still arrive. */
    int (*take)(void *arg, const char *workspace, const char *session, bool *seized, struct err *e);
    /* Extend the turn, and give it back. GPUFL_E_BUSY from either: the turn was lost, or the tables
     * cannot be reached, so others may not know what was done. */
    int (*keep)(void *arg, const char *workspace, const char *session, struct err *e);
    int (*give)(void *arg, const char *workspace, const char *session, struct err *e);
};

struct store;         /* an engine, open */
struct store_session; /* a session, open */

struct store_config {
    const char *data; /* DuckDB: folder for its files, created; ClickHouse: unused */
    /* ClickHouse: clickhouse://[user[:password]@]host:port[,…]/prefix[?cluster=name] */
    const char *url;
    int64_t memory_limit;     /* bytes for the engine; ClickHouse: for a statement; 0: default */
    int threads;              /* for the engine; 0: default */
    unsigned attached_most;   /* sessions open at once; 0: default */
    int64_t small_most;       /* DuckDB: bytes of rows in memory up to which sessions share files;
                               * 0: default; -1: each session has a file. ClickHouse: -1: rows are
                               * in the tables of their own from the first on */
    size_t history_most;      /* DuckDB: rows of a history that lie in the order in which they came,
                               * before they are stored by name; 0: default */
    const char *program;      /* executable that knows STORE_SELECT_WORD, for select; NULL: none */
    const char *select_login; /* ClickHouse: "name:password" of the users of select; NULL: none */
    int64_t query_limit;      /* ns for a question, then GPUFL_E_TIMEOUT; 0: default */
    const struct store_turns *turns; /* ClickHouse; outlives the store. NULL: one process writes */
    /* ClickHouse: no other process writes, so the server need not be asked what others wrote. */
    bool alone;
};

/* This is the position of a channel: bytes of uncompressed NDJSON loaded since the session's
 * start. */
struct store_position {
    char channel[24];
    int64_t offset;
};

#define STORE_POSITIONS_MAX 16

/* ---- results ------------------------------------------------------------------------------ */

enum store_type {
    STORE_INT,
    STORE_REAL,
    STORE_TEXT,
    STORE_NAME, /* text of a name, such as a kernel's mangled name */
    STORE_LIST, /* of INT; parameters only */
};

struct store_text {
    const char *at; /* not NUL-terminated */
    size_t len;
};

/* This is a column of a chunk: the array of its type, and which cells are known. */
struct store_vec {
    enum store_type type;
    const int64_t *ints;
    const double *reals;
    const struct store_text *texts;
    const uint64_t *valid; /* bit a row, from bit 0 of word 0; NULL: all known */
};

static inline bool store_known(const struct store_vec *v, size_t row)
{
    return !v->valid || (v->valid[row / 64] >> (row % 64) & 1);
}

/* Holds some rows of an answer; valid during the call. */
struct store_chunk {
    size_t rows;
    unsigned column_count;
    const struct store_vec *columns;
};

struct store_visitor {
    void *arg;
    int (*chunk)(void *arg, const struct store_chunk *c); /* non-zero stops and is returned */
    /* Appends the text that people read for a kernel's name; a question's pattern may match this
     * text, too. NULL: patterns match only the name. */
    void (*readable)(struct buf *out, const char *name);
};

/* ---- all there is ------------------------------------------------------------------------- */

struct page; /* store/page.h */

/* Holds callbacks that get a whole session, at one commit: first the positions, then table by table
 * (a number of store/tables.h) records in order, names, unknown lines, the pyramid. A non-zero
 * result stops and is returned. */
struct store_walk {
    void *arg;
    int (*positions)(void *arg, const struct store_position *p, unsigned n);
    int (*page)(void *arg, unsigned table, const struct page *p);
    const bool *tables; /* by number: which tables; NULL: all */
};

/* ---- the named questions ------------------------------------------------------------------ */

/* Names the questions: every question that the store answers is a row of schema/queries.def, with
 * its parameters and the columns of its answer in order. */
enum store_query {
#define QUERY(id, of, doc) QUERY_##id,
#include "schema/queries.def"
    STORE_QUERY_COUNT
};

struct store_param {
    const char *name;
    enum store_type type;
    const char *doc;
};

struct store_column {
    const char *name;
    enum store_type type;
    const char *unit, *doc;
};

enum { STORE_PARAMS_MAX = 16, STORE_COLUMNS_MAX = 32 };

struct store_query_def {
    const char *id;
    bool of_workspace; /* false: about one session */
    const char *doc;
    const struct store_param *params;
    unsigned param_count;
    const struct store_column *columns;
    unsigned column_count;
};

extern const struct store_query_def store_queries[STORE_QUERY_COUNT];

/* This is the value of a parameter; its type says which member counts. */
struct store_value {
    bool null; /* the parameter is left out */
    int64_t i;
    double r;
    struct store_text text;
    const int64_t *list;
    size_t list_count;
};

/* ---- statements of clients ---------------------------------------------------------------- */

enum { STORE_SELECT_SESSIONS = 32 };

/* This is the first argument of a program that runs as the child of a select. main must then call
 * store_select_child before anything else; it returns the exit status. */
#define STORE_SELECT_WORD "--store-select"
int store_select_child(void);

/* This is one SELECT over some sessions of a workspace and its history; docs/server-sql.md has its
 * tables. */
struct store_select {
    struct store_text sql;
    const struct store_select_session {
        struct store_session *columns; /* open */
        bool live;                     /* being written: the statement reads a copy */
        const char *id, *app, *host, *engine, *state;
        int64_t start;          /* CLOCK_MONOTONIC of its begin, ns */
        int64_t started, ended; /* ns since the Unix epoch; 0: none */
    } * sessions;
    size_t session_count;
    int64_t rows_most, bytes_most; /* of the answer, which is cut there and says so */
    int64_t time_most;             /* ns; then GPUFL_E_TIMEOUT */
};

/* Limits the transactions that are sent together. */
enum { STORE_COMMITS_MAX = 32 };

/* This is one of several transactions that are committed together, and its result. */
struct store_commit {
    struct store_session *session;
    const struct store_position *positions;
    unsigned count;
    int rc; /* like the result of commit */
    struct err err;
};

/* ---- what an engine does ------------------------------------------------------------------ */

/* This is a question about a session, or if session is NULL about a whole workspace. */
struct store_question {
    const char *workspace;
    struct store_session *session;
    enum store_query q;
    const struct store_value *args; /* in the order of the parameters; NULL: none */
};

/* Holds the rows of a session for the history, with the columns of question kernel_history
 * (queries.def), whose first is the session's. No rows: removes the session from the history, which
 * drop does not do. */
struct store_history {
    const char *session;
    const struct store_chunk *rows;
};

struct store_ops {
    const char *name; /* "duckdb", "clickhouse" */
    bool far;         /* every question goes over the network */

    int (*open)(struct store **out, const struct store_config *c, struct err *e);
    void (*close)(struct store *s); /* after the last put */
    /* Called before close: present and later questions end with GPUFL_E_TIMEOUT. NULL: they end
     * within the engine's limit. [any] */
    void (*hurry)(struct store *s);

    /* Returns how many sessions may be written concurrently; more would not fit into memory. NULL:
     * the engine has no such limit. */
    unsigned (*room)(struct store *s);

    /* Opens a session, or creates it if create is set; GPUFL_E_NOENT: it does not exist. After an
     * error of writing (a full disk) an engine may refuse all further calls: put the session and
     * get it again. */
    int (*get)(struct store *s, const char *workspace, const char *session, bool create,
               struct store_session **out, struct err *e);
    void (*put)(struct store_session *ss);

    /* Writing [the session's writer, one thread from begin to commit]. A second writer gets
     * GPUFL_E_BUSY. A commit that fails has rolled back; after any other failure call rollback. */
    int (*positions)(struct store_session *ss, struct store_position *out, unsigned *count,
                     struct err *e); /* count: room in, filled out */
    /* Like positions, for callers that do not write: the writer's state does not change. */
    int (*peek)(struct store_session *ss, struct store_position *out, unsigned *count,
                struct err *e);
    int (*begin)(struct store_session *ss, struct err *e);
    int (*names)(struct store_session *ss, const uint32_t *ids, const char *const *texts,
                 const size_t *lens, size_t n, struct err *e);
    int (*append)(struct store_session *ss, const struct wire_batch *b, struct err *e);
    int (*tiles)(struct store_session *ss, int level, const struct tile *rows, size_t n,
                 struct err *e);
    int (*spans)(struct store_session *ss, int level, const struct tile_span *rows, size_t n,
                 struct err *e);
    /* Stores a line of a type that this version does not know, unchanged. The loader also stores
     * header lines and counts here, under channels that begin with a dot
     * (server/intake/loader/loader.h). */
    int (*unknown)(struct store_session *ss, const char *channel, const char *line, size_t len,
                   struct err *e);
    int (*commit)(struct store_session *ss, const struct store_position *p, unsigned n,
                  struct err *e);
    void (*rollback)(struct store_session *ss);
    /* Commits transactions of different sessions, each like commit and with its own result: a
     * failure of one does not affect the others, unless they share its cause. NULL: this engine
     * would gain nothing by that. */
    void (*commit_all)(struct store_commit *of, size_t n);

    /* Gives the rows of one record in order, as batches of at most 65536. from and to bound the
     * record's TIME column (INT64_MIN and INT64_MAX: all). Missing columns are NULL. */
    int (*scan)(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                const struct wire_visitor *v, struct err *e);
    int (*scan_names)(struct store_session *ss, const struct wire_visitor *v, struct err *e);
    int (*scan_unknown)(struct store_session *ss, const struct store_visitor *v, struct err *e);

    /* For callers that scan many tables: *out is the session in its present state, whatever is
     * committed later. Only scan, scan_names and scan_unknown take it, on its owner's thread. let
     * releases it; the session must stay open meanwhile. NULL: scans of the session itself cost no
     * more. */
    int (*hold)(struct store_session *ss, struct store_session **out, struct err *e);
    void (*release)(struct store_session *held);

    int (*query)(struct store *s, const struct store_question *q, const struct store_visitor *v,
                 struct err *e);

    /* Replaces the rows of `count` different sessions in the workspace's history. After an error
     * some or none of them have been replaced (DuckDB: none). */
    int (*put_history)(struct store *s, const char *workspace, const struct store_history *of,
                       size_t count, struct err *e);

    /* Writes a session's table as Parquet to path, names as texts; temporary files go to the folder
     * of path. */
    int (*parquet)(struct store_session *ss, enum record_type type, const char *path,
                   struct err *e);

    /* size: the bytes that a session takes. drop: removes a session at once; its space is freed
     * when the last reader puts it, and until then creating it again gives GPUFL_E_BUSY. */
    int (*size)(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                struct err *e);
    int (*drop)(struct store *s, const char *workspace, const char *session, struct err *e);

    /* Renames a session that cannot be read (GPUFL_E_CORRUPT), so that no question finds it and it
     * can be written again. GPUFL_E_BUSY: the session is open. NULL: this engine cannot. */
    int (*set_aside)(struct store *s, const char *workspace, const char *session, struct err *e);

    /* Writes all committed rows in their final form (checkpoint). */
    int (*settle)(struct store_session *ss, struct err *e);

    /* Gives sentences about files that could not be read when the store was opened; no session need
     * show them. A non-zero result of take stops and is returned. NULL: the engine has no such
     * files. */
    int (*flaws)(struct store *s, int (*take)(void *arg, const char *flaw), void *arg);

    /* Copies all files for a backup to folder. NULL: the engine has no files; store/copy.h makes a
     * backup. */
    int (*backup)(struct store *s, const char *folder, struct err *e);

    /* For copies (store/copy.h). sessions: the ids of a workspace's sessions; walk: a whole
     * session; walk_history: a workspace's history, session by session, as pages of table
     * history. */
    int (*sessions)(struct store *s, const char *workspace, int (*take)(void *arg, const char *id),
                    void *arg, struct err *e);
    int (*walk)(struct store_session *ss, const struct store_walk *w, struct err *e);
    int (*walk_history)(struct store *s, const char *workspace,
                        int (*take)(void *arg, const struct page *p), void *arg, struct err *e);

    /* Appends {"columns":[{"name","type"}],"rows":[[…]],"truncated":…} to answer, cut at q's
     * limits. GPUFL_E_INVAL: not a SELECT, or it fails; GPUFL_E_FULL: it needs too much memory;
     * GPUFL_E_TIMEOUT; GPUFL_E_IO: the process that ran it crashed. NULL, or GPUFL_E_UNAVAILABLE:
     * this engine, or this store_config, cannot run clients' statements. */
    int (*select)(struct store *s, const char *workspace, const struct store_select *q,
                  struct buf *answer, struct err *e);
};

extern const struct store_ops store_duckdb;
extern const struct store_ops store_clickhouse;

#endif
