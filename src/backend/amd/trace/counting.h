/* counting.h - reads hardware counters of single kernels, by the dispatch counting service of
 * rocprofiler-sdk.
 *
 * For each kernel that is enqueued the library asks what is to be counted. After the kernel has run
 * it reports a value for each instance of a counter (a shader engine, a channel, ...). The values
 * of a kernel are summed over the instances. While kernels are counted, they run one after the
 * other on a GPU. */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTING_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTING_H

#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

/* Configures the service on a context, for the counters that c asks for. Called once, while the
 * library initializes the tool. GPUFL_E_UNAVAILABLE, _INVAL or _VENDOR and why. [owner] */
int counting_make(const struct rocp *sdk, uint64_t context, uint64_t buffer,
                  const struct trace_config *c, struct err *e);

/* Sets the session for which kernels are counted from now on; NULL: none. [owner] */
void counting_report(struct sink *s, const struct trace_config *c);

/* Ends the session: later records are dropped. [owner] */
void counting_close(void);

/* Returns how many bytes of a record of ROCP_COUNTERS counting_read needs; 0: the record is
 * unknown. [any] */
size_t counting_bytes(const struct rocp_header *h);

/* Reads one such record. shift: ns from its clock to ours. device: returns the sink's id of an
 * agent. [collector] */
void counting_read(uint32_t kind, const void *record, int64_t shift, uint32_t (*device)(int agent));

/* Reports once what is counted, and how many kernels were lost since the last call. all: the
 * session ends, so every picked kernel whose values are not complete is lost, too. device: returns
 * the sink's id of an agent. [collector] */
void counting_describe(uint32_t (*device)(int agent), bool all);

/* Returns true if values of picked kernels may still come. [any] */
bool counting_waits(void);

#endif
