/* sqlite.c - keeps the small tables in one file, for one server.
 *
 * Write-ahead logging: readers see the last commit and never block the writer. One connection
 * writes; `begin` takes SQLite's writer lock at once, so that a transaction that has begun cannot
 * fail because of another one. Another process (a backup, `check`) is waited for up to BUSY_MS.
 * Statements are compiled once for each connection.
 *
 * Only its owner may read the file: it contains hashes of passwords. One thread at a time uses a
 * connection. */
#include "meta/inside.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUSY_MS = 5000 };

struct meta_conn {
    sqlite3 *db;
    const char *const *sql;               /* of all statements */
    sqlite3_stmt *compiled[META_S_COUNT]; /* NULL: not yet */
};

static int code_of(int sqlite)
{
    switch (sqlite) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return GPUFL_E_STATE;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return GPUFL_E_NOENT;
    default:
        break;
    }
    switch (sqlite & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return META_AGAIN;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return GPUFL_E_INVAL;
    case SQLITE_FULL:
        return GPUFL_E_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return GPUFL_E_CORRUPT;
    case SQLITE_NOMEM:
        return GPUFL_E_NOMEM;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return GPUFL_E_PERM;
    default:
        return GPUFL_E_IO;
    }
}

/* Sets the error of the last call on db, with a sentence; META_AGAIN has none. */
static int failed(sqlite3 *db, struct err *e)
{
    int rc = code_of(sqlite3_extended_errcode(db));
    const char *said = sqlite3_errmsg(db);
    if (rc == META_AGAIN)
        return rc;
    if (rc == GPUFL_E_STATE)
        return err_set(e, rc, "it is there already");
    if (rc == GPUFL_E_NOENT)
        return err_set(e, rc, "what it belongs to is not there");
    const char *file = sqlite3_db_filename(db, "main");
    int why = sqlite3_system_errno(db);
    if (rc == GPUFL_E_FULL || (rc == GPUFL_E_IO && (why == ENOSPC || why == EDQUOT)))
        return err_set_vendor(e, GPUFL_E_FULL, ENOSPC, "the small tables in %s", file ? file : "?");
    return err_set(e, rc, "the small tables in %s: %s", file ? file : "?", said);
}

/* ---- connections -------------------------------------------------------------------------- */

static void sqlite_disconnect(struct meta_conn *c)
{
    for (unsigned i = 0; i < META_S_COUNT; i++)
        sqlite3_finalize(c->compiled[i]);
    sqlite3_close(c->db);
    mem_free(c);
}

static int sqlite_script(struct meta_conn *c, const char *sql, struct err *e)
{
    return sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(c->db, e);
}

/* Creates a new file, readable by its owner only; SQLite gives its log the same rights. An existing
 * file is not opened here: closing it would release this process's locks on it, and another
 * process that then closes the file would think it the last user and remove the log. */
static int file_make(const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot open %s", path);
    close(fd);
    return 0;
}

static int first_text(void *arg, int n, char **cells, char **names)
{
    (void)names;
    char *out = arg;
    if (n > 0 && cells[0] && !*out)
        snprintf(out, 64, "%s", cells[0]);
    return 0;
}

/* Switches to write-ahead logging, for all connections; another process may use the file. */
static int wal_set(struct meta_conn *c, struct err *e)
{
    char mode[64] = "";
    if (sqlite3_exec(c->db, "PRAGMA journal_mode = WAL", first_text, mode, NULL) != SQLITE_OK)
        return failed(c->db, e);
    if (strcmp(mode, "wal") == 0)
        return 0;
    return err_set(
        e, GPUFL_E_UNAVAILABLE,
        "the file system of %s cannot share memory between processes, which SQLite needs "
        "(is it a network's?): use a local folder, or PostgreSQL",
        sqlite3_db_filename(c->db, "main"));
}

/* Computes strpos(text, part) as in PostgreSQL: where the part begins, from 1; 0: not found. */
static void strpos_run(sqlite3_context *to, int n, sqlite3_value **args)
{
    const char *text = (const char *)sqlite3_value_text(args[0]);
    const char *part = (const char *)sqlite3_value_text(args[1]);
    (void)n;
    if (!text || !part)
        return; /* NULL */
    const char *at = memmem(text, (size_t)sqlite3_value_bytes(args[0]), part,
                            (size_t)sqlite3_value_bytes(args[1]));
    sqlite3_result_int64(to, at ? at - text + 1 : 0);
}

static int functions_add(struct meta_conn *c, struct err *e)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    return sqlite3_create_function(c->db, "strpos", 2, flags, NULL, strpos_run, NULL, NULL) ==
                   SQLITE_OK
               ? 0
               : failed(c->db, e);
}

static int sqlite_connect(struct meta_conn **out, const struct meta_config *config,
                          const char *const *sql, bool write, struct err *e)
{
    *out = NULL;
    int rc = file_make(config->path, e);
    if (rc)
        return rc;
    struct meta_conn *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    c->sql = sql;
    if (sqlite3_open_v2(config->path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        rc = c->db ? failed(c->db, e) : err_nomem(e);
        goto done;
    }
    sqlite3_extended_result_codes(c->db, 1);
    sqlite3_busy_timeout(c->db, BUSY_MS);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    rc = wal_set(c, e);
    rc = rc ? rc : sqlite_script(c, "PRAGMA foreign_keys = ON", e);
    rc = rc ? rc : sqlite_script(c, "PRAGMA trusted_schema = OFF", e);
    rc = rc ? rc : sqlite_script(c, "PRAGMA cache_size = -16384", e); /* KiB, at most */
    rc = rc ? rc : functions_add(c, e);
    if (!rc)
        rc = sqlite_script(
            c, config->relaxed ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL", e);
    if (!rc && !write)
        rc = sqlite_script(c, "PRAGMA query_only = ON", e);
done:
    if (rc)
        sqlite_disconnect(c);
    else
        *out = c;
    return rc == META_AGAIN ? err_set(e, GPUFL_E_TIMEOUT, "another process holds %s", config->path)
                            : rc;
}

static bool sqlite_broken(const struct meta_conn *c)
{
    (void)c;
    return false;
}

/* ---- transactions ------------------------------------------------------------------------- */

static int sqlite_begin(struct meta_conn *c, enum meta_begin how, struct err *e)
{
    (void)how; /* SQLite has one writer at a time in any case */
    return sqlite_script(c, "BEGIN IMMEDIATE", e);
}

static int sqlite_commit(struct meta_conn *c, struct err *e)
{
    return sqlite_script(c, "COMMIT", e);
}

static void sqlite_rollback(struct meta_conn *c)
{
    if (!sqlite3_get_autocommit(c->db))
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements --------------------------------------------------------------------------- */

static int statement_bind(sqlite3_stmt *st, const struct meta_value *args, unsigned n)
{
    int rc = SQLITE_OK;
    for (unsigned i = 0; i < n && rc == SQLITE_OK; i++) {
        const struct meta_value *v = &args[i];
        int at = (int)i + 1;
        if (v->null)
            rc = sqlite3_bind_null(st, at);
        else if (v->kind == META_KIND_INT)
            rc = sqlite3_bind_int64(st, at, v->i);
        else if (v->kind == META_KIND_REAL)
            rc = sqlite3_bind_double(st, at, v->r);
        else if (v->kind == META_KIND_TEXT)
            rc = sqlite3_bind_text64(st, at, v->at, v->len, SQLITE_STATIC, SQLITE_UTF8);
        else
            rc = sqlite3_bind_blob64(st, at, v->at, v->len, SQLITE_STATIC);
    }
    return rc;
}

static struct meta_value cell(sqlite3_stmt *st, int i)
{
    struct meta_value v = {.kind = META_KIND_TEXT, .null = true, .at = ""};
    switch (sqlite3_column_type(st, i)) {
    case SQLITE_INTEGER:
        return (struct meta_value){.kind = META_KIND_INT, .i = sqlite3_column_int64(st, i)};
    case SQLITE_FLOAT:
        return (struct meta_value){.kind = META_KIND_REAL, .r = sqlite3_column_double(st, i)};
    case SQLITE_TEXT:
        v.at = (const char *)sqlite3_column_text(st, i);
        break;
    case SQLITE_BLOB:
        v.kind = META_KIND_BYTES;
        v.at = sqlite3_column_blob(st, i);
        break;
    default:
        return v;
    }
    v.null = false;
    v.len = (size_t)sqlite3_column_bytes(st, i);
    return v;
}

/* Passes every row to the reader. Returns 0, the reader's result, or the database's error. */
static int statement_step(struct meta_conn *c, sqlite3_stmt *st, const struct meta_reader *reader,
                          struct err *e)
{
    struct meta_value cells[META_CELLS_MAX];
    int n = sqlite3_column_count(st);
    if (n > META_CELLS_MAX)
        return err_set(e, GPUFL_E_INVAL, "a statement has too many columns");
    for (;;) {
        int step = sqlite3_step(st);
        if (step == SQLITE_DONE)
            return 0;
        if (step != SQLITE_ROW)
            return failed(c->db, e);
        for (int i = 0; i < n; i++)
            cells[i] = cell(st, i);
        int rc = reader ? reader->row(reader->arg, cells, (unsigned)n) : 0;
        if (rc)
            return rc;
    }
}

static int sqlite_run(struct meta_conn *c, const struct meta_command *k, struct err *e)
{
    sqlite3_stmt **st = &c->compiled[k->s];
    if (!*st && sqlite3_prepare_v3(c->db, c->sql[k->s], -1, SQLITE_PREPARE_PERSISTENT, st, NULL) !=
                    SQLITE_OK)
        return failed(c->db, e);
    if ((unsigned)sqlite3_bind_parameter_count(*st) != k->n)
        return err_set(e, GPUFL_E_INVAL, "statement %s takes %d parameters, not %u",
                       meta_statements[k->s].id, sqlite3_bind_parameter_count(*st), k->n);
    int rc = 0;
    if (statement_bind(*st, k->args, k->n) != SQLITE_OK)
        rc = failed(c->db, e);
    else
        rc = statement_step(c, *st, k->reader, e);
    if (k->changed && rc == 0)
        *k->changed = sqlite3_changes64(c->db);
    sqlite3_reset(*st);
    sqlite3_clear_bindings(*st);
    return rc;
}

/* ---- as a whole --------------------------------------------------------------------------- */

static int sqlite_version(struct meta_conn *c, int64_t *version, struct err *e)
{
    char text[64] = "";
    *version = 0;
    if (sqlite3_exec(c->db, "SELECT name FROM sqlite_master WHERE name = 'meta_schema'", first_text,
                     text, NULL) != SQLITE_OK)
        return failed(c->db, e);
    if (!*text)
        return 0;
    *text = '\0';
    if (sqlite3_exec(c->db, "SELECT version FROM meta_schema", first_text, text, NULL) != SQLITE_OK)
        return failed(c->db, e);
    *version = strtoll(text, NULL, 10);
    return 0;
}

static int sqlite_check(struct meta_conn *c, struct err *e)
{
    char text[64] = "";
    if (sqlite3_exec(c->db, "PRAGMA integrity_check(1)", first_text, text, NULL) != SQLITE_OK)
        return failed(c->db, e);
    if (strcmp(text, "ok") != 0)
        return err_set(e, GPUFL_E_CORRUPT, "the small tables are damaged (%s): restore a backup",
                       text);
    *text = '\0';
    if (sqlite3_exec(c->db, "PRAGMA foreign_key_check", first_text, text, NULL) != SQLITE_OK)
        return failed(c->db, e);
    if (*text)
        return err_set(e, GPUFL_E_CORRUPT,
                       "table %s refers to rows that are not there: restore a backup", text);
    return 0;
}

/* Writes a separate file without a log; it has another name until it is complete. */
static int sqlite_backup(struct meta_conn *c, const char *path, struct err *e)
{
    char part[4096];
    int n = snprintf(part, sizeof part, "%s.part", path);
    if (n < 0 || (size_t)n >= sizeof part)
        return err_set(e, GPUFL_E_INVAL, "the backup's path is too long");
    if (unlink(part) && errno != ENOENT)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot replace %s", part);
    int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot make %s", part);
    sqlite3_stmt *st = NULL;
    int rc = 0;
    sqlite3_exec(c->db, "PRAGMA query_only = OFF", NULL, NULL, NULL); /* VACUUM needs it */
    if (sqlite3_prepare_v2(c->db, "VACUUM INTO ?1", -1, &st, NULL) != SQLITE_OK ||
        sqlite3_bind_text(st, 1, part, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_DONE)
        rc = failed(c->db, e);
    sqlite3_finalize(st);
    sqlite3_exec(c->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
    if (rc == 0 && fsync(fd))
        rc = err_set_vendor(e, GPUFL_E_IO, errno, "cannot write %s", part);
    close(fd);
    if (rc == 0 && rename(part, path))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot make %s", path);
    if (rc)
        unlink(part);
    return rc;
}

const struct meta_engine meta_engine_sqlite = {
    .name = "sqlite",
    .one_writer = true,
    .text = "TEXT",
    .bytes = "BLOB",
    .serial = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .by_key = " WITHOUT ROWID",
    META_ENGINE_CALLS(sqlite),
};
