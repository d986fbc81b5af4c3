/* announce.h - how a traced process reports to the monitor of its host in which session it is
 * traced.
 *
 * A process that gpufl traces sends one datagram now and then to the socket ANNOUNCE_SOCKET in the
 * folder of the monitor: its session's id, and the name of the scope that is open. The kernel adds
 * the sender, so that a process can speak for itself alone. The monitor needs no right to look
 * into /proc/PID, whoever the process's user is.
 *
 * Nobody waits: a datagram that finds no monitor, or no room, is gone, and the next one follows.
 *
 * Threads: announce_begin on the owner's, announce_step and announce_end on the collector's; the
 * socket is opened, used and closed through base/process/fd_thread.h. announce_write and
 * announce_read are pure. */
#ifndef GPUFL_MONITOR_ANNOUNCE_H
#define GPUFL_MONITOR_ANNOUNCE_H

#include "monitor/traced.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANNOUNCE_SOCKET "sessions"

enum { ANNOUNCE_SCOPE = 96, ANNOUNCE_MOST = 256 };

/* Time from one to the next, also where nobody hears them, ns. */
static const int64_t ANNOUNCE_EVERY = 10000000000;

/* What a datagram says. */
struct announcement {
    char session[TRACED_SESSION];
    int64_t next;               /* ns until the next one; 0: the session ends */
    char scope[ANNOUNCE_SCOPE]; /* its beginning; "": none is open */
};

/* Writes the text of a datagram; returns its length. */
size_t announce_write(const struct announcement *a, char out[ANNOUNCE_MOST]);

/* Reads a datagram that anybody may have sent. False: it is not of this version. */
bool announce_read(struct announcement *a, const char *text, size_t len);

/* What a process keeps of its announcements. */
struct announcer {
    char session[TRACED_SESSION]; /* "": nothing is announced */
    char user[PATH_MAX];          /* $XDG_RUNTIME_DIR, where a user's own monitor may be; "" */
    char told[ANNOUNCE_SCOPE];    /* the scope of the last one that was sent */
    int64_t due, changed_due;     /* steady ns of the next one: at the latest, with a new scope */
    int64_t every;                /* ns from one to the next */
    bool heard;                   /* a monitor has taken the last one */
};

/* session: its id; NULL or "": nothing is announced. every: ns between the steps, which are not
 * more than so far apart. */
void announce_begin(struct announcer *a, const char *session, int64_t every);

/* Sends where that is due. scope: the innermost one that is open, or "". now: steady ns. */
void announce_step(struct announcer *a, const char *scope, int64_t now);

/* Says that the session ends, where a monitor knows of it. */
void announce_end(struct announcer *a);

#endif
