/* check.h - `gpufl-agent --check`: is the configuration good, and does the server answer? */
#ifndef GPUFL_AGENT_DAEMON_CHECK_H
#define GPUFL_AGENT_DAEMON_CHECK_H

#include "agent/options/options.h"
#include "base/err.h"

/* Prints a line for each thing that is good. 0, or the first thing that is not. Changes nothing on
 * disk and sends no session. */
int check_run(const struct options *o, struct err *e);

#endif
