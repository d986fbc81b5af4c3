/* ask.h - answers questions with DuckDB: the templates of store/ask.h, with bound values.
 *
 * All statements of a question run in one transaction and see the same commit. Called by the
 * owner's thread only. */
#ifndef GPUFL_STORE_DUCKDB_ASK_H
#define GPUFL_STORE_DUCKDB_ASK_H

#include "store/ask.h"
#include "store/duckdb/engine.h"

/* Answers a question about a session, or about a workspace's history. */
int ask_question(struct store *s, const struct store_question *q, const struct store_visitor *v,
                 struct err *e);

#endif
