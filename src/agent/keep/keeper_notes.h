/* keeper_notes.h - which sessions are archived, and which folder is being removed: a file in the
 * state's folder.
 *
 * Lines are appended and synced; a line that a crash cut off does not count. A lost line does no
 * harm: an archived session is archived again, over the same objects. A folder's removal is noted
 * before the folder gets its hidden name, so that the next start ends the removal. The notes belong
 * to one archive: with another one they begin empty. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_KEEP_KEEPER_NOTES_H
#define GPUFL_AGENT_KEEP_KEEPER_NOTES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct keeper_notes;

/* Opens the notes. target: the archive of the notes, on one line. */
int keeper_notes_open(struct keeper_notes **out, const char *state, const char *target,
                      struct err *e);
void keeper_notes_close(struct keeper_notes *n); /* NULL: none */

/* Returns true if the notes have the session. stamp: the folder's time of change. */
bool keeper_notes_has(const struct keeper_notes *n, const char *session, int64_t stamp);
int keeper_notes_archived(struct keeper_notes *n, const char *session, int64_t stamp,
                          struct err *e);
int keeper_notes_removing(struct keeper_notes *n, const char *session, const char *hidden,
                          struct err *e);
int keeper_notes_removed(struct keeper_notes *n, const char *session, struct err *e);

/* Calls take for each removal that has not ended; the texts are valid during the call. */
void keeper_notes_unended(struct keeper_notes *n,
                          void (*take)(void *arg, const char *session, const char *hidden),
                          void *arg);

#endif
