/* restoring.h - `gpufl-agent restore`: restores sessions from the archive to a folder. */
#ifndef GPUFL_AGENT_KEEP_RESTORING_H
#define GPUFL_AGENT_KEEP_RESTORING_H

#include "agent/options/options.h"

#include <signal.h>

/* Restores the session of that name, or with NULL all since o->since, below o->into. Prints a line
 * for each on stdout, and for each that cannot be restored on stderr; the result is then an
 * error. */
int restoring_run(const struct options *o, const char *session, const volatile sig_atomic_t *stop,
                  struct err *e);

#endif
