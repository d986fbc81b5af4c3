/* rows.h - adds rows to a table in the open transaction, with DuckDB's appender.
 *
 * Rows are collected in chunks of the library's vector size; a full chunk is appended. Called by
 * the writer's thread only. */
#ifndef GPUFL_STORE_DUCKDB_ROWS_H
#define GPUFL_STORE_DUCKDB_ROWS_H

#include "store/duckdb/sql.h"
#include "store/tables.h"

struct rows {
    const struct duck *duck;
    const struct table *table;
    struct duck_appender *appender; /* owned */
    struct duck_chunk *chunk;       /* owned */
    size_t filled, size;            /* rows of the chunk: used, and at most */
    struct duck_vector *vectors[RECORD_MAX_COLUMNS];
    void *data[RECORD_MAX_COLUMNS];      /* of the vectors */
    uint64_t *valid[RECORD_MAX_COLUMNS]; /* NULL: all known so far */
};

/* Opens an appender for an existing table. */
int rows_open(struct rows *r, const struct duck *d, struct duck_connection *c, const char *catalog,
              const struct table *t, struct err *e);

/* Appends what is left. Call rows_close afterwards, also after an error. */
int rows_flush(struct rows *r, struct err *e);
void rows_close(struct rows *r);

/* Adds n rows to a table of INT columns, an array for each column; NULL: all unknown. CELL_NULL
 * becomes null. */
int rows_put_columns(struct rows *r, const int64_t *const *columns, size_t n, struct err *e);

/* The functions build one row cell by cell: set all columns, then call rows_end. */
void rows_int(struct rows *r, unsigned column, int64_t v);
void rows_null(struct rows *r, unsigned column);
void rows_real(struct rows *r, unsigned column, double v);
void rows_text(struct rows *r, unsigned column, const char *at, size_t len);
int rows_end(struct rows *r, struct err *e);

#endif
