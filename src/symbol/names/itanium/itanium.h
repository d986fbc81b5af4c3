/* itanium.h - demangles C++ names of the Itanium ABI.
 *
 * The result is the text of llvm-cxxfilt 14. Budgets on the text, on the parts of the name and on
 * their nesting bound time and memory; the length of the mangled name itself is not bounded.
 * [any] */
#ifndef GPUFL_SYMBOL_NAMES_ITANIUM_ITANIUM_H
#define GPUFL_SYMBOL_NAMES_ITANIUM_ITANIUM_H

#include "base/buf.h"

#include <stddef.h>

/* Appends the text of mangled[0..len) to out, at most `most` bytes. 0; GPUFL_E_CORRUPT: the bytes
 * are no mangled name; GPUFL_E_FULL: a budget is spent; GPUFL_E_NOMEM. After an error out is
 * unchanged. */
int itanium_put(struct buf *out, const char *mangled, size_t len, size_t most);

#endif
