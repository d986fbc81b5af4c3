/* history.h - reads and writes the file that keeps a workspace's history; see history.c. */
#ifndef GPUFL_STORE_DUCKDB_HISTORY_H
#define GPUFL_STORE_DUCKDB_HISTORY_H

#include "store/duckdb/engine.h"

enum { HISTORY_MOVE_ROWS = 65536 /* by default, for struct store.history_most */ };

/* Puts the rows for a FROM clause. name: at least the rows of that name; NULL: all rows. */
void history_table(struct buf *b, const struct store_session *ss, const struct store_text *name);

/* Puts sums of all rows for a FROM clause, with the columns kind, app, name, sessions, calls and
 * total; several rows may have one name, and their sums add up. */
void history_sums(struct buf *b, const struct store_session *ss);

/* Takes a row of table `about` that is of the history's tables. False: it is of another. */
bool history_note(struct store_session *ss, struct store_text name, int64_t columns);

/* Replaces the rows of sessions, in one transaction (store_ops.put_history). */
int history_keep(struct store *s, const char *workspace, const struct store_history *of,
                 size_t count, struct err *e);

#endif
