/* check.h - `gpufl-agent --check`: checks the configuration, and whether the server answers. */
#ifndef GPUFL_AGENT_DAEMON_CHECK_H
#define GPUFL_AGENT_DAEMON_CHECK_H

#include "agent/options/options.h"
#include "base/err.h"

/* Prints a line for each check that passes. 0, or the error of the first one that fails. Changes
 * nothing on disk and sends no session. */
int check_run(const struct options *o, struct err *e);

#endif
