/* scope_text.h - writes scopes as text: names from the outermost to the innermost, "outer|inner".
 *
 * A bar within a name is written \| there and a backslash \\, so that a path means one scope.
 * Paths that were written before that rule have neither in them, or mean what they meant. */
#ifndef GPUFL_ANALYZE_COMMON_SCOPE_TEXT_H
#define GPUFL_ANALYZE_COMMON_SCOPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of bytes that a name takes in a path. */
size_t scope_text_size(const char *name);

/* Writes a name as a path has it, without a NUL. The end of what was written. */
char *scope_text_put(char *out, const char *name);

/* Returns the number of bytes of a path's first name, as the path has it. */
size_t scope_text_first(const char *path, size_t len);

/* Returns the number of bytes of a path without its last name and the bar before that; 0: it has
 * one name. */
size_t scope_text_outer(const char *path, size_t len);

/* The path's text of a name means that name. */
bool scope_text_is(const char *text, size_t len, const char *name);

/* Writes the name that a path's text means into `out`, which has room for len bytes: its bytes. */
size_t scope_text_plain(char *out, const char *text, size_t len);

#endif
