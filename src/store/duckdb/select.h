/* select.h - one SELECT that a client wrote, run in a separate process.
 *
 * The server's side (select.c) keeps the session's files still, starts this program again in a
 * mode that is not one of its commands, sends the request on a socket, and reads the answer until
 * the time is over. The child's side (select_child.c) opens the files for reading, makes the
 * views of docs/server-sql.md (select_views.c), gives up everything else (base/process/sandbox.h),
 * and only then looks at the words. A crash, or too much memory, ends only that process.
 *
 * The request: fields, each as "<length>:<bytes>", in the order of select.c's put_request. The
 * answer: "+" and the answer as JSON, or "-" with a code of base/err.h, a space, and a sentence;
 * anything else is a crash. */
#ifndef GPUFL_STORE_DUCKDB_SELECT_H
#define GPUFL_STORE_DUCKDB_SELECT_H

#include "store/duckdb/engine.h"

enum { SELECT_REQUEST_MAX = 1 << 20 };

int select_ask(struct store *s, const char *workspace, const struct store_select *q,
               struct buf *answer, struct err *e);

/* Removes copies that a killed process left; called at the start. */
void select_clean(const char *root);

/* ---- in the child ---------------------------------------------------------------------------- */

/* One session: where its file is, and what is known of it. Texts lie in the request. */
struct select_session {
    struct store_text file; /* from the folder of the store */
    struct store_text id, app, host, engine, state;
    int64_t start;                /* CLOCK_MONOTONIC of its begin; times count from it */
    int64_t started, ended;       /* ns since the Unix epoch; CELL_NULL: none */
    struct store_session columns; /* alias and tables, as far as session_table reads them */
};

/* Puts the statements that make the views; without a session they are empty. history: alias of the
 * workspace's history; NULL: there is none. */
void select_views(struct buf *b, const struct select_session *sessions, size_t n,
                  const struct store_session *history);

#endif
