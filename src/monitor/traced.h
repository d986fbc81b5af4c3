/* traced.h - the session of gpufl that a process writes.
 *
 * A process that gpufl traces keeps the logs of its session open, <folder>/<session>/<channel>.log,
 * in the descriptor table of one thread (base/process/fd_thread.h), or in its own where the system
 * refuses that thread. The links in /proc/PID say so, to its own user and to root. A file in a
 * folder that is not named by a session's id does not count, and nothing of the file is read. Any
 * thread. */
#ifndef GPUFL_MONITOR_TRACED_H
#define GPUFL_MONITOR_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACED_SESSION = 37 };

/* proc: "/proc", or a folder like it. True: session is the id; folder is the session's own, where
 * it fits in `size` (else ""); folder may be NULL. False: the process writes no session, or this
 * user may not know; session is "". */
bool traced_session(const char *proc, int64_t pid, char session[TRACED_SESSION], char *folder,
                    size_t size);

/* True where the text is a session's id: 36 lower-case hexadecimal digits and dashes. */
bool traced_is_session(const char *text, size_t len);

#endif
