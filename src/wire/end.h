/* end.h - whether a line says that its session ended: our `end`, the public client's `shutdown`.
 *
 * Callers need only this fact about a log that may be large: no decoder is made, and no memory is
 * allocated. Called by any thread. */
#ifndef GPUFL_WIRE_END_H
#define GPUFL_WIRE_END_H

#include <stdbool.h>
#include <stddef.h>

bool wire_line_ends(const char *line, size_t len);

#endif
