/* aside.h - frames that could not be loaded, in a folder of their own, and the way back.
 *
 * A file a session, <folder>/<workspace>/<session>.frames (session_frames.h), to which the loader
 * appends. The way back is the journal: aside_load appends the frames to the journal again, under
 * new numbers, and removes the file once they are durable there. What the session has meanwhile,
 * because its sender sent it again, is left out; frames before which something is missing stay,
 * since rows after a gap would hide it. A process that is killed meanwhile loads nothing twice:
 * positions and identities say what is there. */
#ifndef GPUFL_SERVER_INTAKE_ASIDE_H
#define GPUFL_SERVER_INTAKE_ASIDE_H

#include "base/err.h"
#include "server/intake/journal.h"
#include "server/intake/sessions.h"

struct aside_session {
    const char *workspace, *session;
    uint64_t frames;
    int64_t bytes;
    int64_t received; /* of the oldest frame, ns since the Unix epoch */
};

/* Visits every session that has frames in the folder; non-zero stops and is returned. */
int aside_list(const char *folder, int (*take)(void *arg, const struct aside_session *s), void *arg,
               struct err *e);

/* How many sessions have frames in the folder. */
uint64_t aside_count(const char *folder);

struct aside_loaded {
    uint64_t sessions; /* whose file is gone: all is in the journal, or was loaded */
    uint64_t frames;   /* appended to the journal */
    uint64_t left;     /* sessions whose frames stay, each with a line in the log */
};

/* Called after loader_start. One thread. FULL, IO: the journal or the disk is full; the rest
 * stays. */
int aside_load(const char *folder, struct sessions *t, struct journal *j, struct aside_loaded *out,
               struct err *e);

#endif
