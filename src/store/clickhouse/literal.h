/* literal.h - writes values as literals of ClickHouse's SQL, by their type: the only way in
 * which a value gets into a statement there, since the oldest supported server binds none.
 *
 * The output is ASCII, except for bytes from 0x80 on in texts; it ends where it should whatever
 * the text holds: everything but letters, digits and plain punctuation is written as \xNN. Pure. */
#ifndef GPUFL_STORE_CLICKHOUSE_LITERAL_H
#define GPUFL_STORE_CLICKHOUSE_LITERAL_H

#include "base/buf.h"
#include "store/ask.h"

/* toInt64(5), toFloat64('0x…'), 'text', (1, 2), NULL. A list of none is a set of none. */
void literal_put(struct buf *b, const struct sql_arg *arg);

void literal_int(struct buf *b, int64_t v);
void literal_text(struct buf *b, const char *at, size_t len);

/* Puts a name from a table of ours, or one made of ids, between backquotes. */
void literal_name(struct buf *b, const char *name);

#endif
