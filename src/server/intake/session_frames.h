/* session_frames.h - a file per session, next to the journal: the frames its decoder needs again.
 *
 * The public client's lines mean something only together with all before them: names are defined
 * once, scopes begin in one line and end in another. A decoder of such a session that is opened
 * again, after a restart or a pause, must hear them all; so they are kept, as the frames of the
 * journal they came in, until the session has ended. Then only the identities of its windows
 * stay, so that a window that is sent again is recognised.
 *
 * The file has frames in the order in which they were loaded, a window's pieces before its seal.
 * A file is level with the store's commit or ahead of it, never late: the reader states up to
 * which frame the store has got, and later frames are cut off. One owner at a time. */
#ifndef GPUFL_SERVER_INTAKE_SESSION_FRAMES_H
#define GPUFL_SERVER_INTAKE_SESSION_FRAMES_H

#include "base/err.h"
#include "server/intake/journal.h"

#include <stdbool.h>
#include <stdint.h>

struct session_frames;

/* Opens the session's file, creating it where create says so: NOENT else. */
int session_frames_open(struct session_frames **out, const char *folder, const char *workspace,
                        const char *session, bool create, struct err *e);
void session_frames_close(struct session_frames *k);

struct session_frames_visitor {
    void *arg;
    /* A frame with its payload; non-zero stops and is returned. */
    int (*frame)(void *arg, const struct journal_frame *f, char *payload);
};

/* All frames of groups that end with a number <= upto; the rest is cut off the file. */
int session_frames_read(struct session_frames *k, uint64_t upto,
                        const struct session_frames_visitor *v, struct err *e);

/* Lists the frames without payloads and without cutting, for callers that want the windows. */
int session_frames_list(struct session_frames *k, const struct session_frames_visitor *v,
                        struct err *e);

int session_frames_append(struct session_frames *k, const struct journal_frame *f,
                          const void *payload, struct err *e);
int session_frames_sync(struct session_frames *k, struct err *e);

/* The session has ended: only its windows' identities stay. */
int session_frames_shrink(struct session_frames *k, struct err *e);

/* Removes the file, if there is one: the session was deleted. */
int session_frames_remove(const char *folder, const char *workspace, const char *session,
                          struct err *e);

#endif
