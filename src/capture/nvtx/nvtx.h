/* nvtx.h - NVTX ranges of the program and its libraries as scopes, and their marks.
 *
 * A pushed range is a scope of its thread, with the domain's name as its tag ("nvtx"
 * for the default domain). A started range is one of the thread that starts it, until
 * any thread ends it. A range that overlaps another is closed alone: ranges need not nest.
 * A mark is a moment of its thread, tagged as a range is. Marks from before the session begins, or
 * from after its end, are in no session. */
#ifndef GPUFL_CAPTURE_NVTX_NVTX_H
#define GPUFL_CAPTURE_NVTX_NVTX_H

#include "backend/backend.h"
#include "capture/options/options.h"

/* Takes an NVTX client's calls; export: of abi.h. False: it offers none. [any] */
bool nvtx_attach(const void *(*export)(uint32_t table));

/* A session begins: takes ranges and marks where the option says so, and says where they go to
 * another tool. v: of the session's backend; NULL: none. [owner] */
void nvtx_begin(const struct options *o, const struct vendor *v);

/* Takes ranges and marks of rocTX, which a backend hands over; their tag is "roctx". */
const struct sink_ranges *nvtx_ranges(void);

/* Writes what became of ranges and marks. [collector] */
void nvtx_conclude(void);

#endif
