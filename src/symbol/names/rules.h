/* rules.h - what people call the kernels of libraries: rules.def, applied. [any] */
#ifndef GPUFL_SYMBOL_NAMES_RULES_H
#define GPUFL_SYMBOL_NAMES_RULES_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends what the first rule that fits makes of a demangled name: one line without control
 * characters, made of parts of the name. False, and nothing is appended: no rule fits. A rule may
 * make one text of two names. */
bool rules_put(struct buf *out, const char *demangled);

#endif
