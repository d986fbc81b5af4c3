/* session_twice.h - handles a session that has both records in a pack and a file. */
#ifndef GPUFL_STORE_DUCKDB_SESSION_TWICE_H
#define GPUFL_STORE_DUCKDB_SESSION_TWICE_H

#include "store/duckdb/engine.h"

/* Decides which of the two counts and removes the other: from the pack, or from the file's name.
 * *file_counts: the file counts. After an error both are unchanged. [while a session is opened] */
int session_choose(struct store_session *ss, bool *file_counts, struct err *e);

#endif
