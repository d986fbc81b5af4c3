/* compress.h - the finished parts of a session's log, made small. One thread. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_COMPRESS_H
#define GPUFL_CLI_TRACE_OUTCOME_COMPRESS_H

#include "base/err.h"

/* Compresses every plain part of the session in dir, which nobody writes to any
 * more: <channel>.<N>.log and <channel>.log (whose N stands in its header) become
 * <channel>.<N>.log.gz. What cannot be compressed stays as it is and is readable. */
int compress_session(const char *dir, struct err *e);

#endif
