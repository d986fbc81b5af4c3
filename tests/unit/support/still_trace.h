/* still_trace.h - has a backend whose calls do nothing, for a test or benchmark that uses the sink.
 *
 * It defines no backend: its includer puts the functions into the trace_ops that it needs. */
#ifndef GPUFL_TESTS_UNIT_SUPPORT_STILL_TRACE_H
#define GPUFL_TESTS_UNIT_SUPPORT_STILL_TRACE_H

#include "backend/backend.h"

static struct sink *still_sink; /* the argument of open */

static inline int still_open(struct trace **out, const struct trace_config *c, struct sink *s,
                             struct err *e)
{
    (void)c, (void)e;
    still_sink = s;
    *out = (struct trace *)&still_sink; /* any address: it is never read */
    return 0;
}

static inline int still_start(struct trace *t, struct err *e)
{
    (void)t, (void)e;
    return 0;
}

static inline int still_stop(struct trace *t)
{
    (void)t;
    return 0;
}

static inline int still_flush(struct trace *t, bool all)
{
    (void)t, (void)all;
    return 0;
}

static inline void still_nothing(struct trace *t)
{
    (void)t;
}

static inline void still_cost(struct trace *t, struct trace_cost *out)
{
    (void)t;
    *out = (struct trace_cost){.launches_counted = true};
}

static inline void still_probe(struct probe *out)
{
    *out = (struct probe){.usable = true};
}

#endif
