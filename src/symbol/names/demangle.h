/* demangle.h - demangles names of kernels and functions.
 *
 * Logs have mangled names, and readers demangle them: C++ names (itanium.h, with llvm-cxxfilt's
 * text) and Rust names (rust.h). Budgets bound the text and the work, not the mangled name's
 * length. [any] */
#ifndef GPUFL_SYMBOL_NAMES_DEMANGLE_H
#define GPUFL_SYMBOL_NAMES_DEMANGLE_H

#include "base/buf.h"

#include <stddef.h>

enum {
    DEMANGLED_MAX = 1 << 20, /* bytes of a demangled name; a longer one stays mangled */
    DEMANGLE_ROOM = 8 << 20, /* for the longest name that a line of a log can hold */
};

/* Appends the demangled name; the name itself if it is not mangled, a budget is spent, or memory
 * runs out. */
void demangle_put(struct buf *out, const char *name);

#endif
