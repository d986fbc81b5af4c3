/* api_key.h - finds the API key for requests to a server. */
#ifndef GPUFL_AGENT_API_KEY_H
#define GPUFL_AGENT_API_KEY_H

#include "base/err.h"

#include <stdbool.h>

enum { API_KEY_MAX = 4096 };

/* Writes the first line of the file to out, or of GPUFL_API_KEY where file is NULL; "" if
 * neither is set. The caller must wipe out. *exposed: other users of this machine can read the
 * file. GPUFL_E_INVAL: the line is empty or too long; other codes: the file cannot be read. */
int api_key_find(const char *file, char out[API_KEY_MAX], bool *exposed, struct err *e);

#endif
