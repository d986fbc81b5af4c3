/* write.h - the writer of a session: what it keeps between transactions. */
#ifndef GPUFL_STORE_DUCKDB_WRITE_H
#define GPUFL_STORE_DUCKDB_WRITE_H

#include "base/keyed.h"
#include "store/append.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/rows.h"

struct writer {
    struct connection *connection;    /* inside a transaction, else NULL */
    struct rows *tables[TABLE_COUNT]; /* owned; those written to in this transaction */
    bool made[TABLE_COUNT];           /* tables made in this transaction */
    struct append append;             /* what it remembers of the file */
    struct buf text;                  /* of statements */
    struct keyed kept;                /* of the history: hashes of all sessions with rows in it */
    bool kept_read;
};

/* How rows get into tables; its calls work inside a transaction. */
extern const struct append_engine write_engine;

/* Hands over what is left: a statement of the transaction sees it. */
int write_flush(struct store_session *ss, struct err *e);

/* The rows of a table; the table is made where it is missing. */
int write_table(struct store_session *ss, unsigned table, struct rows **out, struct err *e);

#endif
