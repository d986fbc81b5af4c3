/* passes.h - `gpufl trace --passes`: the command runs once per engine, and the sessions of
 * all runs are one group. Which engines can be passes, and what goes with them. One thread. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_PASSES_H
#define GPUFL_CLI_TRACE_OPTIONS_PASSES_H

#include "cli/trace/options/options.h"

/* Takes "A,B,…" of r->passes_given into r->passes, the pass of Trace first, and refuses what
 * cannot be passes or does not go with them. CMD_CONTINUE, also where none are asked for, or what
 * cmd_usage returned. */
int trace_passes_parse(struct trace_request *r);

/* True where the engine of the request, or of any of its passes, is the one. */
bool trace_passes_have(const struct trace_request *r, int engine);

#endif
