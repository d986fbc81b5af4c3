/* rules.h - makes short names of kernels of libraries, by rules.def. [any] */
#ifndef GPUFL_SYMBOL_NAMES_RULES_H
#define GPUFL_SYMBOL_NAMES_RULES_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the short name by the first rule that fits a demangled name: one line without control
 * characters, made of parts of the name. False: no rule fits, and nothing is appended. A rule may
 * give one text for two names. */
bool rules_put(struct buf *out, const char *demangled);

#endif
