/* announced.h - keeps the sessions that processes of this host have announced to the monitor.
 *
 * A socket for datagrams in the monitor's folder, which every user may write to
 * (monitor/announce.h). The kernel names the process that sent one, so a process can announce only
 * its own session, and the monitor needs no right over it. An announcement that is not renewed
 * expires. The table is bounded; refused datagrams are counted.
 *
 * Threads: one thread adds (announced_take), any thread may look up; a lock guards the table. */
#ifndef GPUFL_MONITORD_ANNOUNCED_H
#define GPUFL_MONITORD_ANNOUNCED_H

#include "base/err.h"
#include "monitor/announce.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { ANNOUNCED_MOST = 4096 };

struct announced_entry {
    int64_t pid;   /* in the monitor's namespace */
    int64_t at;    /* ns on CLOCK_BOOTTIME, as the start of a process */
    int64_t until; /* steady ns at which it expires */
    struct announcement said;
};

struct announced {
    int fd;         /* of the socket; -1: none */
    char path[108]; /* of the socket; "": none */
    pthread_mutex_t lock;
    struct announced_entry *items; /* owned; guarded by lock, as all below */
    size_t count, cap;
    uint64_t refused; /* datagrams of another version, or without room in the table */
};

void announced_init(struct announced *t);
void announced_fini(struct announced *t); /* closes, too */

/* Makes the socket in the folder. A folder that cannot have one is an error with a sentence; the
 * monitor can go on without. */
int announced_open(struct announced *t, const char *folder, struct err *e);

/* Takes the datagrams that have come; never waits. now: steady ns. [one thread] */
void announced_take(struct announced *t, int64_t now);

/* Adds a process's announcement: announced_take's last step. boot: ns on CLOCK_BOOTTIME. */
void announced_put(struct announced *t, int64_t pid, const struct announcement *said, int64_t now,
                   int64_t boot);

/* Returns true if the process has announced a session and that has not expired; `out` gets a copy.
 * start: of the process, ns on CLOCK_BOOTTIME, or CELL_NULL: unknown. An announcement from before
 * the start is another process's. [any] */
bool announced_find(struct announced *t, int64_t pid, int64_t start, int64_t now,
                    struct announcement *out);

#endif
