/* write.h - the writer of a session: what it keeps between transactions. */
#ifndef GPUFL_STORE_CLICKHOUSE_WRITE_H
#define GPUFL_STORE_CLICKHOUSE_WRITE_H

#include "store/clickhouse/rows.h"
#include "store/ids.h"
#include "store/kernel_sums.h"
#include "store/lane_sums.h"

struct writer {
    bool begun;                       /* inside a transaction */
    bool loaded;                      /* what is kept here fits what counts */
    int64_t number;                   /* of this transaction, or of the last one */
    struct state state;               /* the last commit */
    struct state next;                /* what the present one will be */
    struct rows *places[TABLE_COUNT]; /* owned: rows to be sent */
    size_t gathered;                  /* bytes of them, about */
    struct ids ids;                   /* dictionary rows that are there */
    struct kernel_sums kernels;       /* of kernel rows behind the last slice */
    struct rowset lanes;              /* struct lane_sum: of this transaction */
    struct buf body;                  /* a block being sent */
    struct buf text;                  /* a text being made clean */
};

/* Where rows of a table go; counts n of them. */
int click_write_place(struct store_session *ss, unsigned table, size_t n, struct rows **out,
                      struct err *e);

/* ---- write_sums.c --------------------------------------------------------------------------- */

int click_write_sums_load(struct store_session *ss, struct err *e);
int click_write_sums_kernels(struct store_session *ss, const struct wire_batch *b, struct err *e);
int click_write_sums_commit(struct store_session *ss, struct err *e);

#endif
