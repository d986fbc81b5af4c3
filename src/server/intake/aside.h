/* aside.h - keeps frames that could not be loaded in a separate folder, and loads them later.
 *
 * Each session has a file, <folder>/<workspace>/<session>.frames (session_frames.h), to which the
 * loader appends. aside_load appends the frames to the journal again, under new numbers, and
 * removes the file once they are durable there. Frames that the session has got meanwhile, because
 * its sender sent them again, are left out. Frames after a gap stay, since loading them would hide
 * the gap. If the process is killed meanwhile, nothing is loaded twice, because positions and
 * identities say what the session has. */
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

/* Calls take for every session with frames in the folder; a non-zero result stops and is
 * returned. */
int aside_list(const char *folder, int (*take)(void *arg, const struct aside_session *s), void *arg,
               struct err *e);

/* Returns the number of sessions with frames in the folder. */
uint64_t aside_count(const char *folder);

struct aside_loaded {
    uint64_t sessions; /* whose file was removed: all frames are in the journal, or were loaded */
    uint64_t frames;   /* appended to the journal */
    uint64_t left;     /* sessions whose frames stay; the log has a line for each */
};

/* Gives the frames that are set aside back to the intake, after loader_start. Called by one thread.
 * GPUFL_E_FULL, GPUFL_E_IO: the journal or the disk is full; the remaining frames stay. */
int aside_load(const char *folder, struct sessions *t, struct journal *j, struct aside_loaded *out,
               struct err *e);

#endif
