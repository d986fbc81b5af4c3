/* control.h - the socket at which `gpufl ctl` and the agent reach a session with windows, or with
 * the option remote_control.
 *
 * A stream socket PID.sock in $XDG_RUNTIME_DIR/gpufl, or else /tmp/gpufl-UID: a directory of
 * this user's alone (0700). A request is a line, its answer a line of JSON:
 *
 *   window open NAME | window close NAME | window status
 *   capture SESSION ENGINE MS [SCOPE]     (capture/session/on_demand.h)
 *
 * Whoever connects must be the same user, or root. One thread serves one connection at a time, each
 * for a second at most; a capture is answered when it has begun. */
#ifndef GPUFL_CAPTURE_WINDOWS_CONTROL_H
#define GPUFL_CAPTURE_WINDOWS_CONTROL_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Obeys "capture": the text after that word. 0, or a code and a sentence. [control] */
typedef int control_capture_fn(const char *text, struct err *e);

/* Begins to listen. Where it cannot, the session goes on without, with a sentence. [owner] */
int control_open(control_capture_fn *capture, struct err *e);
void control_close(void);  /* [collector] */
void control_forget(void); /* in a forked child */

/* Path of a process's socket; make: makes its directory, and checks that it is this user's alone.
 * [any] */
int control_path(pid_t pid, bool make, char *out, size_t size, struct err *e);

#endif
