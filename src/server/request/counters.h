/* counters.h - counts requests for /metrics: number, duration and size.
 *
 * There is a row for each route. The atomics are relaxed, since sums need no order. [any] */
#ifndef GPUFL_SERVER_REQUEST_COUNTERS_H
#define GPUFL_SERVER_REQUEST_COUNTERS_H

#include "base/buf.h"
#include "server/request/route.h"

#include <stdatomic.h>

/* This is the slot of requests without a route. */
enum { COUNTERS_BUCKETS = 12, COUNTERS_OTHER = ROUTE_COUNT };

struct counters_row {
    /* By the first digit of the status; 0: the client disconnected before. */
    atomic_uint_fast64_t status[6];
    atomic_uint_fast64_t took[COUNTERS_BUCKETS]; /* by duration, see counters.c */
    atomic_uint_fast64_t took_ns;
    atomic_uint_fast64_t in, out; /* bytes of bodies */
};

struct counters {
    struct counters_row rows[ROUTE_COUNT + 1];
};

void counters_add(struct counters *c, unsigned slot, int status, int64_t took_ns, uint64_t in,
                  uint64_t out);

/* Puts the rows of routes that were used, in the text format of Prometheus. */
void counters_put(struct counters *c, struct buf *out);

/* counters_head writes the lines HELP and TYPE, which come once before the samples of a metric;
 * counters_number writes both and one number. type: "gauge" or "counter". */
void counters_head(struct buf *out, const char *name, const char *type, const char *help);

void counters_number(struct buf *out, const char *name, const char *type, const char *help,
                     double value);

#endif
