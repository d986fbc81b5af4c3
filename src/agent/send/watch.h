/* watch.h - reports changes in many folders, by inotify.
 *
 * A folder has a tag, the caller's number for it. If a folder cannot be watched (no inotify, no
 * room for another watch), the caller must read it from time to time. Called by the owner's thread
 * only. */
#ifndef GPUFL_AGENT_SEND_WATCH_H
#define GPUFL_AGENT_SEND_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch {
    int fd;        /* to wait on; -1: there is no inotify */
    int32_t *tags; /* owned: by watch descriptor; -1: none */
    size_t cap;
    uint64_t refused; /* folders that could not be watched */
};

void watch_open(struct watch *w, bool off); /* off: nothing is watched */
void watch_close(struct watch *w);

/* Returns the watch of a folder, or -1. */
int watch_add(struct watch *w, const char *path, int32_t tag);
void watch_remove(struct watch *w, int watch); /* -1: none */

/* Calls touched with the tag of each folder that changed since the last call. *missed: the system's
 * queue was full, and events are missing. */
void watch_take(struct watch *w, void (*touched)(void *arg, int32_t tag), void *arg, bool *missed);

#endif
