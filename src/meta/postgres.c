/* postgres.c - keeps the small tables in PostgreSQL, for several servers.
 *
 * Transactions are SERIALIZABLE: what a transaction has read stays true until it commits, or it
 * fails and is run again. Statements are prepared once for each connection; parameters and cells
 * are sent in binary form. A result is complete before its first row is passed on, so that a broken
 * connection gives META_AGAIN, except during a commit: whether it was done is unknown then, and the
 * error says so.
 *
 * One thread at a time uses a connection. */
#include "meta/inside.h"

#include "base/alloc.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists PostgreSQL's numbers of types (pg_type.oid), which never change. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_FLOAT8 = 701
};

/* Servers that migrate at the same time take this lock, the same number in all of them. */
#define MIGRATION_LOCK "5789023481"

struct meta_conn {
    PGconn *pg;
    const char *const *sql;
    bool prepared[META_S_COUNT];
};

/* ---- errors ------------------------------------------------------------------------------- */

struct state_row {
    const char *state; /* SQLSTATE, or how it begins */
    int code;
    const char *sentence; /* NULL: the server's */
};

static const struct state_row STATES[] = {
    {"40001", META_AGAIN, NULL},
    {"40P01", META_AGAIN, NULL},
    {"55P03", META_AGAIN, NULL},
    {"08", META_AGAIN, NULL},
    {"57P01", META_AGAIN, NULL},
    {"57P02", META_AGAIN, NULL},
    {"57P03", META_AGAIN, NULL},
    {"57014", GPUFL_E_TIMEOUT, "PostgreSQL took too long"},
    {"23505", GPUFL_E_STATE, "it is there already"},
    {"23503", GPUFL_E_NOENT, "what it belongs to is not there"},
    {"23", GPUFL_E_INVAL, NULL},
    {"22", GPUFL_E_INVAL, NULL},
    {"53100", GPUFL_E_FULL, "PostgreSQL's disk is full"},
    {"53", GPUFL_E_FULL, NULL},
    {"42501", GPUFL_E_PERM, NULL},
    {"28", GPUFL_E_PERM, NULL},
    {"25006", GPUFL_E_PERM, NULL},
};

/* Sets the error to the first line of a message of the server or libpq. */
static int said(struct err *e, int rc, const char *message)
{
    int len = (int)strcspn(message, "\n");
    return err_set(e, rc, "the small tables in PostgreSQL: %.*s", len, message);
}

/* Sets the error of a failed result (NULL: there was none). */
static int failed(struct meta_conn *c, const PGresult *r, struct err *e)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    if (PQstatus(c->pg) == CONNECTION_BAD)
        return META_AGAIN;
    for (size_t i = 0; state && i < sizeof STATES / sizeof STATES[0]; i++) {
        const struct state_row *row = &STATES[i];
        if (strncmp(state, row->state, strlen(row->state)) != 0)
            continue;
        if (row->code == META_AGAIN)
            return META_AGAIN;
        return row->sentence ? err_set(e, row->code, "%s", row->sentence)
                             : said(e, row->code, PQresultErrorMessage(r));
    }
    return said(e, GPUFL_E_IO, r ? PQresultErrorMessage(r) : PQerrorMessage(c->pg));
}

/* ---- connections -------------------------------------------------------------------------- */

static void postgres_disconnect(struct meta_conn *c)
{
    PQfinish(c->pg);
    mem_free(c);
}

static void notice_drop(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

static int postgres_script(struct meta_conn *c, const char *sql, struct err *e)
{
    PGresult *r = PQexec(c->pg, sql);
    ExecStatusType status = PQresultStatus(r);
    int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : failed(c, r, e);
    PQclear(r);
    return rc;
}

static int postgres_connect(struct meta_conn **out, const struct meta_config *config,
                            const char *const *sql, bool write, struct err *e)
{
    (void)write;
    /* Parameters before the address: the address can override them. */
    const char *const keys[] = {"connect_timeout", "fallback_application_name", "dbname",
                                "client_encoding", NULL};
    const char *const values[] = {"5", "gpufl-server", config->url, "UTF8", NULL};
    *out = NULL;
    struct meta_conn *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    c->sql = sql;
    c->pg = PQconnectdbParams(keys, values, 1);
    int rc = 0;
    if (PQstatus(c->pg) != CONNECTION_OK) {
        rc = c->pg ? said(e, GPUFL_E_UNAVAILABLE, PQerrorMessage(c->pg)) : err_nomem(e);
        goto done;
    }
    PQsetNoticeReceiver(c->pg, notice_drop, NULL);
    rc = postgres_script(c, "SET statement_timeout = '30s'; SET lock_timeout = '10s'", e);
    if (rc == 0 && config->relaxed)
        rc = postgres_script(c, "SET synchronous_commit = off", e);
done:
    if (rc)
        postgres_disconnect(c);
    else
        *out = c;
    return rc;
}

static bool postgres_broken(const struct meta_conn *c)
{
    return PQstatus(c->pg) != CONNECTION_OK || PQtransactionStatus(c->pg) != PQTRANS_IDLE;
}

/* ---- transactions ------------------------------------------------------------------------- */

static int postgres_begin(struct meta_conn *c, enum meta_begin how, struct err *e)
{
    if (how == META_BEGIN)
        return postgres_script(c, "BEGIN ISOLATION LEVEL SERIALIZABLE", e);
    /* LOCK TABLE comes before the transaction's snapshot is taken, so that the snapshot contains
     * the changes of the transaction that was waited for. The table has no rows, so that nothing
     * vacuums it meanwhile. */
    if (how == META_BEGIN_SUMS)
        return postgres_script(c,
                               "BEGIN ISOLATION LEVEL SERIALIZABLE; "
                               "LOCK TABLE fleet_turn IN EXCLUSIVE MODE",
                               e);
    /* READ COMMITTED: statements see the rows as they are after the wait for the lock. */
    return postgres_script(c,
                           "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 0; "
                           "SET LOCAL statement_timeout = 0; "
                           "SELECT pg_advisory_xact_lock(" MIGRATION_LOCK ")",
                           e);
}

static int postgres_commit(struct meta_conn *c, struct err *e)
{
    PGresult *r = PQexec(c->pg, "COMMIT");
    int rc = 0;
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        rc =
            PQstatus(c->pg) == CONNECTION_BAD
                ? err_set(e, GPUFL_E_IO,
                          "the connection to PostgreSQL broke while a change was committed: it may "
                          "or may not have been made")
                : failed(c, r, e);
    else if (strcmp(PQcmdStatus(r), "COMMIT") != 0) /* the transaction had failed before */
        rc = META_AGAIN;
    PQclear(r);
    return rc;
}

static void postgres_rollback(struct meta_conn *c)
{
    if (PQtransactionStatus(c->pg) != PQTRANS_IDLE)
        PQclear(PQexec(c->pg, "ROLLBACK"));
}

/* ---- statements --------------------------------------------------------------------------- */

static Oid oid_of(enum meta_kind kind)
{
    switch (kind) {
    case META_KIND_INT:
        return OID_INT8;
    case META_KIND_REAL:
        return OID_FLOAT8;
    case META_KIND_BYTES:
        return OID_BYTEA;
    case META_KIND_TEXT:
        break;
    }
    return OID_TEXT;
}

static int statement_prepare(struct meta_conn *c, enum meta_statement_id s, const char *name,
                             const struct meta_value *args, unsigned n, struct err *e)
{
    Oid types[META_ARGS_MAX + 1];
    char *sql = mem_strdup(c->sql[s]);
    if (!sql)
        return err_nomem(e);
    for (unsigned i = 0; i < n; i++)
        types[i] = oid_of(args[i].kind);
    for (char *at = sql; (at = strchr(at, '?')); at++)
        *at = '$';
    PGresult *r = PQprepare(c->pg, name, sql, (int)n, types);
    int rc = PQresultStatus(r) == PGRES_COMMAND_OK ? 0 : failed(c, r, e);
    PQclear(r);
    mem_free(sql);
    c->prepared[s] = rc == 0;
    return rc;
}

/* Holds parameters in the form that libpq takes. */
struct wire_args {
    const char *values[META_ARGS_MAX + 1];
    int lengths[META_ARGS_MAX + 1];
    int formats[META_ARGS_MAX + 1];
    uint64_t numbers[META_ARGS_MAX + 1]; /* big-endian */
};

static void args_encode(struct wire_args *w, const struct meta_value *args, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct meta_value *v = &args[i];
        uint64_t bits = (uint64_t)v->i;
        if (v->kind == META_KIND_REAL)
            memcpy(&bits, &v->r, sizeof bits);
        w->numbers[i] = htobe64(bits);
        w->formats[i] = 1;
        if (v->null) {
            w->values[i] = NULL;
            w->lengths[i] = 0;
        } else if (v->kind == META_KIND_TEXT || v->kind == META_KIND_BYTES) {
            w->values[i] = v->at;
            w->lengths[i] = (int)v->len;
        } else {
            w->values[i] = (const char *)&w->numbers[i];
            w->lengths[i] = sizeof w->numbers[i];
        }
    }
}

static uint64_t big_endian(const char *at, int len)
{
    uint64_t v = 0;
    for (int i = 0; i < len; i++)
        v = v << 8 | (unsigned char)at[i];
    return v;
}

/* Reads one cell. False: it has a type that no statement returns. */
static bool cell(const PGresult *r, int row, int column, struct meta_value *v)
{
    int len = PQgetlength(r, row, column);
    *v = (struct meta_value){.null = PQgetisnull(r, row, column) != 0,
                             .at = PQgetvalue(r, row, column),
                             .len = (size_t)len};
    uint64_t bits = 0;
    switch (PQftype(r, column)) {
    case OID_TEXT:
        v->kind = META_KIND_TEXT;
        return true;
    case OID_BYTEA:
        v->kind = META_KIND_BYTES;
        return true;
    case OID_INT8:
        v->kind = META_KIND_INT;
        v->i = v->null ? 0 : (int64_t)big_endian(v->at, 8);
        return true;
    case OID_INT4:
        v->kind = META_KIND_INT;
        v->i = v->null ? 0 : (int32_t)big_endian(v->at, 4);
        return true;
    case OID_FLOAT8:
        v->kind = META_KIND_REAL;
        bits = v->null ? 0 : big_endian(v->at, 8);
        memcpy(&v->r, &bits, sizeof bits);
        return true;
    default:
        return false;
    }
}

static int rows_hand_over(const PGresult *r, const struct meta_reader *reader, struct err *e)
{
    struct meta_value cells[META_CELLS_MAX];
    int n = PQnfields(r);
    if (n > META_CELLS_MAX)
        return err_set(e, GPUFL_E_INVAL, "a statement has too many columns");
    for (int row = 0; row < PQntuples(r); row++) {
        for (int i = 0; i < n; i++)
            if (!cell(r, row, i, &cells[i]))
                return err_set(e, GPUFL_E_CORRUPT, "column %s has type %u, which nobody expects",
                               PQfname(r, i), PQftype(r, i));
        int rc = reader->row(reader->arg, cells, (unsigned)n);
        if (rc)
            return rc;
    }
    return 0;
}

static int postgres_run(struct meta_conn *c, const struct meta_command *k, struct err *e)
{
    char name[16];
    struct wire_args w;
    snprintf(name, sizeof name, "s%u", (unsigned)k->s);
    int rc = c->prepared[k->s] ? 0 : statement_prepare(c, k->s, name, k->args, k->n, e);
    if (rc)
        return rc;
    args_encode(&w, k->args, k->n);
    PGresult *r = PQexecPrepared(c->pg, name, (int)k->n, w.values, w.lengths, w.formats, 1);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        rc = failed(c, r, e);
    else if (k->reader)
        rc = rows_hand_over(r, k->reader, e);
    if (k->changed && rc == 0)
        *k->changed = strtoll(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return rc;
}

/* ---- as a whole --------------------------------------------------------------------------- */

/* Reads the first cell of a statement's result as a number; `missing` if there is no row. */
static int number_ask(struct meta_conn *c, const char *sql, int64_t missing, int64_t *out,
                      struct err *e)
{
    PGresult *r = PQexec(c->pg, sql);
    int rc = PQresultStatus(r) == PGRES_TUPLES_OK ? 0 : failed(c, r, e);
    if (rc == 0) {
        bool none = PQntuples(r) == 0 || PQgetisnull(r, 0, 0);
        *out = none ? missing : strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    }
    PQclear(r);
    return rc;
}

static int postgres_version(struct meta_conn *c, int64_t *version, struct err *e)
{
    int64_t there = 0;
    *version = 0;
    /* Not by to_regclass, which remembers that a table did not exist before the wait for a lock. */
    int rc = number_ask(c,
                        "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = "
                        "c.relnamespace WHERE c.relname = 'meta_schema' AND n.nspname = "
                        "current_schema()",
                        0, &there, e);
    if (rc == 0 && there)
        rc = number_ask(c, "SELECT version FROM meta_schema", 0, version, e);
    return rc;
}

/* Checks nothing: PostgreSQL has a tool of its own for that (pg_amcheck). */
static int postgres_check(struct meta_conn *c, struct err *e)
{
    int64_t version = 0;
    return postgres_version(c, &version, e);
}

static int postgres_backup(struct meta_conn *c, const char *path, struct err *e)
{
    (void)c;
    return err_set(e, GPUFL_E_UNAVAILABLE,
                   "the small tables are in PostgreSQL: use pg_dump for them (not written: %s)",
                   path);
}

const struct meta_engine meta_engine_postgres = {
    .name = "postgres",
    .one_writer = false,
    .text = "TEXT COLLATE \"C\"",
    .bytes = "BYTEA",
    .serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .by_key = "",
    META_ENGINE_CALLS(postgres),
};
