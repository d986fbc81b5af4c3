/* sampling.h - where wavefronts stand, and why they wait: rocprofiler-sdk's PC sampling.
 *
 * Each GPU that offers sampling has a buffer of its own: a sample does not name its GPU, and a
 * flush empties what the driver holds for the first GPU of a buffer alone. Samples are summed by
 * instruction and reason, and become rows of pc_sample each time that they are written.
 *
 * Threads: the library calls back on the thread of its buffers. */
#ifndef GPUFL_BACKEND_AMD_TRACE_SAMPLING_H
#define GPUFL_BACKEND_AMD_TRACE_SAMPLING_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* A sample on its way to the collector. */
struct sample_taken {
    uint64_t object, place; /* as in struct rocp_pc */
    uint32_t agent;         /* index */
    uint32_t reason;        /* index of sampling.c's reasons; 0: unknown */
};

/* Configures a context so that it samples the GPUs that offer it. thread: of the library, for the
 * buffers. While the library initializes the tool only, and once. GPUFL_E_UNAVAILABLE, _PERM or
 * _VENDOR and why. [owner] */
int sampling_make(const struct rocp *sdk, uint64_t context, uint64_t thread,
                  const struct trace_config *c, struct err *e);

/* Samples are for this session from now on; NULL: for none. [owner] */
void sampling_report(struct sink *s);

/* The context was started with this status of the library. [owner], or the opener of a window */
void sampling_started(int status);

/* Makes the library hand over its samples. [collector], or the library while it ends */
void sampling_flush(void);

/* One struct sample_taken. [collector] */
void sampling_read(const void *sample);

/* Writes what was read since the last call, with how the GPUs are sampled before the first row.
 * device: the sink's id of an agent. [collector] */
void sampling_write(uint32_t (*device)(int agent));

#endif
