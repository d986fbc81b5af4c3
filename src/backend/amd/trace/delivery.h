/* delivery.h - passes records from the library's thread to the collector.
 *
 * A record is valid only inside the library's callback, so it is copied into a buffer of the
 * session's pool, which the collector takes. The library's producers wait while a callback runs,
 * so the callback only copies and never waits. If the pool has no room, records are counted as
 * lost. */
#ifndef GPUFL_BACKEND_AMD_TRACE_DELIVERY_H
#define GPUFL_BACKEND_AMD_TRACE_DELIVERY_H

#include "backend/amd/trace/sampling.h"
#include "backend/amd/trace/sdk.h"
#include "backend/backend.h"

struct buffers;

/* Notes whether the library records this kind. [owner] */
void delivery_kind(enum rocp_kind kind, bool recorded);
bool delivery_has(enum rocp_kind kind);

/* Opens a session: makes its buffers; losses are counted at s. 0 or GPUFL_E_NOMEM. [owner] */
int delivery_open(struct sink *s, const struct trace_config *c);
/* Drops records that come from now on; those that came before can still be decoded. [owner] */
void delivery_shut(void);
void delivery_close(void); /* [owner] */

/* Forgets the session, in the child of a fork: only stores. */
void delivery_forget(void);

/* This is the callback that the library gets; data: struct rocp. */
rocp_buffer_fn delivery_take;

/* Holds the records of one callback of the library on their way into the pool. */
struct delivery_packing {
    struct buffers *pool;
    struct sink *sink;
    uint8_t *memory; /* NULL: none is open */
    size_t used;
    int64_t shift;
    uint64_t refused; /* records without room */
};

/* Begins to deliver samples, in the library's callback; if the result is true, an end has to
 * follow. p->sink is set in either case; NULL: no session records. */
bool delivery_samples_begin(struct delivery_packing *p);
void delivery_sample(struct delivery_packing *p, const struct sample_taken *s);
void delivery_samples_end(struct delivery_packing *p);

/* delivery_gather takes the records that came so far; the next function reads them into the sink.
 * [collector] */
void delivery_gather(void);
void delivery_decode(void);
bool delivery_came(void); /* true: gathered records were not read yet. [collector] */

/* Reports what is counted of kernels (counting.h). [collector] */
void delivery_describe_counted(bool all);

/* Writes the samples that were read (sampling.h). [collector] */
void delivery_write_samples(void);

/* Returns the number of dispatch records of this session for kernels that calls_launched counts.
 * [any] */
uint64_t delivery_dispatches(void);

#endif
