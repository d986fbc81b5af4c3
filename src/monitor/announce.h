/* announce.h - says how a traced process reports to the monitor of its host in which session it is
 * traced.
 *
 * A process that gpufl traces sends a datagram from time to time to the socket ANNOUNCE_SOCKET in
 * the folder of the monitor: its session's id, and the name of the scope that is open. The kernel
 * adds the sender, so that a process can announce only its own session. The monitor needs no right
 * to read /proc/PID, whichever user the process has.
 *
 * Sending never waits: a datagram is lost if there is no monitor, or no room, and the next one
 * follows.
 *
 * Threads: announce_begin on the owner's, announce_step and announce_end on the collector's; the
 * socket is opened, used and closed through base/process/fd_thread.h. announce_write and
 * announce_read have no state. */
#ifndef GPUFL_MONITOR_ANNOUNCE_H
#define GPUFL_MONITOR_ANNOUNCE_H

#include "monitor/traced.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNOUNCE_SOCKET "sessions"

enum { ANNOUNCE_SCOPE = 96, ANNOUNCE_MOST = 256 };

/* This is the time from one datagram to the next, also without a monitor, ns. */
static const int64_t ANNOUNCE_EVERY = 10000000000;

/* Holds the contents of a datagram. */
struct announcement {
    char session[TRACED_SESSION];
    int64_t next;               /* ns until the next one; 0: the session ends */
    char scope[ANNOUNCE_SCOPE]; /* its beginning; "": none is open */
};

/* Writes the text of a datagram; returns its length. */
size_t announce_write(const struct announcement *a, char out[ANNOUNCE_MOST]);

/* Reads a datagram, which any process may have sent. False: it is not of this version. */
bool announce_read(struct announcement *a, const char *text, size_t len);

/* Holds a process's state of its announcements. */
struct announcer {
    char session[TRACED_SESSION]; /* "": nothing is announced */
    char user[PATH_MAX];          /* $XDG_RUNTIME_DIR, where a user's own monitor may be; "" */
    char scope[ANNOUNCE_SCOPE];   /* the scope of the last announcement */
    /* Steady ns of the next announcement: at the latest, with a new scope. */
    int64_t due, changed_due;
    int64_t every; /* ns from one to the next */
    bool received; /* a monitor has taken the last one */
};

/* Begins the announcements. session: its id; NULL or "": nothing is announced. every: ns between
 * two steps, at most. */
void announce_begin(struct announcer *a, const char *session, int64_t every);

/* Sends an announcement if one is due. scope: the innermost one that is open, or "". now: steady
 * ns. */
void announce_step(struct announcer *a, const char *scope, int64_t now);

/* Announces that the session ends, if a monitor has taken an announcement of it. */
void announce_end(struct announcer *a);

#endif
