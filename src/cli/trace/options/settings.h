/* settings.h - `--option NAME=VALUE`: the library's options on the command line. Their table is the
 * library's own (capture/options/options.h). Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_SETTINGS_H
#define GPUFL_CLI_TRACE_OPTIONS_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Checks "name=value" and writes it in the form for the library. GPUFL_E_INVAL with a sentence: the
 * name is unknown, the option does not accept the value, or `gpufl trace` sets the option
 * itself. */
int setting_check(const char *pair, char *out, size_t size, struct err *e);

/* Returns true if the pair "name=value" sets the option of that name. */
bool setting_is(const char *pair, const char *name);

#endif
