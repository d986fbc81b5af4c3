/* session_frames.h - keeps a file for each session, next to the journal, with the frames that its
 * decoder needs again.
 *
 * The public client's lines can be decoded only together with all lines before them: a name is
 * defined once, and a scope begins in one line and ends in another. When the decoder of such a
 * session is opened again, after a restart or a pause, it needs all lines; so they are kept, as
 * frames of the journal, until the session has ended. After that only the identities of its windows
 * stay, so that a window that is sent again is recognised.
 *
 * The file has frames in the order in which they were loaded, a window's pieces before its seal. A
 * file has at least the frames of the store's commit: the reader states the last frame in the
 * store, and later frames are cut off. One owner at a time. */
#ifndef GPUFL_SERVER_INTAKE_SESSION_FRAMES_H
#define GPUFL_SERVER_INTAKE_SESSION_FRAMES_H

#include "base/err.h"
#include "server/intake/journal.h"

#include <stdbool.h>
#include <stdint.h>

struct session_frames;

/* Opens the session's file, or creates it if create is set; without create GPUFL_E_NOENT if it does
 * not exist. */
int session_frames_open(struct session_frames **out, const char *folder, const char *workspace,
                        const char *session, bool create, struct err *e);
void session_frames_close(struct session_frames *k);

struct session_frames_visitor {
    void *arg;
    /* Takes a frame with its payload; a non-zero result stops and is returned. */
    int (*frame)(void *arg, const struct journal_frame *f, char *payload);
};

/* Gives all frames of groups that end with a number <= upto; the rest is cut off the file. */
int session_frames_read(struct session_frames *k, uint64_t upto,
                        const struct session_frames_visitor *v, struct err *e);

/* Gives the frames without payloads, and cuts nothing; for callers that need only the windows. */
int session_frames_list(struct session_frames *k, const struct session_frames_visitor *v,
                        struct err *e);

int session_frames_append(struct session_frames *k, const struct journal_frame *f,
                          const void *payload, struct err *e);
int session_frames_sync(struct session_frames *k, struct err *e);

/* Reduces the file of an ended session to the identities of its windows. */
int session_frames_shrink(struct session_frames *k, struct err *e);

/* Removes the file of a deleted session, if there is one. */
int session_frames_remove(const char *folder, const char *workspace, const char *session,
                          struct err *e);

#endif
