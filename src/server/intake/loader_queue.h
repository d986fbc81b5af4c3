/* loader_queue.h - what waits for a thread of the loader, and whose turn it is.
 *
 * Frames wait in their session's line, sessions in their workspace's. Workspaces have turns, one
 * after the other, whatever each of them has waiting; within a workspace the session with the
 * fewest bytes comes first, except that one that waited for long goes before. A turn ends when the
 * session's line is empty, or has been given LOADER_TURN_BYTES.
 *
 * Every function is called with the lock of the thread that owns the queue. */
#ifndef GPUFL_SERVER_INTAKE_LOADER_QUEUE_H
#define GPUFL_SERVER_INTAKE_LOADER_QUEUE_H

#include "server/intake/row_writer.h"

enum { LOADER_TURN_BYTES = 1 << 20 }; /* as in the journal: compressed */

enum item_kind { ITEM_FRAME, ITEM_ABANDON };

struct item {
    enum item_kind kind;
    struct intake_session *s; /* reference */
    struct queued_frame frame;
};

struct queue_workspace;

struct loader_queue {
    struct queue_workspace *first, *last; /* owned; the next turn is the first's */
    struct queue_session *turn;           /* whose turn it is; NULL: nobody's */
    int64_t turn_bytes;                   /* that the turn has been given */
    size_t items, sessions;
    int64_t bytes;
};

/* What a queue holds of one workspace (NULL: of all), added to *out. */
struct loader_queue_load {
    size_t sessions;
    int64_t bytes;
    int64_t since; /* CLOCK_MONOTONIC ns at which the oldest item came; INT64_MAX: none */
};
void loader_queue_load(const struct loader_queue *q, const char *workspace,
                       struct loader_queue_load *out);

/* 0 or NOMEM. The item's reference to its session is the queue's from then on. */
int loader_queue_push(struct loader_queue *q, const struct item *item);

/* The next item, and with it the reference; false: there is none. */
bool loader_queue_pop(struct loader_queue *q, int64_t now, struct item *out);

/* The next item of one session; false: none waits. */
bool loader_queue_pop_of(struct loader_queue *q, struct intake_session *s, struct item *out);

/* Adds an item that abandons every window that was not sealed, after the frames of each session.
 * 0 or NOMEM. */
int loader_queue_abandon_all(struct loader_queue *q, struct sessions *sessions);

#endif
