/* daemon.h - runs the agent: watches folders, opens the sessions that changed, and has the courier
 * send the new lines, one body at a time, live sessions first.
 *
 * One loop does all of that; the control socket and the metrics have threads of their own, which
 * read the published status under the lock. Descriptors: about ten, however much there is to send.
 * Memory: a few hundred bytes for each folder, and at most DAEMON_VIEWS open sessions. */
#ifndef GPUFL_AGENT_DAEMON_DAEMON_H
#define GPUFL_AGENT_DAEMON_DAEMON_H

#include "agent/daemon/control.h"
#include "agent/keep/keeper.h"
#include "agent/orders/orders.h"
#include "agent/send/courier.h"
#include "agent/send/folders.h"
#include "agent/send/kafka_way.h"
#include "base/process/spawn.h"
#include "net/server/metrics_page.h"

enum { DAEMON_VIEWS = 1024 };

/* Holds the loop's numbers, for other threads. */
struct daemon_status {
    uint64_t sessions, done, open, blocked; /* folders: all, done, open, blocked */
    uint64_t letters;                       /* dead letters with bytes */
    uint64_t unwatched, unreadable;         /* folders */
    int64_t letter_bytes, waiting_bytes;
    bool draining;
    struct kafka_statistics kafka;
};

/* Is the state of the checks of sessions that are done (recheck.c). */
struct recheck {
    int64_t due;  /* CLOCK_MONOTONIC ns */
    size_t at;    /* the folder of the last check in turn */
    size_t left;  /* folders to check without a pause, since the server has lost something */
    bool in_turn; /* the next check is of the next folder; else of the newest session */
};

struct daemon {
    const struct options *options;
    struct cursor *cursor;   /* owned */
    struct letters *letters; /* owned */
    struct courier courier;
    struct keeper *keeper; /* owned; NULL: sessions stay as they are */
    struct folders folders;
    struct control control;
    struct orders orders;
    struct metrics_page *page; /* owned; NULL: none */
    struct view *views[DAEMON_VIEWS];
    size_t view_count, turn;
    struct spawned names; /* of one session at a time */
    int64_t names_until;  /* CLOCK_MONOTONIC ns */
    int32_t names_folder;
    struct recheck recheck;
    int64_t started; /* CLOCK_REALTIME ns */
    int64_t asked
        [CONTROL_TASKS]; /* CLOCK_MONOTONIC ns: the loop saw the task; 0: none; -1: in this turn */
    const volatile sig_atomic_t *stop;
    bool has_courier, has_folders, has_control, has_orders;

    pthread_mutex_t lock;
    struct daemon_status status; /* guarded by lock */
};

/* Opens the daemon. GPUFL_E_STATE: another agent uses the state's folder. */
int daemon_open(struct daemon *d, const struct options *o, const volatile sig_atomic_t *stop,
                struct err *e);
/* Runs until *stop is set, or until a drain is done. */
int daemon_run(struct daemon *d, struct err *e);
void daemon_close(struct daemon *d);

/* ---- daemon.c, sessions.c, names.c, recheck.c and publish.c ---------------------------------- */

/* Opens the sessions that changed, and reads what they have now. */
void sessions_look(struct daemon *d, int64_t now);
/* Sends at most one body of each channel of one session. COURIER_HELD: not now. COURIER_CAUGHT: no
 * session has anything to send. */
enum courier_step sessions_step(struct daemon *d);
struct view *sessions_find_view(const struct daemon *d, int32_t folder); /* NULL: not at work */
/* Returns true if all that existed at that time was sent, or cannot be sent. */
bool sessions_idle(const struct daemon *d, int64_t asked);

/* Asks the server whether it still has a session that is done, if it is time for that. */
void recheck_step(struct daemon *d, int64_t now);

/* Writes the status as JSON; arg is the daemon. [any] */
void publish_status(void *arg, struct buf *out);
/* Publishes the loop's numbers. */
void publish_take(struct daemon *d);
/* Refuses a listening address that other machines can reach. [any] */
int publish_check(const char *listen, struct err *e);
/* Answers /healthz and /metrics. */
int publish_open(struct daemon *d, struct err *e);
void publish_close(struct daemon *d);

/* Looks up the names of a session's stacks in a process of its own, one session at a time. True:
 * the lookup is done, or is not wanted. */
bool names_step(struct daemon *d, struct view *v, struct work *w);
/* This is the process `gpufl-agent names FOLDER`. */
int names_child(const char *folder);

#endif
