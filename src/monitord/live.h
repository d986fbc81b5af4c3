/* live.h - publishes the newest values for a view on this host: `gpufl monitor` takes them from the
 * socket LIVE_SOCKET in the folder by which traced programs find the monitor.
 *
 * A client gets one line of JSON (live_put) and the end of the connection; nothing is read from it.
 * One connection is served at a time; a client that does not take the line within LIVE_PATIENCE
 * loses the rest. All users of the host may connect, since they may read the logs. The scope in
 * which a process is is shown only to its own user and to root.
 *
 * Threads: the socket has a thread, which also takes the announcements of processes (announced.h),
 * and sleeps until a connection or an announcement comes; live_open and live_close are called on
 * main. */
#ifndef GPUFL_MONITORD_LIVE_H
#define GPUFL_MONITORD_LIVE_H

#include "base/process/thread.h"
#include "monitord/announced.h"
#include "monitord/journal.h"
#include "monitord/page.h"

#define LIVE_SOCKET "live"

enum { LIVE_MOST = 8 << 20, LIVE_PATIENCE = 2 /* s */ };

struct live {
    struct page *page;
    struct journal *journal;
    struct announced *announced;
    const struct monitor_options *options;
    char path[108]; /* of the socket; "": none */
    int listener, stop[2];
    struct buf text; /* the thread's */
    struct thread thread;
};

/* Listens in the folder. A path that is too long for a socket, and a folder that cannot have one,
 * are errors with a sentence; the monitor can run without the socket. There are seven parameters,
 * since a struct of the four parts of the monitor would be filled for this call alone. */
int live_open(struct live *l, const char *folder, struct page *page, struct journal *journal,
              struct announced *announced, const struct monitor_options *o, struct err *e);
void live_close(struct live *l);

/* Appends the values as one JSON object without LF: docs/monitor.md has its members. reader: number
 * of the user who gets them. [any] */
void live_put(struct live *l, int64_t reader, struct buf *out);

#endif
