/* demangle.h - kernel names for people.
 *
 * Logs hold mangled names; readers demangle: C++ names (itanium.h, the text of llvm-cxxfilt) and
 * Rust names (rust.h). Budgets bound the text and the work, not the mangled name's length. [any] */
#ifndef GPUFL_SYMBOL_NAMES_DEMANGLE_H
#define GPUFL_SYMBOL_NAMES_DEMANGLE_H

#include "base/buf.h"

#include <stddef.h>

enum {
    DEMANGLED_MAX = 1 << 20, /* bytes of a name's text; beyond it stays as it is */
    DEMANGLE_ROOM = 8 << 20, /* for the longest name that a line of a log can hold */
};

/* Appends the demangled text; the text itself where it is no mangled name, a budget is spent, or
 * memory runs out. */
void demangle_put(struct buf *out, const char *name);

#endif
