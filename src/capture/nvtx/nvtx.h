/* nvtx.h - NVTX ranges of the program and its libraries as scopes, and their marks.
 *
 * A pushed range is a scope of its thread, with the domain's name as its tag ("nvtx"
 * for the default domain). A started range is a scope of the thread that starts it, until
 * any thread ends the range. A range that overlaps another is closed alone: ranges need not nest.
 * A mark is a moment of its thread, with the same tags as ranges. Marks from before the session's
 * begin or after its end are in no session. */
#ifndef GPUFL_CAPTURE_NVTX_NVTX_H
#define GPUFL_CAPTURE_NVTX_NVTX_H

#include "backend/backend.h"
#include "capture/options/options.h"

/* Replaces an NVTX client's functions. export: nvtx_export of abi.h. False: the client offers no
 * table. [any] */
bool nvtx_attach(const void *(*export)(uint32_t table));

/* Begins a session: records ranges and marks if the option says so, and reports if another tool
 * gets them. v: the vendor of the session's backend; NULL: none. [owner] */
void nvtx_begin(const struct options *o, const struct vendor *v);

/* Returns the functions by which a backend reports rocTX ranges and marks; their tag is "roctx". */
const struct sink_ranges *nvtx_ranges(void);

/* Notes what became of ranges and marks, as a feature. [collector] */
void nvtx_conclude(void);

#endif
