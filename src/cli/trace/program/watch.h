/* watch.h - notices with inotify, without polling, that sessions of a run have ended while the
 * program runs on. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_WATCH_H
#define GPUFL_CLI_TRACE_PROGRAM_WATCH_H

#include "base/err.h"

#include <stdbool.h>

struct watch {
    int fd;          /* inotify, to wait on; -1: none */
    int top;         /* watch descriptor of dir */
    const char *dir; /* of the sessions; the caller's */
};

int watch_open(struct watch *w, const char *dir, struct err *e);
void watch_close(struct watch *w);

/* Takes inotify's events; true if a session's log changed since the last call. */
bool watch_take(struct watch *w);

#endif
