/* literal.h - writes values as literals of ClickHouse's SQL. Every value in a statement is such a
 * literal, since the oldest supported server cannot bind values.
 *
 * The output is ASCII, except for bytes from 0x80 on in texts. No text can end its literal early:
 * everything but letters, digits and plain punctuation is written as \xNN. Functions without
 * state. */
#ifndef GPUFL_STORE_CLICKHOUSE_LITERAL_H
#define GPUFL_STORE_CLICKHOUSE_LITERAL_H

#include "base/buf.h"
#include "store/ask.h"

/* Puts toInt64(5), toFloat64('0x…'), 'text', (1, 2) or NULL. An empty list becomes an empty set. */
void literal_put(struct buf *b, const struct sql_arg *arg);

void literal_int(struct buf *b, int64_t v);
void literal_text(struct buf *b, const char *at, size_t len);

/* Puts a name from our tables, or a name made from ids, between backquotes. */
void literal_name(struct buf *b, const char *name);

#endif
