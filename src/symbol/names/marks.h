/* marks.h - finds what distinguishes names for which a rule gives one text. One owner. */
#ifndef GPUFL_SYMBOL_NAMES_MARKS_H
#define GPUFL_SYMBOL_NAMES_MARKS_H

#include "base/buf.h"
#include "symbol/names/span.h"

/* Appends to the buffer of each name those of its parts, words and signs, that distinguish it from
 * the others. Appends nothing if there are no others, or only equal ones. The caller owns the
 * buffers, one for each name. 0 or GPUFL_E_NOMEM. */
int marks_put(const struct span *names, size_t count, struct buf *marks);

#endif
