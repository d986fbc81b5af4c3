/* small_copy.h - reads the rows of a small session into memory with one statement.
 *
 * A statement costs ClickHouse more than the rows of a small session, and a report scans about 25
 * tables. [one thread] */
#ifndef GPUFL_STORE_CLICKHOUSE_SMALL_COPY_H
#define GPUFL_STORE_CLICKHOUSE_SMALL_COPY_H

#include "store/clickhouse/engine.h"

struct small_copy;

/* Reads the rows of a state. GPUFL_E_FULL: they are too large for memory, and the tables have to be
 * read one by one. */
int small_copy_open(struct small_copy **out, const struct store_session *ss, const struct state *t,
                    struct err *e);
void small_copy_close(struct small_copy *c);

/* Gives the rows of a table to take, in the order of their rowids. Returns what take returned. */
int small_copy_read(const struct small_copy *c, unsigned table, ask_take take, void *arg);

#endif
