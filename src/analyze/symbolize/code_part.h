/* code_part.h - appends lines to the `code` channel of a session that has ended.
 *
 * The lines are appended to code.log, or to a new one with the header that every part of the
 * session has. They are written in batches, each with one write(2); what a failed write has left is
 * cut off again. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_SYMBOLIZE_CODE_PART_H
#define GPUFL_ANALYZE_SYMBOLIZE_CODE_PART_H

#include "analyze/read/discover.h"
#include "base/buf.h"
#include "wire/encode.h"

#include <stdbool.h>

/* Takes an advisory lock on a directory. Returns a file descriptor, whose close(2) releases the
 * lock; -1: another process has the lock, the file system has no locks, or the directory cannot be
 * opened. */
int code_part_lock(const char *dir);

/* Appends batches of lines: the first begins at `from`, and batch i ends at ends[i] in lines.
 * header: of any part of the session. 0, or a negative errno; then the batches before the failed
 * one are in the file. */
int code_part_append(const struct discover_session *s, const struct wire_header *header,
                     const struct buf *lines, size_t from, const size_t *ends, size_t count);

#endif
