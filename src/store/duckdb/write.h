/* write.h - keeps the state that a session's writer keeps between transactions. */
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
    struct append append;             /* its state of the file */
    struct buf text;                  /* of statements */
    struct keyed kept;                /* in the history: hashes of all sessions with rows there */
    bool kept_read;
    size_t unmoved; /* in the history: about how many rows have not been moved (history.c) */
};

/* The functions put rows into tables; call them inside a transaction. */
extern const struct append_engine write_engine;

/* Appends what is left in chunks, so that statements of the transaction see it. */
int write_flush(struct store_session *ss, struct err *e);

/* Gets the appender of a table; makes the table if it is missing. */
int write_table(struct store_session *ss, unsigned table, struct rows **out, struct err *e);

#endif
