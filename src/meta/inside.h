/* inside.h - is the interface between the functions of meta.h and the two engines.
 *
 * An engine opens connections that run the statements of sql.def; the core has the pools of
 * connections, the transactions with their retries, and the conversion of rows to structs, once for
 * both. The workspace is put into statements in one place (meta_run), so that a statement on rows
 * of a workspace cannot be run without one. */
#ifndef GPUFL_META_INSIDE_H
#define GPUFL_META_INSIDE_H

#include "meta/meta.h"

/* ---- values ------------------------------------------------------------------------------ */

enum meta_kind { META_KIND_INT, META_KIND_REAL, META_KIND_TEXT, META_KIND_BYTES };

struct meta_value {
    enum meta_kind kind; /* of NULL as well: parameters are typed */
    bool null;
    int64_t i;
    double r;
    const char *at; /* TEXT, BYTES; those of cells are valid until the row was handled */
    size_t len;
};

enum { META_ARGS_MAX = 32, META_CELLS_MAX = 48 };

/* Holds parameters of a statement without the workspace. The first error is remembered, and
 * meta_run returns it. */
struct meta_args {
    struct meta_value v[META_ARGS_MAX];
    unsigned n;
    char words[512];  /* of meta_arg_words */
    struct err error; /* code 0: none */
};

void meta_arg_int(struct meta_args *a, int64_t v);
void meta_arg_real(struct meta_args *a, double v);          /* NAN: NULL */
void meta_arg_text(struct meta_args *a, const char *v);     /* NULL: NULL */
void meta_arg_words(struct meta_args *a, const char *text); /* META_WORDS_MAX of them, a to z */
void meta_arg_row(struct meta_args *a, enum meta_row_id row, const void *from);

bool meta_id_ok(const char *id);

/* Changes A to Z into a to z, as search texts have them; in place. */
void meta_lower(char *text, size_t n);

/* ---- statements -------------------------------------------------------------------------- */

enum meta_scope { META_TENANT, META_GLOBAL, META_FIND, META_ACROSS };

struct meta_statement {
    const char *id;
    enum meta_scope of;
    const char *sql; /* as written in sql.def */
};

enum meta_statement_id {
#define STATEMENT(id, of, sql) META_S_##id,
#include "meta/sql.def"
    META_S_COUNT
};

extern const struct meta_statement meta_statements[META_S_COUNT];

/* Writes the statement with the columns in place of their braces. 0 or NOMEM. */
int meta_sql_expand(const char *sql, struct buf *out);

/* ---- engines ------------------------------------------------------------------------------ */

/* This is a code that engines return to the core only: the transaction failed because of another
 * one, or lost its connection, before it changed anything, and can be run again. No row has been
 * passed to a reader. */
#define META_AGAIN 1

struct meta_reader {
    int (*row)(void *arg, const struct meta_value *cells, unsigned n); /* non-zero stops */
    void *arg;
};

struct meta_conn; /* defined by each engine */

/* Holds a statement with its parameters and the place of its results. */
struct meta_command {
    enum meta_statement_id s;
    const struct meta_value *args;
    unsigned n;
    const struct meta_reader *reader; /* NULL: rows are dropped */
    int64_t *changed;                 /* rows inserted, updated, deleted; may be NULL */
};

/* Says how a transaction begins. ALONE, for migrations: one at a time, and it sees everything that
 * was committed before. SUMS: one at a time of those that change the sums of usage, which would
 * otherwise fail because of each other again and again. */
enum meta_begin { META_BEGIN, META_BEGIN_ALONE, META_BEGIN_SUMS };

struct meta_engine {
    const char *name;
    bool one_writer;                            /* a single connection writes; others only read */
    const char *text, *bytes, *serial, *by_key; /* the SQL of these words in migrations.def */

    /* sql: the expanded statements, by id; they outlive the connection. IO, UNAVAILABLE: the
     * database cannot be reached. */
    int (*connect)(struct meta_conn **out, const struct meta_config *c, const char *const *sql,
                   bool write, struct err *e);
    void (*disconnect)(struct meta_conn *c);
    bool (*broken)(const struct meta_conn *c);

    int (*begin)(struct meta_conn *c, enum meta_begin how, struct err *e);
    int (*commit)(struct meta_conn *c, struct err *e);
    void (*rollback)(struct meta_conn *c);

    int (*run)(struct meta_conn *c, const struct meta_command *command, struct err *e);
    int (*script)(struct meta_conn *c, const char *sql, struct err *e);   /* without parameters */
    int (*version)(struct meta_conn *c, int64_t *version, struct err *e); /* 0: an empty database */
    int (*check)(struct meta_conn *c, struct err *e);
    int (*backup)(struct meta_conn *c, const char *path, struct err *e);
};

/* Lists the calls of an engine whose functions are named after the engine. */
#define META_ENGINE_CALLS(name)                                                                    \
    .connect = name##_connect, .disconnect = name##_disconnect, .broken = name##_broken,           \
    .begin = name##_begin, .commit = name##_commit, .rollback = name##_rollback,                   \
    .run = name##_run, .script = name##_script, .version = name##_version, .check = name##_check,  \
    .backup = name##_backup

extern const struct meta_engine meta_engine_sqlite;
#if GPUFL_POSTGRES
extern const struct meta_engine meta_engine_postgres;
#endif

/* ---- running ------------------------------------------------------------------------------ */

/* This is the workspace of the server's own audit log: not a valid id, so that no workspace can
 * have it. */
#define META_SERVER_LOG "."

/* This is a transaction, or a single read. */
struct meta_tx {
    struct meta *m;
    struct meta_conn *conn;
    const char *workspace; /* NULL: none */
};

int meta_run(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
             const struct meta_reader *reader, int64_t *changed, struct err *e);

/* Runs a statement that changes a row. GPUFL_E_NOENT: it changed none; "no such <what>". */
int meta_run_one(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                 const char *what, struct err *e);

/* Runs fn in a transaction, and again if the transaction fails because of another one. fn must keep
 * nothing of a failed attempt. */
int meta_write(struct meta *m, const char *workspace,
               int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg, struct err *e);

/* Does what meta_write does, for functions that change usage, findings or their sums
 * (META_BEGIN_SUMS). */
int meta_write_sums(struct meta *m, const char *workspace,
                    int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg,
                    struct err *e);

/* Runs fn on a connection for reading; each statement runs on its own, without a transaction. */
int meta_read(struct meta *m, const char *workspace,
              int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg, struct err *e);

/* Runs one statement as a transaction. */
int meta_change(struct meta *m, const char *workspace, enum meta_statement_id s,
                const struct meta_args *a, int64_t *changed, struct err *e);

/* Does what meta_change does, but must change a row: else NOENT and "no such <what>". */
int meta_change_one(struct meta *m, const char *workspace, enum meta_statement_id s,
                    const struct meta_args *a, const char *what, struct err *e);

/* Says where the rows of a list go: an array of the row's structs, in mem. */
struct meta_rows {
    enum meta_row_id row;
    struct region *mem;
    void *rows; /* struct meta_… ** */
    size_t *count;
};

/* Reads rows into structs; meta_list_tx does so inside a transaction. */
int meta_list(const struct meta_ask *ask, enum meta_statement_id s, const struct meta_args *a,
              enum meta_row_id row, void *rows /* struct meta_… ** */, size_t *count);
int meta_list_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                 const struct meta_rows *into, struct err *e);

/* This is a part of a row's cells: a struct, or (row META_ROW_COUNT) one text. */
struct meta_part {
    enum meta_row_id row;
    void *out; /* struct meta_… *, or const char ** */
};

/* Says where a single row goes, and its name in errors ("session"). */
struct meta_one {
    const struct meta_part *parts;
    unsigned part_count;
    struct region *mem;
    const char *what;
};

/* Reads one row. NOENT: there is none; "no such <what>". */
int meta_get(const struct meta_ask *ask, enum meta_statement_id s, const struct meta_args *a,
             const struct meta_part *parts, unsigned part_count, const char *what);
int meta_get_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                const struct meta_one *one, struct err *e);

/* Reads the row of a statement whose only parameter is a key. */
int meta_get_by(const struct meta_ask *ask, enum meta_statement_id s, enum meta_row_id row,
                const char *key, void *out, const char *what);
int meta_number(struct meta *m, const char *workspace, enum meta_statement_id s,
                const struct meta_args *a, int64_t *out, struct err *e);
int meta_number_tx(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                   int64_t *out, struct err *e);

/* Copies cells into a struct. NOMEM: the region is full; CORRUPT: the cells do not fit the row. */
int meta_row_take(const struct meta_row *row, const struct meta_value *cells, unsigned n,
                  struct region *mem, void *out);

/* ---- pages -------------------------------------------------------------------------------- */

/* This is the position after which a page begins: a row's key, id and number. */
struct meta_cursor {
    struct meta_value key;
    char text[META_TEXT_MAX + 1]; /* of a key that is text */
    char id[META_ID_MAX];
    int64_t number; /* third part of the position, in lists that have one */
};

/* Reads page->after into *out (in the ask's region), or sets *out to the position before every row;
 * page->next becomes NULL. INVAL: the text is no cursor of such a list. */
int meta_page_begin(const struct meta_ask *ask, struct meta_page *page, enum meta_kind kind,
                    bool ascending, struct meta_cursor **out);

/* Sets page->next: the next page begins after this row. */
int meta_page_end(const struct meta_ask *ask, struct meta_page *page, const struct meta_value *key,
                  const char *id, int64_t number);
unsigned meta_page_limit(unsigned limit);
/* Removes the extra row that was read beyond the page. False: there is no further page. */
bool meta_page_more(const struct meta_page *page, size_t *count);

/* Reads a list by (time, id), newest first: one row more than a page if there are more. */
int meta_page_list(const struct meta_ask *ask, enum meta_statement_id s, enum meta_row_id row,
                   struct meta_page *page, void *rows, size_t *count);

/* Forgets sums of days before `day`, by whole spans (rollups.c). */
int meta_rollup_forget(struct meta_tx *tx, int64_t day, struct err *e);

/* Findings of fewer sessions of an application or host are read session by session. Tests change
 * it. */
extern int64_t meta_some_sessions;

/* ---- schema ------------------------------------------------------------------------------- */

/* Migrates a database from its version to `to` (0: the newest), or returns an error with the
 * reason. */
int meta_migrate(const struct meta_engine *engine, struct meta_conn *conn, int to, bool change,
                 struct err *e);

/* Tests set it: called in the middle of a migration, after each statement. NULL: not called. */
extern void (*meta_migrate_step)(int version, unsigned statement);

#endif
