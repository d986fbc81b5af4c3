/* capture_options.h - checks the options of a configuration by the library's table
 * (schema/options.def), before programs that take them can meet a mistake. Any thread. */
#ifndef GPUFL_SERVER_COMMON_CAPTURE_OPTIONS_H
#define GPUFL_SERVER_COMMON_CAPTURE_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Appends the object to out, without blanks and with its members by name. INVAL, with a sentence
 * that names the option: no JSON object, an unknown option, one that is the host's alone
 * (schema/local_options.def), a value that the option does not take. */
int capture_options_check(const char *json, size_t len, struct buf *out, struct err *e);

#endif
