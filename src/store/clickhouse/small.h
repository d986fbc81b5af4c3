/* small.h - writes rows of small sessions: a commit's rows of all tables go to one table, with one
 * insert.
 *
 * An insert of any size costs ClickHouse a part with one or two files for each column, and a
 * session has rows in about 25 tables. So a session begins small (ADR 34): its rows are rows of
 * table `small`, with the numbers in one array and the texts in another. When the session has
 * grown, its rows are copied to the separate tables. Questions read either through the same
 * templates. [the session's writer, except small_put_place] */
#ifndef GPUFL_STORE_CLICKHOUSE_SMALL_H
#define GPUFL_STORE_CLICKHOUSE_SMALL_H

#include "store/clickhouse/write.h"

/* Limits the bytes of rows, and the rows, of a small session. */
enum { SMALL_BYTES = 2 << 20, SMALL_ROWS = 32768 };

/* Returns true if the transaction's rows can go to `small`. */
bool small_fits(const struct writer *w);

/* small_gather puts the transaction's rows as a block; small_send sends the blocks of sessions with
 * the same tables, of which ClickHouse makes one part. */
int small_gather(struct store_session *ss, struct buf *body, struct err *e);
int small_send(const struct store_session *any, const struct buf *body, struct err *e);

/* Copies the session's rows to the separate tables under a new commit number; the transaction then
 * gets the next number. */
int small_grow(struct store_session *ss, struct err *e);

#endif
