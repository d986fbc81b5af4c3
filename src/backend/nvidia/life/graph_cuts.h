/* graph_cuts.h - handles graphs that were running when records were switched off, at the end of a
 * window or of a session.
 *
 * For a node of such a graph CUPTI reports the begin, but not the end: the end in the record is
 * when the buffers were flushed, 1 to 230 ms later on an H200 (CUDA 13.0, ADR 13). Such a record is
 * cut at the moment at which records were switched off, and counted. Called by any thread. */
#ifndef GPUFL_BACKEND_NVIDIA_LIFE_GRAPH_CUTS_H
#define GPUFL_BACKEND_NVIDIA_LIFE_GRAPH_CUTS_H

#include <stdint.h>

void graph_cuts_open(void); /* a session begins */

/* Notes that records are switched off at `now` (ns); the next function, that they are on again. */
void graph_cuts_off(int64_t now);
void graph_cuts_on(int64_t now);

/* Returns the known duration of a node (ns): the whole, or the part before records were switched
 * off. */
int64_t graph_cuts_duration(int64_t start, int64_t duration);

uint64_t graph_cuts_count(void); /* of this session: durations that were shortened */

#endif
