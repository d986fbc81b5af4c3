/* traced.h - finds the session of gpufl that a process writes.
 *
 * A process that gpufl traces keeps the logs of its session open, <folder>/<session>/<channel>.log,
 * in the descriptor table of one thread (base/process/fd_thread.h), or in its own where the system
 * refuses that thread. The links in /proc/PID show them to its own user and to root. A file counts
 * only in a folder that is named by a session's id; its contents are not read. Called by any
 * thread. */
#ifndef GPUFL_MONITOR_TRACED_H
#define GPUFL_MONITOR_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACED_SESSION = 37 };

/* Reads the session of a traced process. proc: "/proc", or a folder like it. True: session is the
 * id; folder, which may be NULL, gets the session's folder, or "" if that is longer than `size`.
 * False: the process writes no session, or this user may not see it; session is "". */
bool traced_session(const char *proc, int64_t pid, char session[TRACED_SESSION], char *folder,
                    size_t size);

/* Returns true if the text is a session's id: 36 lower-case hexadecimal digits and dashes. */
bool traced_is_session(const char *text, size_t len);

#endif
