/* sampling.h - samples the program counters of wavefronts, and why they wait, with
 * rocprofiler-sdk's PC sampling.
 *
 * Each GPU that offers sampling has its own buffer, because a sample does not name its GPU, and a
 * flush fetches what the driver holds only for the first GPU of a buffer. Samples are summed by
 * instruction and reason, and become rows of pc_sample each time that they are written.
 *
 * Threads: the library calls back on the thread of its buffers. */
#ifndef GPUFL_BACKEND_AMD_TRACE_SAMPLING_H
#define GPUFL_BACKEND_AMD_TRACE_SAMPLING_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* Describes a sample that the collector has not taken yet. */
struct sample_taken {
    uint64_t object, place; /* as in struct rocp_pc */
    uint32_t agent;         /* index */
    uint32_t reason;        /* index of sampling.c's reasons; 0: unknown */
};

/* Configures a context so that it samples the GPUs that offer sampling. thread: of the library, for
 * the buffers. Called once, while the library initializes the tool. GPUFL_E_UNAVAILABLE, _PERM or
 * _VENDOR and why. [owner] */
int sampling_make(const struct rocp *sdk, uint64_t context, uint64_t thread,
                  const struct trace_config *c, struct err *e);

/* Sets the session that gets samples from now on; NULL: none. [owner] */
void sampling_report(struct sink *s);

/* Reports the library's status of starting the context. [owner], or the opener of a window */
void sampling_started(int status);

/* Makes the library deliver its samples. [collector], or the library while it ends */
void sampling_flush(void);

/* Reads one struct sample_taken. [collector] */
void sampling_read(const void *sample);

/* Writes the samples read since the last call; before the first row, reports how the GPUs are
 * sampled. device: returns the sink's id of an agent. [collector] */
void sampling_write(uint32_t (*device)(int agent));

#endif
