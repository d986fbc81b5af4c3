/* hip_graphs.h - keeps executable HIP graphs: a number for each, and how many kernels one launch
 * runs.
 *
 * The library reports the dispatches of a graph's launch, but not how many there should be. So the
 * nodes of a graph are counted when it is instantiated, on the thread that does so, with HIP's own
 * functions. Missing records of a launch can then be counted. */
#ifndef GPUFL_BACKEND_AMD_TRACE_HIP_GRAPHS_H
#define GPUFL_BACKEND_AMD_TRACE_HIP_GRAPHS_H

#include "backend/amd/trace/calls.h"

enum { HIP_GRAPHS_OPERATIONS = 8 };

/* Finds the library's numbers of the calls that make, change and destroy graphs. Returns how many.
 * [owner] */
size_t hip_graphs_find(const struct rocp *sdk, uint32_t operations[HIP_GRAPHS_OPERATIONS]);

/* This is the library's callback for these calls, in a session and outside of one. [any] */
void hip_graphs_event(const struct call_event *e);

/* Returns the number of an executable graph; 0: there is no room. [hot] */
uint32_t hip_graphs_number(uint64_t exec);

/* Returns the number of kernels in a launch of the graph with this number. CELL_NULL: not known,
 * because the graph was instantiated before the tool was loaded, or was changed since. [hot] */
int64_t hip_graphs_kernels(uint32_t number);

#endif
