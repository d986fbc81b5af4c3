/* upload_sessions.h - finds the sessions to send under a path, and whether their programs still
 * run.
 *
 * A log may have an end, or its writer may be gone: killed, crashed, machine lost. For a session of
 * this host the process is searched for; for one that was copied from another host it is unknown.
 * Called by one thread only. */
#ifndef GPUFL_AGENT_UPLOAD_SESSIONS_H
#define GPUFL_AGENT_UPLOAD_SESSIONS_H

#include "agent/ship.h"
#include "analyze/read/discover.h"

/* Lists each state with its name in JSON and what the state means. */
#define UPLOAD_STATES(S)                                                                           \
    S(ENDED, "ended", "its log says that it ended")                                                \
    S(DIED, "died", "it has no end, and its program is gone: killed, or crashed")                  \
    S(RUNNING, "running", "its program still runs")                                                \
    S(UNKNOWN, "unknown", "it has no end, and whether its program runs cannot be known here")

enum upload_state {
#define UPLOAD_STATE_ENUM(id, name, text) UPLOAD_##id,
    UPLOAD_STATES(UPLOAD_STATE_ENUM)
#undef UPLOAD_STATE_ENUM
};

struct upload_session {
    char id[PART_ID_MAX];
    char app[PART_TEXT_MAX], host[PART_TEXT_MAX]; /* "" unknown */
    const char *dir;                              /* discover's */
    bool ours;
    enum upload_state state;
    struct ship_part *parts; /* owned; paths are discover's */
    size_t count;
    int64_t bytes;    /* on disk */
    unsigned missing; /* parts that are left out between others */
    unsigned unread;  /* parts that have bytes and whose session cannot be read: not in parts */
    const char *unread_path; /* the first of these; NULL: none */
    bool settled;   /* for callers that read again: nothing is left to do; false at first */
    size_t waiting; /* parts of the public client that it has not published: it still runs */
};

struct upload_sessions {
    struct discover found;
    struct upload_session *items; /* owned; as found */
    size_t count;
};

/* Reads the sessions under the path. wanted: beginnings of ids of the sessions to take; none: all.
 * GPUFL_E_INVAL: one of them fits no session, or several. */
int upload_sessions_open(struct upload_sessions *u, const char *path, const char *const *wanted,
                         size_t wanted_count, struct err *e);
void upload_sessions_close(struct upload_sessions *u);

const char *upload_state_name(enum upload_state s);
const char *upload_state_text(enum upload_state s);

/* Returns true if no program writes to the session any more, as far as is known. */
static inline bool upload_state_over(enum upload_state s)
{
    return s == UPLOAD_ENDED || s == UPLOAD_DIED;
}

#endif
