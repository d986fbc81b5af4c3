/* injections.h - sets the variables that make each vendor's libraries load ours into a program. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_INJECTIONS_H
#define GPUFL_CLI_TRACE_PROGRAM_INJECTIONS_H

#include "cli/trace/program/run.h"

#include <limits.h>

enum { INJECTIONS_VENDORS = 4, INJECTIONS_MOST = 3 * INJECTIONS_VENDORS };

struct injections {
    char library[INJECTIONS_VENDORS][2 * PATH_MAX]; /* values made here, by vendor */
    char host[INJECTIONS_VENDORS][PATH_MAX];
};

/* Writes the variables for the capture library at this path to env, at most INJECTIONS_MOST;
 * returns how many. samples: for an engine that samples PCs, which a vendor's library may have to
 * permit. Values are in *in, the path and the environment. If the user has a tool of their own, it
 * keeps the ranges (the session says so), and its place in a list of tools. */
size_t injections_put(struct injections *in, const char *library, bool samples,
                      struct run_variable *env);

#endif
