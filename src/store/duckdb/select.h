/* select.h - runs one SELECT of a client in a separate process.
 *
 * The server's side (select.c) keeps the session's files unchanged, starts this program again in an
 * internal mode, sends the request on a socket, and reads the answer within the time limit. The
 * child's side (select_child.c) opens the files for reading, makes the views of docs/server-sql.md
 * (select_views.c), drops all other rights (base/process/sandbox.h), and only then parses the
 * statement. A crash, or too much memory, ends only that process.
 *
 * The request is a list of fields, each "<length>:<bytes>", in the order of put_request in
 * select.c. The answer is "+" and the answer as JSON, or "-" with a code of base/err.h, a space,
 * and a sentence; anything else is a crash. */
#ifndef GPUFL_STORE_DUCKDB_SELECT_H
#define GPUFL_STORE_DUCKDB_SELECT_H

#include "store/duckdb/engine.h"

enum { SELECT_REQUEST_MAX = 1 << 20 };

int select_ask(struct store *s, const char *workspace, const struct store_select *q,
               struct buf *answer, struct err *e);

/* Removes copies that a killed process left. Called at the start. */
void select_clean(const char *root);

/* ---- in the child ---------------------------------------------------------------------------- */

/* Describes one session: where its file is, and facts about it. Texts point into the request. */
struct select_session {
    struct store_text file; /* relative to the folder of the store */
    struct store_text id, app, host, engine, state;
    int64_t start;                /* CLOCK_MONOTONIC of its begin; times count from it */
    int64_t started, ended;       /* ns since the Unix epoch; CELL_NULL: none */
    struct store_session columns; /* the members that session_table reads: alias and tables */
};

/* Puts the statements that make the views, which are empty without a session. history: alias of the
 * workspace's history; NULL: there is none. */
void select_views(struct buf *b, const struct select_session *sessions, size_t n,
                  const struct store_session *history);

#endif
