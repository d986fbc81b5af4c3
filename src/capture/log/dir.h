/* dir.h - holds the session's directory, kept open.
 *
 * Every file of the log is opened, renamed and removed by its name relative to this descriptor. So
 * the session goes on if the program changes its root or its user, moves the directory, or loses
 * the right to look paths up.
 *
 * Why not the path: each call looks a path up again, with the rights that the program has by then.
 * Threads: log_dir_open and log_dir_close [owner]; log_dir_at inside fd_thread_run only,
 * whose descriptor table holds the descriptor (base/process/fd_thread.h), or on a thread that was
 * started inside it. */
#ifndef GPUFL_CAPTURE_LOG_DIR_H
#define GPUFL_CAPTURE_LOG_DIR_H

#include "base/file/file.h"

#include <limits.h>

struct log_dir {
    char path[PATH_MAX]; /* absolute, for sentences; the program may have moved the directory */
    int fd;              /* -1: not open */
    struct file_id id;   /* of the directory */
};

/* Returns 0 or a negative errno. path: absolute. */
int log_dir_open(struct log_dir *d, const char *path);
void log_dir_close(struct log_dir *d);

/* Returns the descriptor, which is opened again if the program has closed it. Negative errno: the
 * directory cannot be opened. */
int log_dir_at(struct log_dir *d);

/* Returns the number of free bytes of the directory's disk for an unprivileged user; -1: unknown.
 * [any] */
int64_t log_dir_free_bytes(struct log_dir *d);

#endif
