/* restoring.h - `gpufl-agent restore`: sessions out of the archive into a folder. */
#ifndef GPUFL_AGENT_KEEP_RESTORING_H
#define GPUFL_AGENT_KEEP_RESTORING_H

#include "agent/options/options.h"

#include <signal.h>

/* The session of that name, or with NULL all since o->since, below o->into. Says each on stdout,
 * and each that cannot be restored on stderr; the result is then an error. */
int restoring_run(const struct options *o, const char *session, const volatile sig_atomic_t *stop,
                  struct err *e);

#endif
