/* delivery.h - records from the library's thread to the collector.
 *
 * A record is valid only inside the library's callback, so it is copied into a buffer of the
 * session's pool, which the collector takes. The library's producers wait while a callback runs:
 * it copies, and never waits. Where the pool has no room, records are counted as lost. */
#ifndef GPUFL_BACKEND_AMD_TRACE_DELIVERY_H
#define GPUFL_BACKEND_AMD_TRACE_DELIVERY_H

#include "backend/amd/trace/sampling.h"
#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

struct buffers;

/* The library records this kind, or not. [owner] */
void delivery_kind(enum rocp_kind kind, bool recorded);
bool delivery_has(enum rocp_kind kind);

/* Buffers for a session, and where its losses are counted. 0 or GPUFL_E_NOMEM. [owner] */
int delivery_open(struct sink *s, const struct trace_config *c);
/* From here on what comes is dropped; what came can be decoded. [owner] */
void delivery_shut(void);
void delivery_close(void); /* [owner] */

/* In the child of a fork: stores only. */
void delivery_forget(void);

/* The library's callback; data: struct rocp. */
rocp_buffer_fn delivery_take;

/* Records on their way into the pool, of one of the library's callbacks. */
struct delivery_packing {
    struct buffers *pool;
    struct sink *sink;
    uint8_t *memory; /* NULL: none is open */
    size_t used;
    int64_t shift;
    uint64_t refused; /* records without room */
};

/* Samples, in the library's callback: a begin that is true has an end. p->sink is set in either
 * case; NULL: nobody records. */
bool delivery_samples_begin(struct delivery_packing *p);
void delivery_sample(struct delivery_packing *p, const struct sample_taken *s);
void delivery_samples_end(struct delivery_packing *p);

/* Takes what came so far; then reads it into the sink. [collector] */
void delivery_gather(void);
void delivery_decode(void);
bool delivery_came(void); /* something is gathered and not read yet. [collector] */

/* Reports what is counted of kernels (counting.h). [collector] */
void delivery_tell_counted(bool all);

/* Writes the samples that were read (sampling.h). [collector] */
void delivery_write_samples(void);

/* Dispatch records that came in this session, of kernels that calls_launched counts. [any] */
uint64_t delivery_dispatches(void);

#endif
