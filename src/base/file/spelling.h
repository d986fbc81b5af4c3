/* spelling.h - paths as text that can be turned back into their bytes.
 *
 * A path is bytes, a log is UTF-8. A byte of a path that is no UTF-8 is written as `\xff`, with two
 * lower-case hexadecimal digits; and so that every text has one meaning, a backslash that would
 * begin such a spelling is itself written `\x5c`. All other paths stay as they are, so that a
 * reader who knows nothing of this shows something a person can read. Any thread. */
#ifndef GPUFL_BASE_SPELLING_H
#define GPUFL_BASE_SPELLING_H

#include <limits.h>

enum { SPELLING_ROOM = 4 * PATH_MAX };

/* The spelling of a path: itself where it needs none, else in room; what does not fit is cut. */
const char *spelling_of(const char *path, char room[SPELLING_ROOM]);

/* The path of a spelling: itself where nothing is spelled, else in room; what does not fit is
 * cut, and names no file then. */
const char *spelling_path(const char *text, char room[PATH_MAX]);

#endif
