/* spelling.h - writes paths as text that can be turned back into their bytes.
 *
 * A path is bytes, a log is UTF-8. A byte of a path that is not UTF-8 is written as `\xff`, with
 * two lower-case hexadecimal digits. So that every text has one meaning, a backslash that would
 * begin such a spelling is itself written `\x5c`. All other paths stay as they are, so that a
 * program that does not know this spelling still shows a readable path. Called by any thread. */
#ifndef GPUFL_BASE_SPELLING_H
#define GPUFL_BASE_SPELLING_H

#include <limits.h>

enum { SPELLING_ROOM = 4 * PATH_MAX };

/* Returns the spelling of a path: path itself if all its bytes stay, else a text in room, cut if it
 * is too long. */
const char *spelling_of(const char *path, char room[SPELLING_ROOM]);

/* Returns the path of a spelling: text itself if no byte is spelled, else bytes in room. A path
 * that is too long is cut, and then names no file. */
const char *spelling_path(const char *text, char room[PATH_MAX]);

#endif
