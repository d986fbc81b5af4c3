/* markers.h - rocTX ranges of the program as scopes, and its marks.
 *
 * A pushed range is a scope of its thread. A started range is a scope of the thread that starts
 * it, until any thread stops it; the scope is found by the number that the library gives to a
 * started range. */
#ifndef GPUFL_BACKEND_AMD_TRACE_MARKERS_H
#define GPUFL_BACKEND_AMD_TRACE_MARKERS_H

#include "backend/amd/trace/abi.h"
#include "backend/backend.h"

/* Sets the sink that gets ranges from now on; NULL: none. [owner] */
void markers_report(struct sink *s);

/* Reports that a call of rocTX begins or returns (enum rocp_phase), on the thread that makes the
 * call. [hot] */
void markers_event(uint32_t operation, uint32_t phase, const struct rocp_marker *m);

#endif
