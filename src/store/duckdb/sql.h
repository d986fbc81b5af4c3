/* sql.h - runs one statement of DuckDB: prepares it, binds values, and reads chunk by chunk.
 *
 * Values are bound; the text has only names from our tables and aliases that we make. Results are
 * streamed: an answer of any size takes the memory of one chunk. A connection runs one statement at
 * a time. Called by the owner's thread only. */
#ifndef GPUFL_STORE_DUCKDB_SQL_H
#define GPUFL_STORE_DUCKDB_SQL_H

#include "base/buf.h"
#include "store/ask.h"
#include "store/duckdb/duck.h"

#include <stdatomic.h>

enum {
    SQL_TEXT_MAX = 64 << 10,
    SQL_CHUNK_MAX = PAGE_CELLS /* rows */
};

struct sql {
    const struct duck *duck;
    struct duck_statement *statement;
    struct duck_result result;
    struct duck_chunk *chunk; /* the present one */
    bool has_result;
    struct page page; /* its columns; texts are struct duck_string */
};

/* Runs a statement without an answer. */
int sql_run(const struct duck *d, struct duck_connection *c, const char *text, struct err *e);

/* Runs a statement that has parameters, without an answer. */
int sql_run_with(const struct duck *d, struct duck_connection *c, const char *text,
                 const struct sql_arg *args, size_t n, struct err *e);

/* Holds a statement and the values of its parameters. */
struct sql_bound {
    const char *text;
    const struct sql_arg *args;
    size_t n;
};

/* Starts a statement. Call sql_close also after an error. */
int sql_open(struct sql *q, const struct duck *d, struct duck_connection *c,
             const struct sql_bound *s, struct err *e);
void sql_close(struct sql *q);

/* Reads the next chunk. 1: there is one; 0: there is none; or a negative code. */
int sql_next(struct sql *q, struct err *e);

static inline bool sql_known(const struct sql *q, unsigned column, size_t row)
{
    return page_known(&q->page, column, row);
}

static inline int64_t sql_int(const struct sql *q, unsigned column, size_t row)
{
    return page_int(&q->page, column, row);
}

static inline double sql_real(const struct sql *q, unsigned column, size_t row)
{
    return page_real(&q->page, column, row);
}

/* The text is valid until the next chunk. */
static inline struct store_text sql_text(const struct sql *q, unsigned column, size_t row)
{
    return page_text(&q->page, column, row);
}

/* Appends a name in double quotes, a text in single quotes. */
void sql_name(struct buf *b, const char *name);
void sql_literal(struct buf *b, const char *text);

/* Finds the code for a message of the library; the message becomes the sentence. */
int sql_fail(struct err *e, const char *message);

/* Counts how often the library invalidated a database file, which it does when a checkpoint fails;
 * the file must then be attached again. Relaxed: a hint to check the files. */
extern _Atomic unsigned sql_given_up;

#endif
