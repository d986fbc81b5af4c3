/* store.h - columns of sessions: rows in, rows and aggregates out.
 *
 * One engine behind an ops table: DuckDB (files under a data folder) or ClickHouse (over HTTP).
 * Only the two folders know their engine; both pass one conformance suite (tests/store). No
 * other folder has SQL.
 *
 * A session is what one traced process logged, named by its UUID inside a
 * workspace. Its tables are the records of schema/records.def by name with their
 * columns as 64-bit integers (null: unknown), `names` (id, text), and the
 * pyramid (wire/tile.h). Dictionary rows are kept once by id; event rows in the
 * order in which they were appended. Times are CLOCK_MONOTONIC of the session,
 * as logged; its clock pair is in its info.
 *
 * Writing: one writer a session at a time. What is appended between begin and commit becomes
 * visible and durable together with the positions given to commit, or not at all: a reader that
 * replays a journal asks for the positions first and leaves out what the store has. So
 * everything is loaded exactly once.
 *
 * Reading: any number of readers, on any thread, concurrently with the writer; a read sees the
 * last commit. Handles are counted: get and put.
 *
 * A workspace has tables in addition to its sessions': `kernel_stat`, the sums a finished
 * session leaves for history, and the metrics of hosts.
 *
 * Functions return 0 or a code of base/err.h; where they take struct err, a
 * sentence with it. NOENT: no such session. */
#ifndef GPUFL_STORE_STORE_H
#define GPUFL_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/decode.h"
#include "wire/tile.h"

#include <stdbool.h>

#define STORE_ID_MAX 64 /* bytes of a workspace's or session's id with its NUL: [0-9A-Za-z_-]+ */

/* The right to change the rows of a session that count, where several processes have the same
 * engine, which cannot distinguish them: taken before, given back after. [any] */
struct store_turns {
    void *arg;
    /* BUSY: another process has it, and this one is next; try again soon. *seized: the last holder
     * did not give it back, and its last commit may still arrive. */
    int (*take)(void *arg, const char *workspace, const char *session, bool *seized, struct err *e);
    /* Keeps it for longer, and gives it back. BUSY from either: it was lost, or the tables cannot
     * be asked: others may not know of what was done. */
    int (*keep)(void *arg, const char *workspace, const char *session, struct err *e);
    int (*give)(void *arg, const char *workspace, const char *session, struct err *e);
};

struct store;         /* an engine, open */
struct store_session; /* a session, open */

struct store_config {
    const char *data; /* DuckDB: folder for its files, created; ClickHouse: unused */
    const char
        *url; /* ClickHouse: clickhouse://[user[:password]@]host:port[,…]/prefix[?cluster=name] */
    int64_t memory_limit;     /* bytes the engine may take; of a server: a statement; 0: default */
    int threads;              /* of the engine; 0: default */
    unsigned attached_most;   /* sessions open at once; 0: default */
    int64_t small_most;       /* DuckDB: bytes of rows in memory up to which sessions share files;
                               * 0: default; -1: each session has a file. ClickHouse: -1: rows are
                               * in the tables of their own from the first on */
    const char *program;      /* that answers STORE_SELECT_WORD, for select; NULL: none */
    const char *select_login; /* ClickHouse: "name:password" of the users of select; NULL: none */
    int64_t query_limit;      /* ns that a question may take, then it is TIMEOUT; 0: default */
    const struct store_turns *turns; /* ClickHouse; outlives the store. NULL: one process writes */
    bool alone; /* ClickHouse: no other process writes, and so the server is not asked what another
                 * one may have written */
};

/* The position of a channel: bytes of plain NDJSON loaded since the session's start. */
struct store_position {
    char channel[24];
    int64_t offset;
};

#define STORE_POSITIONS_MAX 16

/* ---- results ----------------------------------------------------------------------------- */

enum store_type {
    STORE_INT,
    STORE_REAL,
    STORE_TEXT,
    STORE_NAME, /* text: a kernel's mangled name */
    STORE_LIST, /* of INT; parameters only */
};

struct store_text {
    const char *at; /* not NUL-terminated */
    size_t len;
};

/* A column of a chunk: one of the arrays by its type, and which cells are known. */
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

/* Some rows of an answer; valid during the call. */
struct store_chunk {
    size_t rows;
    unsigned column_count;
    const struct store_vec *columns;
};

struct store_visitor {
    void *arg;
    int (*chunk)(void *arg, const struct store_chunk *c); /* non-zero stops and is returned */
    /* Appends what people read in place of a kernel's name: a question's pattern may be a part of
     * that text, too. NULL: of the name alone. */
    void (*readable)(struct buf *out, const char *name);
};

/* ---- all there is ------------------------------------------------------------------------- */

struct page; /* store/page.h */

/* The callbacks that a copy of a session is made from, at one commit. First positions, then table
 * by table (a number of store/tables.h) records in order, names, unknown lines, the pyramid.
 * Non-zero stops and is returned. */
struct store_walk {
    void *arg;
    int (*positions)(void *arg, const struct store_position *p, unsigned n);
    int (*page)(void *arg, unsigned table, const struct page *p);
    const bool *tables; /* which of them; NULL: all */
};

/* ---- the named questions ------------------------------------------------------------------ */

/* Every question the store answers is a row of schema/queries.def: its parameters and the columns
 * of its answer, in order. */
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
    bool of_workspace; /* else of one session */
    const char *doc;
    const struct store_param *params;
    unsigned param_count;
    const struct store_column *columns;
    unsigned column_count;
};

extern const struct store_query_def store_queries[STORE_QUERY_COUNT];

/* A value for each parameter of the question, in order; of the union by its type. */
struct store_value {
    bool null; /* where a parameter may be left out */
    int64_t i;
    double r;
    struct store_text text;
    const int64_t *list;
    size_t list_count;
};

/* ---- words of somebody else's ---------------------------------------------------------------- */

enum { STORE_SELECT_SESSIONS = 32 };

/* The argument that makes a program of ours the child of a select, and what it does then, before
 * anything else in main. Returns its exit status. */
#define STORE_SELECT_WORD "--store-select"
int store_select_child(void);

/* One SELECT over some sessions of a workspace and its history; docs/server-sql.md has its
 * tables. */
struct store_select {
    struct store_text sql;
    const struct store_select_session {
        struct store_session *columns; /* open */
        bool live;                     /* being written: a copy of it is asked */
        const char *id, *app, *host, *engine, *state;
        int64_t start;          /* CLOCK_MONOTONIC of its begin, ns */
        int64_t started, ended; /* ns since the Unix epoch; 0: none */
    } * sessions;
    size_t session_count;
    int64_t rows_most, bytes_most; /* of the answer: what is more is cut, and it says so */
    int64_t time_most;             /* ns; then it is TIMEOUT */
};

/* Transactions that are sent together at most. */
enum { STORE_COMMITS_MAX = 32 };

/* One of several transactions that are committed together, and what came of it. */
struct store_commit {
    struct store_session *session;
    const struct store_position *positions;
    unsigned count;
    int rc; /* as of commit */
    struct err err;
};

/* ---- what an engine does ------------------------------------------------------------------ */

/* A question about a session or, where it is NULL, about all of a workspace. */
struct store_question {
    const char *workspace;
    struct store_session *session;
    enum store_query q;
    const struct store_value *args; /* by the question's parameters; NULL where it has none */
};

/* What the history is to have of a session: rows of the history question's columns (queries.def,
 * kernel_history), whose first is the session's. No rows: forgets the session, which drop does
 * not. */
struct store_history {
    const char *session;
    const struct store_chunk *rows;
};

struct store_ops {
    const char *name; /* "duckdb", "clickhouse" */
    bool far;         /* every question goes over the network */

    int (*open)(struct store **out, const struct store_config *c, struct err *e);
    void (*close)(struct store *s); /* after the last put */
    /* Called before close: questions under way, and later ones, end with TIMEOUT. NULL: they end
     * within the engine's limit. [any] */
    void (*hurry)(struct store *s);

    /* Sessions that may be written at the same time; one more would take the memory of the others.
     * NULL: the engine has no such limit. */
    unsigned (*room)(struct store *s);

    /* Opens a session, creating it where create says so; NOENT where it does not exist. After an
     * error of writing (a full disk) an engine may refuse all that follows: put the session, and
     * get it again. */
    int (*get)(struct store *s, const char *workspace, const char *session, bool create,
               struct store_session **out, struct err *e);
    void (*put)(struct store_session *ss);

    /* Writing [the session's writer, one thread from begin to commit]. A second one is BUSY. A
     * commit that fails has rolled back; after any other failure roll back. */
    int (*positions)(struct store_session *ss, struct store_position *out, unsigned *count,
                     struct err *e); /* count: room in, filled out */
    /* positions for callers that do not write: the writer's knowledge stays as it is. */
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
    /* A line of a type that this version does not know, kept as it came. The loader keeps header
     * lines and counts here as well, under channels that begin with a dot
     * (server/intake/loader.h). */
    int (*unknown)(struct store_session *ss, const char *channel, const char *line, size_t len,
                   struct err *e);
    int (*commit)(struct store_session *ss, const struct store_position *p, unsigned n,
                  struct err *e);
    void (*rollback)(struct store_session *ss);
    /* Commits transactions of different sessions, each as commit does and with a result of its own:
     * one that fails takes none with it, except by a reason that they share. NULL: they cost no
     * less together. */
    void (*commit_all)(struct store_commit *of, size_t n);

    /* Rows of one record in order, as batches of at most 65536; from and to bound the record's
     * TIME column (INT64_MIN and INT64_MAX: all). Columns that are not there are NULL. */
    int (*scan)(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                const struct wire_visitor *v, struct err *e);
    int (*scan_names)(struct store_session *ss, const struct wire_visitor *v, struct err *e);
    int (*scan_unknown)(struct store_session *ss, const struct store_visitor *v, struct err *e);

    /* For somebody who scans many tables: *out is the session as of now, whatever is committed
     * later, for scan, scan_names and scan_unknown alone; its owner's thread. let ends it; the
     * session must stay open meanwhile. NULL: scans of the session itself cost no more. */
    int (*hold)(struct store_session *ss, struct store_session **out, struct err *e);
    void (*let)(struct store_session *held);

    int (*query)(struct store *s, const struct store_question *q, const struct store_visitor *v,
                 struct err *e);

    /* Replaces what the workspace's history has of `count` different sessions. An error: some of
     * them, or none, have been replaced (DuckDB: none). */
    int (*put_history)(struct store *s, const char *workspace, const struct store_history *of,
                       size_t count, struct err *e);

    /* Writes a session's table as Parquet to path, names as texts; temporary files go to the same
     * folder. */
    int (*parquet)(struct store_session *ss, enum record_type type, const char *path,
                   struct err *e);

    /* size: bytes a session takes. drop: gone at once, its space freed when the last reader puts
     * it; until then BUSY for a caller that would create it again. */
    int (*size)(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                struct err *e);
    int (*drop)(struct store *s, const char *workspace, const char *session, struct err *e);

    /* Keeps a session that cannot be read (CORRUPT) under another name, which no question finds, so
     * that it can be written anew. BUSY: somebody has it open. NULL: this engine cannot. */
    int (*put_apart)(struct store *s, const char *workspace, const char *session, struct err *e);

    /* Writes all that is committed in its final form (checkpoint). */
    int (*settle)(struct store_session *ss, struct err *e);

    /* Sentences about files that could not be read when the store was opened, which no session may
     * show. Non-zero of take stops and is returned. NULL: the engine has no such files. */
    int (*flaws)(struct store *s, int (*take)(void *arg, const char *flaw), void *arg);

    /* Copies all files for a backup under folder. NULL: there are none; store/copy.h makes a
     * backup. */
    int (*backup)(struct store *s, const char *folder, struct err *e);

    /* For copies (store/copy.h): ids of a workspace's sessions; a whole session; a workspace's
     * history, session by session, as pages of table history. */
    int (*sessions)(struct store *s, const char *workspace, int (*take)(void *arg, const char *id),
                    void *arg, struct err *e);
    int (*walk)(struct store_session *ss, const struct store_walk *w, struct err *e);
    int (*walk_history)(struct store *s, const char *workspace,
                        int (*take)(void *arg, const struct page *p), void *arg, struct err *e);

    /* Appends {"columns":[{"name","type"}],"rows":[[…]],"truncated":…} to answer, cut at q's
     * limits. INVAL: no SELECT, or one that fails; FULL: it needs more memory than it may have;
     * TIMEOUT; IO: what asks it crashed. NULL, or UNAVAILABLE: this engine, or store_config, has
     * nothing that asks. */
    int (*select)(struct store *s, const char *workspace, const struct store_select *q,
                  struct buf *answer, struct err *e);
};

extern const struct store_ops store_duckdb;
extern const struct store_ops store_clickhouse;

#endif
