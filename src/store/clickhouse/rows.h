/* rows.h - rows on their way to a table: columns that grow, sent as one block.
 *
 * Columns that say whose a row is (session, commit, level, run, rowid) are made when it is sent.
 * Writer's thread. */
#ifndef GPUFL_STORE_CLICKHOUSE_ROWS_H
#define GPUFL_STORE_CLICKHOUSE_ROWS_H

#include "store/clickhouse/engine.h"

enum { ROWS_BLOCK_MAX = NATIVE_ROWS_MAX };

struct rows {
    unsigned place;
    const struct table *table;
    struct buf columns[RECORD_MAX_COLUMNS]; /* owned: cells as they are sent */
    struct buf marks; /* of a place with levels the level, of a completed one the rowid */
    size_t count;
    int64_t first; /* rowid of the first one */
};

void click_rows_init(struct rows *r, unsigned place);
void click_rows_fini(struct rows *r);
void click_rows_clear(struct rows *r, int64_t first); /* keeps the memory */

int click_rows_check(const struct rows *r);    /* NOMEM: some rows did not find room */
size_t click_rows_bytes(const struct rows *r); /* that a block of them takes, about */

/* n rows of INT columns, an array a column; NULL: unknown. 0 or NOMEM, as all below. */
int click_rows_put_columns(struct rows *r, const int64_t *const *columns, size_t n);

/* Builds one row cell by cell: all its columns (of a real its bits), then end. */
void click_rows_int(struct rows *r, unsigned column, int64_t v);
void click_rows_text(struct rows *r, unsigned column, const char *at, size_t len);
int click_rows_end(struct rows *r, int64_t mark);

/* Sends them under a commit's number; body: room for the block. */
int click_rows_send(struct rows *r, const struct store_session *ss, int64_t commit,
                    struct buf *body, struct err *e);

#endif
