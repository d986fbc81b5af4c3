/* compress.h - compresses the finished parts of a session's log. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_COMPRESS_H
#define GPUFL_CLI_TRACE_OUTCOME_COMPRESS_H

#include "base/err.h"

/* Compresses every uncompressed part of the session in dir, which no process writes to any more:
 * <channel>.<N>.log and <channel>.log (whose header has N) become <channel>.<N>.log.gz. A part that
 * cannot be compressed stays unchanged and readable. */
int compress_session(const char *dir, struct err *e);

#endif
