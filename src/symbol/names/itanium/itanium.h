/* itanium.h - the text of C++ names that are mangled after the Itanium ABI.
 *
 * The text is what llvm-cxxfilt 14 gives. Time and memory follow budgets on the text, the parts of
 * the name and their nesting: there is no bound on the length of the mangled name itself. [any] */
#ifndef GPUFL_SYMBOL_NAMES_ITANIUM_ITANIUM_H
#define GPUFL_SYMBOL_NAMES_ITANIUM_ITANIUM_H

#include "base/buf.h"

#include <stddef.h>

/* Appends the text of mangled[0..len) to out, at most `most` bytes. 0; GPUFL_E_CORRUPT where the
 * bytes are no mangled name, GPUFL_E_FULL where a budget is spent, GPUFL_E_NOMEM; out is then as
 * before. */
int itanium_put(struct buf *out, const char *mangled, size_t len, size_t most);

#endif
