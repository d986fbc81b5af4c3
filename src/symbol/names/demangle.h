/* demangle.h - kernel names for people.
 *
 * Logs hold mangled names; readers demangle. C++ names go through the C++
 * runtime's __cxa_demangle, whose time and memory grow with the name, so that
 * longer names than DEMANGLE_MAX stay as they are. [any] */
#ifndef GPUFL_SYMBOL_NAMES_DEMANGLE_H
#define GPUFL_SYMBOL_NAMES_DEMANGLE_H

#include "base/buf.h"

#include <stddef.h>

enum {
    DEMANGLE_MAX = 8192,     /* bytes of a mangled name */
    DEMANGLED_MAX = 1 << 20, /* bytes of its text; beyond it stays as it is */
    DEMANGLE_ROOM = 8 << 20, /* for the longest name that a line of a log can hold */
};

/* Appends the demangled text; the text itself where it is no mangled name, too long,
 * or memory runs out. */
void demangle_put(struct buf *out, const char *name);

#endif
