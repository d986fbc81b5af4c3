/* small_copy.h - the rows of a small session in memory, read with one statement.
 *
 * A statement costs ClickHouse more than the rows of a small session, and a report scans some 25
 * tables. [one thread] */
#ifndef GPUFL_STORE_CLICKHOUSE_SMALL_COPY_H
#define GPUFL_STORE_CLICKHOUSE_SMALL_COPY_H

#include "store/clickhouse/engine.h"

struct small_copy;

/* Reads the rows of a state. FULL: they are too large to be held, and the tables have to be asked
 * one by one. */
int small_copy_open(struct small_copy **out, const struct store_session *ss, const struct state *t,
                    struct err *e);
void small_copy_close(struct small_copy *c);

/* Hands over the rows of a table, in the order of their rowids. What take returned. */
int small_copy_read(const struct small_copy *c, unsigned table, ask_take take, void *arg);

#endif
