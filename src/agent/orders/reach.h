/* reach.h - asks a running session of this host to record, at the socket of `gpufl ctl`.
 *
 * The socket PID.sock is in a folder that only its user can open: $XDG_RUNTIME_DIR/gpufl, or
 * /tmp/gpufl-UID. The session accepts orders of its own user and of root only, and the agent checks
 * that it speaks to the intended process: the kernel names the process at the other end. Called by
 * any thread. */
#ifndef GPUFL_AGENT_ORDERS_REACH_H
#define GPUFL_AGENT_ORDERS_REACH_H

#include "base/err.h"

#include <stdint.h>

struct reach_order {
    int64_t pid;
    const char *session; /* id; if the process has another session: GPUFL_E_STATE */
    const char *engine;
    int64_t duration;  /* ns */
    const char *scope; /* "": none */
};

/* Returns 0 if the session records. GPUFL_E_NOENT: no such process, or it accepts no commands;
 * GPUFL_E_PERM: the process is another user's; other codes: the session refuses, with its sentence.
 * Waits at most some seconds. */
int reach_capture(const struct reach_order *order, struct err *e);

#endif
