/* graph_cuts.h - graphs that were at work as records were switched off: at the end of a window, or
 * of a session.
 *
 * CUPTI reports when one of their nodes began, but not when it ended: its record ends where the
 * buffers were flushed, 1 to 230 ms later on an H200 (CUDA 13.0, ADR 13). Such a record is reported
 * up to the moment at which records were switched off, and counted. Any thread. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_GRAPH_CUTS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_GRAPH_CUTS_H

#include <stdint.h>

void graph_cuts_open(void); /* a session begins */

/* Records are switched off from here on (ns), or on again. */
void graph_cuts_off(int64_t now);
void graph_cuts_on(int64_t now);

/* What can be said of a node's duration (ns): all of it, or what lies before records were switched
 * off. */
int64_t graph_cuts_duration(int64_t start, int64_t duration);

uint64_t graph_cuts_count(void); /* of this session: durations that were shortened */

#endif
