/* small.h - rows of small sessions: all tables' rows of a commit in one table, with one insert.
 *
 * An insert costs ClickHouse a part with a file or two a column, whatever it holds, and a session
 * has rows in some 25 tables. So a session begins small (ADR 34): its rows are rows of table
 * `small`, numbers in one array and texts in another. Where a session that has grown goes on, its
 * rows are copied to the tables of their own. Questions read one or the other through the same
 * words. [the session's writer, except small_put_place] */
#ifndef GPUFL_STORE_CLICKHOUSE_SMALL_H
#define GPUFL_STORE_CLICKHOUSE_SMALL_H

#include "store/clickhouse/write.h"

/* Bytes of rows, and rows, up to which a session is small. */
enum { SMALL_BYTES = 2 << 20, SMALL_ROWS = 32768 };

/* Says whether the transaction's rows can go to `small`. */
bool small_fits(const struct writer *w);

/* Puts all that the transaction has gathered as a block; sends blocks of sessions that are in the
 * same tables. ClickHouse makes one part of them. */
int small_gather(struct store_session *ss, struct buf *body, struct err *e);
int small_send(const struct store_session *any, const struct buf *body, struct err *e);

/* Copies what the session has to the tables of their own, with a number of its own, after which the
 * transaction gets the next number. */
int small_grow(struct store_session *ss, struct err *e);

#endif
