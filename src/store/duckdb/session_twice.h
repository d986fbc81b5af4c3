/* session_twice.h - a session that has records in a pack and a file as well. */
#ifndef GPUFL_STORE_DUCKDB_SESSION_TWICE_H
#define GPUFL_STORE_DUCKDB_SESSION_TWICE_H

#include "store/duckdb/engine.h"

/* Finds out which counts, and takes the other away: out of the pack, or from the file's name.
 * *file_counts: the session has a file from now on. After an error both are as they were. [of a
 * session that is being opened] */
int session_choose(struct store_session *ss, bool *file_counts, struct err *e);

#endif
