/* reach.h - asks a running session of this host to record, at the socket of `gpufl ctl`.
 *
 * The socket PID.sock lies in a folder of its user's alone: $XDG_RUNTIME_DIR/gpufl, or
 * /tmp/gpufl-UID. The session takes orders of its own user and of root only, and this side speaks
 * only to the process that was meant: the kernel names the process at the other end. Any thread. */
#ifndef GPUFL_AGENT_ORDERS_REACH_H
#define GPUFL_AGENT_ORDERS_REACH_H

#include "base/err.h"

#include <stdint.h>

struct reach_order {
    int64_t pid;
    const char *session; /* id; of another session of that process: STATE */
    const char *engine;
    int64_t duration;  /* ns */
    const char *scope; /* "": none */
};

/* 0: the session records. NOENT: no such process, or it takes no orders; PERM: it is another
 * user's; others: the session refuses, with its sentence. Waits at most some seconds. */
int reach_capture(const struct reach_order *order, struct err *e);

#endif
