/* records.h - turns rocprofiler-sdk's records into rows of kernels, copies, fills, allocations.
 *
 * The library has no kind of record for fills, nor for copies done by a kernel of the runtime. Such
 * a kernel is recognized by its name, and its call says what was filled or copied. [collector] */
#ifndef GPUFL_BACKEND_AMD_TRACE_RECORDS_H
#define GPUFL_BACKEND_AMD_TRACE_RECORDS_H

#include "backend/amd/trace/agents.h"
#include "backend/backend.h"
#include "backend/common/record_times.h"
#include "base/keyed.h"

#include <stdatomic.h>

struct rocm_records {
    struct sink *sink;
    struct record_times times;
    uint32_t devices[AGENTS_MOST];
    struct keyed functions; /* kernels that are defined in the session, by the library's number */
    bool windows, name_said;
    _Atomic uint64_t dispatches; /* that calls_launched counts; relaxed */
};

/* Begins a session. windows: kernels of calls that calls.h does not remember are not part of the
 * session. */
void rocm_records_open(struct rocm_records *r, struct sink *s, bool windows);

/* Reads one record. shift: ns from its clock to ours. kind: the library's number. */
void rocm_records_read(struct rocm_records *r, uint32_t kind, const void *record, int64_t shift);

/* Returns the sink's id of an agent's device; 0: no GPU has this index. */
uint32_t rocm_records_device(struct rocm_records *r, int agent);

uint64_t rocm_records_dispatches(const struct rocm_records *r); /* [any] */

/* Fills the occ_* columns except occ_limiter. Returns the limiter's name; NULL: not known. */
struct symbol;
const char *rocm_records_occupancy(const struct agent *a, const struct symbol *s,
                                   struct config_row *row);

#endif
