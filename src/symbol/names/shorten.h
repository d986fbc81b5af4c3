/* shorten.h - demangled names in the room a table has for them.
 *
 * For people: what is cut out becomes "..", and the result says nothing that the full name does
 * not. [any] */
#ifndef GPUFL_SYMBOL_NAMES_SHORTEN_H
#define GPUFL_SYMBOL_NAMES_SHORTEN_H

#include "base/buf.h"

#include <stddef.h>

enum { SHORT_COLUMNS = 120 }; /* of a short name where no table limits it */

/* Appends the demangled name of any function, shortened to at most width columns: first without
 * return type and parameters, then without namespaces inside template arguments, then without any,
 * and at last with ".." for its middle. The last part of a qualified name of Python stays whole. */
void shorten_put(struct buf *out, const char *demangled, size_t width);

/* Like shorten_put, for a kernel: those of known libraries get the names that people give them
 * (rules.def). */
void shorten_kernel(struct buf *out, const char *demangled, size_t width);

/* Shortens the demangled names of a table's kernels to at most width columns, no two alike, a NUL
 * after each: of instances of one template, arguments that all share give way to those that differ.
 * 0 or GPUFL_E_NOMEM. */
int shorten_rows(struct buf *out, const char *const *names, size_t count, size_t width);

/* shorten_rows of mangled names, in SHORT_COLUMNS columns. Names after the first 256 MiB of
 * demangled text stay mangled. */
int shorten_symbols(struct buf *out, const char *const *symbols, size_t count);

#endif
