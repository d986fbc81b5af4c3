/* cursor.h - keeps the agent's state on disk: which sessions are done, and from where to send again
 * after a crash.
 *
 * The server knows how much of a channel it has; `gpufl upload`, uploadLogs and the agent all ask
 * it, so that nothing is sent twice, whichever of them sends. The cursor has what the server does
 * not know. A mark is the position before the oldest body whose answer the agent may not have seen:
 * lines of that body which the server left out are not yet among the dead letters, so the agent
 * sends from the mark again, and the server skips what it has. A session is done when all of it is
 * on the server and reported complete. Its stamp is the folder's time then. Its sum is the
 * uncompressed bytes of all its channels, so that a later loss on the server can be detected. For
 * the public client's windows a mark is the last number that was handled.
 *
 * The file `cursor` grows by lines and is rewritten from time to time; a mark that is too old costs
 * time and loses nothing. The folder is locked: two agents cannot share one. Memory: about 110
 * bytes for each session that is done. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_SEND_CURSOR_H
#define GPUFL_AGENT_SEND_CURSOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/* Creates and locks the folder. GPUFL_E_STATE: another agent uses it. */
int cursor_open(struct cursor **out, const char *folder, struct err *e);
void cursor_close(struct cursor *c); /* NULL: none */

int64_t cursor_mark(const struct cursor *c, const char *session, const char *channel); /* -1 none */
/* Sets the mark of a channel. at -1: removes the mark. sync: the mark is on the disk when this
 * returns. */
int cursor_set_mark(struct cursor *c, const char *session, const char *channel, int64_t at,
                    bool sync, struct err *e);

bool cursor_is_done(const struct cursor *c, const char *session, int64_t stamp);
/* Notes that a session is done, after the caller has removed its marks. sum -1: unknown. */
int cursor_set_done(struct cursor *c, const char *session, int64_t stamp, int64_t sum,
                    struct err *e);
/* Returns the sum; -1: unknown, as for windows and for state of earlier versions. */
int64_t cursor_done_sum(const struct cursor *c, const char *session);
/* Removes the session: its folder is gone, or it must be sent again. */
void cursor_forget(struct cursor *c, const char *session);

/* Keeps the marks when a session's view is closed, for a receiver that cannot be asked what it has
 * (Kafka). */
void cursor_keep_marks(struct cursor *c);
bool cursor_keeps_marks(const struct cursor *c);

size_t cursor_done_count(const struct cursor *c); /* for tests */

#endif
