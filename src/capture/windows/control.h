/* control.h - serves the socket at which `gpufl ctl` and the agent reach a session with windows, or
 * with the option remote_control.
 *
 * The stream socket PID.sock lies in $XDG_RUNTIME_DIR/gpufl, or else in /tmp/gpufl-UID, a directory
 * of this user alone (0700). A request is a line, its answer a line of JSON:
 *
 *   window open NAME | window close NAME | window status
 *   capture SESSION ENGINE MS [SCOPE]     (capture/session/on_demand.h)
 *
 * A client must be run by this user or by root. One thread serves one connection at a time, each
 * for a second at most; a request for a capture is answered when the capture has begun. */
#ifndef GPUFL_CAPTURE_WINDOWS_CONTROL_H
#define GPUFL_CAPTURE_WINDOWS_CONTROL_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Carries out "capture"; text: what follows that word. 0, or a code and a sentence. [control] */
typedef int control_capture_fn(const char *text, struct err *e);

/* Begins to listen. If that fails, *e says why, and the session goes on without the socket.
 * [owner] */
int control_open(control_capture_fn *capture, struct err *e);
void control_close(void);  /* [collector] */
void control_forget(void); /* in a forked child */

/* Writes the path of a process's socket. make: also makes its directory, and checks that only this
 * user can use it. [any] */
int control_path(pid_t pid, bool make, char *out, size_t size, struct err *e);

#endif
