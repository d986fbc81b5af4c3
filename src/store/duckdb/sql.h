/* sql.h - one statement of DuckDB: prepared, bound, run, read chunk by chunk.
 *
 * Values are bound; what stands in the text are names from tables and aliases of
 * our own making. Results stream: memory is a chunk, whatever the answer's size.
 * A connection runs one statement at a time. Owner's thread. */
#ifndef GPUFL_STORE_DUCKDB_SQL_H
#define GPUFL_STORE_DUCKDB_SQL_H

#include "base/buf.h"
#include "store/duckdb/duck.h"
#include "store/store.h"

#include <stdatomic.h>

enum {
    SQL_COLUMNS_MAX = RECORD_MAX_COLUMNS,
    SQL_TEXT_MAX = 64 << 10,
    SQL_CHUNK_MAX = 2048 /* rows */
};

/* A value for a parameter: $1, $2, … in order. */
struct sql_arg {
    enum store_type type;
    struct store_value value;
};

#define SQL_INT(v)     ((struct sql_arg){STORE_INT, {.i = (v)}})
#define SQL_REAL(v)    ((struct sql_arg){STORE_REAL, {.r = (v)}})
#define SQL_TEXT(s, n) ((struct sql_arg){STORE_TEXT, {.text = {(s), (n)}}})
#define SQL_LIST(p, n) ((struct sql_arg){STORE_LIST, {.list = (p), .list_count = (n)}})

struct sql {
    const struct duck *duck;
    struct duck_statement *statement;
    struct duck_result result;
    struct duck_chunk *chunk; /* the present one */
    bool has_result;
    size_t rows; /* of the chunk */
    unsigned columns;
    void *data[SQL_COLUMNS_MAX]; /* of the chunk: int64_t, double or struct duck_string */
    const uint64_t *valid[SQL_COLUMNS_MAX]; /* NULL: all known */
};

/* Runs a statement without an answer. */
int sql_run(const struct duck *d, struct duck_connection *c, const char *text, struct err *e);

/* The same with values. */
int sql_run_with(const struct duck *d, struct duck_connection *c, const char *text,
                 const struct sql_arg *args, size_t n, struct err *e);

/* Starts a statement; whatever comes out, sql_close it. */
int sql_open(struct sql *q, const struct duck *d, struct duck_connection *c, const char *text,
             const struct sql_arg *args, size_t n, struct err *e);
void sql_close(struct sql *q);

/* Reads the next chunk: 1 there is one, 0 no more, or a negative code. */
int sql_next(struct sql *q, struct err *e);

static inline bool sql_known(const struct sql *q, unsigned column, size_t row)
{
    const uint64_t *v = q->valid[column];
    return !v || (v[row / 64] >> (row % 64) & 1);
}

static inline int64_t sql_int(const struct sql *q, unsigned column, size_t row)
{
    return sql_known(q, column, row) ? ((const int64_t *)q->data[column])[row] : CELL_NULL;
}

/* A column of the chunk with CELL_NULL where it is unknown: as it lies there, or in room. */
const int64_t *sql_cells(const struct sql *q, unsigned column, int64_t room[SQL_CHUNK_MAX]);

static inline double sql_real(const struct sql *q, unsigned column, size_t row)
{
    return sql_known(q, column, row) ? ((const double *)q->data[column])[row] : 0;
}

/* Valid until the next chunk. */
static inline struct store_text sql_text(const struct sql *q, unsigned column, size_t row)
{
    const struct duck_string *s = (const struct duck_string *)q->data[column] + row;
    if (!sql_known(q, column, row))
        return (struct store_text){"", 0};
    return (struct store_text){s->length <= DUCK_STRING_INLINED ? s->prefix : s->at, s->length};
}

/* Appends a name in double quotes, a text in single quotes. */
void sql_name(struct buf *b, const char *name);
void sql_literal(struct buf *b, const char *text);

/* What a message of the library means, with it as the sentence. */
int sql_fail(struct err *e, const char *message);

/* Times that the library gave up a database file until it is attached anew, as it does where a
 * checkpoint fails. Relaxed: only tells that it is worth looking. */
extern _Atomic unsigned sql_given_up;

#endif
