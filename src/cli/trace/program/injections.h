/* injections.h - the variables that make each vendor's libraries load ours into a program. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_INJECTIONS_H
#define GPUFL_CLI_TRACE_PROGRAM_INJECTIONS_H

#include "cli/trace/program/run.h"

#include <limits.h>

enum { INJECTIONS_VENDORS = 4, INJECTIONS_MOST = 3 * INJECTIONS_VENDORS };

struct injections {
    char library[INJECTIONS_VENDORS][2 * PATH_MAX]; /* values made here, by vendor */
    char host[INJECTIONS_VENDORS][PATH_MAX];
};

/* Puts them for the capture library at this path; at most INJECTIONS_MOST. samples: of an engine
 * that samples PCs, which a vendor's library may have to be allowed. Values lie in *in, the
 * path and the environment. Returns how many. A tool of the user's own keeps the ranges (the
 * session says so), and its place in a list of tools. */
size_t injections_put(struct injections *in, const char *library, bool samples,
                      struct run_variable *env);

#endif
