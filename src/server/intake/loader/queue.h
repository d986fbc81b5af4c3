/* queue.h - keeps the queue of a loader thread, in which workspaces take turns.
 *
 * Each session has a line of frames, each workspace a line of sessions. Workspaces take turns,
 * however much each of them has waiting. Within a workspace the session with the fewest bytes is
 * next, unless another one has waited for long. A turn ends when the session's line is empty, or
 * LOADER_TURN_BYTES have been given out.
 *
 * Call every function with the lock of the thread that owns the queue. */
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
    struct queue_session *turn;           /* the session that has the turn; NULL: none */
    int64_t turn_bytes;                   /* given out in this turn */
    size_t items, sessions;
    int64_t bytes;
};

/* Adds what a queue has of one workspace (NULL: of all) to *out. */
struct loader_queue_load {
    size_t sessions;
    int64_t bytes;
    int64_t since; /* CLOCK_MONOTONIC ns at which the oldest item came; INT64_MAX: none */
};
void loader_queue_load(const struct loader_queue *q, const char *workspace,
                       struct loader_queue_load *out);

/* Adds an item, whose reference to its session the queue takes over. 0 or GPUFL_E_NOMEM. */
int loader_queue_push(struct loader_queue *q, const struct item *item);

/* Takes the next item with its reference; false: there is none. */
bool loader_queue_pop(struct loader_queue *q, int64_t now, struct item *out);

/* Takes the next item of one session; false: there is none. */
bool loader_queue_pop_of(struct loader_queue *q, struct intake_session *s, struct item *out);

/* Adds for each session, after its frames, an item that abandons all windows that were not sealed.
 * 0 or GPUFL_E_NOMEM. */
int loader_queue_abandon_all(struct loader_queue *q, struct sessions *sessions);

#endif
