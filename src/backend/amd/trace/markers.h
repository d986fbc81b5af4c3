/* markers.h - rocTX ranges of the program as scopes, and its marks.
 *
 * A pushed range is a scope of its thread. A started range is a scope of the thread that starts
 * it, until any thread stops it; the library numbers started ranges, and the number leads to the
 * scope. */
#ifndef GPUFL_BACKEND_AMD_TRACE_MARKERS_H
#define GPUFL_BACKEND_AMD_TRACE_MARKERS_H

#include "backend/amd/trace/abi.h"
#include "backend/backend.h"

/* Ranges go to this sink's ranges from now on; NULL: to none. [owner] */
void markers_report(struct sink *s);

/* A call of rocTX begins or returns (enum rocp_phase), on the thread that makes it. [hot] */
void markers_event(uint32_t operation, uint32_t phase, const struct rocp_marker *m);

#endif
