/* capture_options.h - checks the options of a configuration by the library's table
 * (schema/options.def), before programs take them. Called by any thread. */
#ifndef GPUFL_SERVER_COMMON_CAPTURE_OPTIONS_H
#define GPUFL_SERVER_COMMON_CAPTURE_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Appends the object to out, without blanks and with its members sorted by name. GPUFL_E_INVAL,
 * with a sentence that names the option: not a JSON object, an unknown option, an option that only
 * the host may set (schema/local_options.def), or a value that the option does not allow. */
int capture_options_check(const char *json, size_t len, struct buf *out, struct err *e);

#endif
