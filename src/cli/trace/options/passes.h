/* passes.h - `gpufl trace --passes`: the command runs once for each engine, and the sessions of all
 * runs are one group. Checks which engines can be passes, and with which options. Called by one
 * thread only. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_PASSES_H
#define GPUFL_CLI_TRACE_OPTIONS_PASSES_H

#include "cli/trace/options/options.h"

/* Reads "A,B,…" of r->passes_given into r->passes, the pass of Trace first, and refuses engines
 * that cannot be passes and options that exclude passes. CMD_CONTINUE, also without passes, or the
 * result of cmd_usage. */
int trace_passes_parse(struct trace_request *r);

/* Returns true if the engine of the request, or of any of its passes, asks for one of these bits
 * (enum engine_bit). */
bool trace_passes_ask(const struct trace_request *r, unsigned bits);

#endif
