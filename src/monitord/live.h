/* live.h - the newest values for a view on this host: `gpufl monitor` takes them from the socket
 * LIVE_SOCKET in the folder by which traced programs find the monitor.
 *
 * Whoever connects gets one line of JSON (live_put) and the end of the connection; nothing is read.
 * One connection at a time; a client that does not take the line within LIVE_PATIENCE loses the
 * rest. All users of the host may connect, as they may read the logs. The scope that a process is
 * in goes to its own user and to root alone.
 *
 * Threads: the socket has one, which also takes what processes announce (announced.h), and sleeps
 * until somebody connects or announces; live_open and live_close are called on main. */
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
 * are errors with a sentence; the monitor can go on without. Seven parameters: four parts of the
 * monitor are shown, and a struct of them would be filled for this call alone. */
int live_open(struct live *l, const char *folder, struct page *page, struct journal *journal,
              struct announced *announced, const struct monitor_options *o, struct err *e);
void live_close(struct live *l);

/* Appends the values as one JSON object without LF: docs/monitor.md has its members. reader: the
 * user who gets them. [any] */
void live_put(struct live *l, int64_t reader, struct buf *out);

#endif
