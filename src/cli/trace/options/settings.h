/* settings.h - `--option NAME=VALUE`: the library's options on the command
 * line. Their table is the library's own (capture/options/options.h). One thread. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_SETTINGS_H
#define GPUFL_CLI_TRACE_OPTIONS_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Checks "name=value" and writes it as it is handed to the library. GPUFL_E_INVAL
 * and a sentence for an unknown name, a value that the option does not take, and an
 * option that `gpufl trace` sets itself. */
int setting_check(const char *pair, char *out, size_t size, struct err *e);

/* True where the pair "name=value" sets the option of that name. */
bool setting_is(const char *pair, const char *name);

#endif
