/* rows.h - collects rows of a table in columns, which are sent as one block.
 *
 * The columns that identify a row (session, commit, level, run, rowid) are made when the block is
 * sent. Called by the writer's thread only. */
#ifndef GPUFL_STORE_CLICKHOUSE_ROWS_H
#define GPUFL_STORE_CLICKHOUSE_ROWS_H

#include "store/clickhouse/engine.h"

enum { ROWS_BLOCK_MAX = NATIVE_ROWS_MAX };

struct rows {
    unsigned place;
    const struct table *table;
    struct buf columns[RECORD_MAX_COLUMNS]; /* owned: cells as they are sent */
    struct buf marks; /* in a place with levels the level, in a completed one the rowid */
    size_t count;
    int64_t first; /* rowid of the first row */
};

void click_rows_init(struct rows *r, unsigned place);
void click_rows_fini(struct rows *r);
void click_rows_clear(struct rows *r, int64_t first); /* keeps the memory */

int click_rows_check(const struct rows *r);    /* GPUFL_E_NOMEM: some rows had no room */
size_t click_rows_bytes(const struct rows *r); /* approximate size of their block */

/* Adds n rows of INT columns, an array for each column; NULL: all unknown. 0 or GPUFL_E_NOMEM, like
 * the functions below. */
int click_rows_put_columns(struct rows *r, const int64_t *const *columns, size_t n);

/* The functions build one row cell by cell: all columns (for a real number the bits), then
 * click_rows_end. */
void click_rows_int(struct rows *r, unsigned column, int64_t v);
void click_rows_text(struct rows *r, unsigned column, const char *at, size_t len);
int click_rows_end(struct rows *r, int64_t mark);

/* Sends the rows under a commit's number; body: scratch memory for the block. */
int click_rows_send(struct rows *r, const struct store_session *ss, int64_t commit,
                    struct buf *body, struct err *e);

#endif
