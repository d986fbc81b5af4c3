/* api_key.h - the key that a server is asked with. */
#ifndef GPUFL_AGENT_API_KEY_H
#define GPUFL_AGENT_API_KEY_H

#include "base/err.h"

#include <stdbool.h>

enum { API_KEY_MAX = 4096 };

/* The first line of a file; of GPUFL_API_KEY, where file is NULL; "" where neither is set. The
 * caller wipes out. *exposed: others on this machine can read the file. INVAL: an empty line, or
 * too long; and what reading a file gives. */
int api_key_find(const char *file, char out[API_KEY_MAX], bool *exposed, struct err *e);

#endif
