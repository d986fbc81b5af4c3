/* cursor.h - what the agent remembers on disk: which sessions are done, and where a body was under
 * way.
 *
 * How far a channel is, the server knows; `gpufl upload`, uploadLogs and the agent all ask the
 * server, so that nothing is sent twice whoever sends. The cursor adds what the server cannot
 * know. A mark is the position before the oldest body whose answer the agent may not have seen:
 * lines of that body which the server left out are not yet among the dead letters, so that the
 * agent sends from the mark again, which the server passes over. A session is done when all of it
 * is on the server and called complete; its stamp is the folder's time then, its sum the plain
 * bytes of all its channels, by which a loss on the server is seen later.
 * For the public client's windows a mark is the last number that was dealt with.
 *
 * One file, `cursor`, that grows by lines and is written anew now and then; a mark that is too old
 * costs time and loses nothing. The folder is locked: two agents cannot share one. Memory: about
 * 110 bytes a session that is done. Owner's thread. */
#ifndef GPUFL_AGENT_SEND_CURSOR_H
#define GPUFL_AGENT_SEND_CURSOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/* Creates the folder. GPUFL_E_STATE: another agent has it. */
int cursor_open(struct cursor **out, const char *folder, struct err *e);
void cursor_close(struct cursor *c); /* NULL: none */

int64_t cursor_mark(const struct cursor *c, const char *session, const char *channel); /* -1 none */
/* at -1: removes the mark. sync: the mark is on the disk when this returns. */
int cursor_set_mark(struct cursor *c, const char *session, const char *channel, int64_t at,
                    bool sync, struct err *e);

bool cursor_is_done(const struct cursor *c, const char *session, int64_t stamp);
/* Notes that a session is done, after the caller has removed its marks. sum -1: not known. */
int cursor_set_done(struct cursor *c, const char *session, int64_t stamp, int64_t sum,
                    struct err *e);
/* -1: not known, as of windows and of notes of earlier versions. */
int64_t cursor_done_sum(const struct cursor *c, const char *session);
/* The session's folder is gone, or it is to be sent again. */
void cursor_forget(struct cursor *c, const char *session);

/* For a far end that cannot be asked what it has: the marks are all that is known, and stay when a
 * session is put away. */
void cursor_keep_marks(struct cursor *c);
bool cursor_keeps_marks(const struct cursor *c);

size_t cursor_done_count(const struct cursor *c); /* for tests */

#endif
