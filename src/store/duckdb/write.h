/* write.h - the writer of a session: what it keeps between transactions. */
#ifndef GPUFL_STORE_DUCKDB_WRITE_H
#define GPUFL_STORE_DUCKDB_WRITE_H

#include "store/duckdb/engine.h"
#include "store/duckdb/rows.h"
#include "store/ids.h"
#include "store/kernel_sums.h"
#include "store/lane_sums.h"

struct writer {
    struct connection *connection;    /* inside a transaction, else NULL */
    struct rows *tables[TABLE_COUNT]; /* owned; those written to in this transaction */
    bool made[TABLE_COUNT];           /* tables made in this transaction */
    struct ids ids;                   /* dictionary rows that are there */
    struct kernel_sums kernels;       /* of kernel rows behind the last slice */
    int64_t slices, summed;           /* slices of the file, kernel rows in them */
    struct rowset lanes;              /* struct lane_sum: of this transaction */
    bool loaded;                      /* what is kept here fits the file */
    struct buf text;                  /* of statements, and of texts being made clean */
};

/* Where rows of a table go; the table is made where it is missing. */
int write_table(struct store_session *ss, unsigned table, struct rows **out, struct err *e);

/* ---- write_sums.c --------------------------------------------------------------------------- */

int write_sums_load(struct store_session *ss, struct err *e);
int write_sums_kernels(struct store_session *ss, const struct wire_batch *b, struct err *e);
int write_sums_commit(struct store_session *ss, struct err *e);

#endif
