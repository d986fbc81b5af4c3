/* shorten.h - shortens demangled names to the columns of a table.
 *
 * The result is for people: what is cut out becomes "..", and nothing is in it that the full name
 * does not have. [any] */
#ifndef GPUFL_SYMBOL_NAMES_SHORTEN_H
#define GPUFL_SYMBOL_NAMES_SHORTEN_H

#include "base/buf.h"

#include <stddef.h>

enum { SHORT_COLUMNS = 120 }; /* columns of a short name that no table limits */

/* Appends the demangled name of any function, shortened to at most width columns: first without
 * return type and parameters, then without namespaces inside template arguments, then without any,
 * and at last with ".." for its middle. The last part of a qualified name of Python stays whole. */
void shorten_put(struct buf *out, const char *demangled, size_t width);

/* Does what shorten_put does, for a kernel: a kernel of a known library gets its short name
 * (rules.def). */
void shorten_kernel(struct buf *out, const char *demangled, size_t width);

/* Shortens the demangled names of a table's kernels to at most width columns, with a NUL after
 * each, so that no two are alike: in instances of one template, arguments that all share are
 * dropped before arguments that differ. 0 or GPUFL_E_NOMEM. */
int shorten_rows(struct buf *out, const char *const *names, size_t count, size_t width);

/* Does what shorten_rows does, for mangled names, in SHORT_COLUMNS columns. Names after the first
 * 256 MiB of demangled text stay mangled. */
int shorten_symbols(struct buf *out, const char *const *symbols, size_t count);

#endif
