/* counting.h - hardware counters of single kernels, by the dispatch counting service of
 * rocprofiler-sdk.
 *
 * The library asks for each kernel that is enqueued what is to be counted, and hands over a value
 * for each instance of a counter (of a shader engine, of a channel, ...) after the kernel has run.
 * The values of a kernel are summed over the instances. Kernels run one after the other on a GPU
 * while this is on. */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTING_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTING_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* Configures the service on a context, for the counters that c asks for. While the library
 * initializes the tool only, and once. GPUFL_E_UNAVAILABLE, _INVAL or _VENDOR and why. [owner] */
int counting_make(const struct rocp *sdk, uint64_t context, uint64_t buffer,
                  const struct trace_config *c, struct err *e);

/* Kernels are counted for this session from now on; NULL: for none. [owner] */
void counting_report(struct sink *s, const struct trace_config *c);

/* The session is over: records that come are nobody's. [owner] */
void counting_close(void);

/* Bytes of a record of ROCP_COUNTERS that counting_read wants; 0: it is not known. [any] */
size_t counting_bytes(const struct rocp_header *h);

/* One such record. shift: ns from its clock to ours. device: the sink's id of an agent.
 * [collector] */
void counting_read(uint32_t kind, const void *record, int64_t shift, uint32_t (*device)(int agent));

/* Reports what is counted, once, and how many kernels were lost since the last call; all: the
 * session ends, and so is every kernel that was picked and has not come whole.
 * device: the sink's id of an agent. [collector] */
void counting_tell(uint32_t (*device)(int agent), bool all);

/* Kernels were picked whose values have not come, and may. [any] */
bool counting_waits(void);

#endif
