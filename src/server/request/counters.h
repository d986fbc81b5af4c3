/* counters.h - counts requests for /metrics: how many, how fast, how large.
 *
 * One row a route, atomics with relaxed order: sums need no order. [any] */
#ifndef GPUFL_SERVER_REQUEST_COUNTERS_H
#define GPUFL_SERVER_REQUEST_COUNTERS_H

#include "base/buf.h"
#include "server/request/route.h"

#include <stdatomic.h>

enum { COUNTERS_BUCKETS = 12, COUNTERS_OTHER = ROUTE_COUNT /* slot of what has no route */ };

struct counters_row {
    atomic_uint_fast64_t status[6]; /* by the status' first digit; 0: the client went before */
    atomic_uint_fast64_t took[COUNTERS_BUCKETS]; /* by duration, see counters.c */
    atomic_uint_fast64_t took_ns;
    atomic_uint_fast64_t in, out; /* bytes of bodies */
};

struct counters {
    struct counters_row rows[ROUTE_COUNT + 1];
};

void counters_add(struct counters *c, unsigned slot, int status, int64_t took_ns, uint64_t in,
                  uint64_t out);

/* The rows of routes that were asked, in Prometheus' text form. */
void counters_put(struct counters *c, struct buf *out);

/* Writes one number with its help and type ("gauge", "counter"). */
/* Writes the lines HELP and TYPE, which stand once before the samples of a metric. */
void counters_head(struct buf *out, const char *name, const char *type, const char *help);

void counters_number(struct buf *out, const char *name, const char *type, const char *help,
                     double value);

#endif
