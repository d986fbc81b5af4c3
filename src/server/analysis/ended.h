/* ended.h - queues the sessions that have ended and wait for their report.
 *
 * Workspaces take turns: a job of ten thousand sessions does not delay the report of another
 * workspace's session. Within a workspace the order is that of the ends. Called by one thread at a
 * time; the items are the caller's. */
#ifndef GPUFL_SERVER_ANALYSIS_ENDED_H
#define GPUFL_SERVER_ANALYSIS_ENDED_H

#include <stdbool.h>

struct ended {
    const char *workspace; /* set before the first push */
    bool queued;
    struct ended *next; /* while it is queued */
};

struct ended_line; /* the sessions of one workspace */

struct ended_queue {
    struct ended_line *first; /* owned; the first one's turn is next */
    unsigned count;
};

void ended_fini(struct ended_queue *q); /* the items stay */

/* Queues a session, which may be queued already. first: as the next of all. Without memory it is
 * not queued; false. */
bool ended_push(struct ended_queue *q, struct ended *e, bool first);

/* Takes the next session; NULL: there is none. */
struct ended *ended_pop(struct ended_queue *q);

/* Returns the number of queued sessions of a workspace. */
unsigned ended_of(const struct ended_queue *q, const char *workspace);

#endif
