/* wait_cost.h - says what the calls of a line cost, for findings about waits and about allocations.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_WAIT_COST_H
#define GPUFL_ANALYZE_INSIGHT_WAIT_COST_H

#include "analyze/insight/insight.h"

/* Holds the calls of a line that wait for the GPU. Allocations and loads of code, which only take
 * time, do not count. */
struct wait_cost {
    uint64_t calls;
    uint64_t sure;       /* calls of them that always wait */
    int64_t ns;          /* ns blocked in them; not more than the line was blocked */
    int64_t idle;        /* ns that GPUs were idle because of them, all devices */
    int64_t lead;        /* ns of idle time that would not be there without them; at least `idle` */
    int64_t least;       /* lead as a careful replay bounds it from below; CELL_NULL: unknown */
    enum wait_call most; /* the kind with most of it */
    uint64_t most_calls;
};

/* Returns what calls of a line could give back at most: the GPU's idle time because of these calls,
 * but not more than the time spent in them. idle: of all devices. */
int64_t wait_cost_gives_back(const struct model *m, int64_t idle, int64_t blocked);

void wait_cost_put_facts(const struct model *m, const struct wait_line *l,
                         const struct wait_cost *w, struct insight *i);

/* A wait in a framework's own thread, or where the program has no names, has no line that a
 * person can change. Says where the wait is, and names another next step. */
void wait_cost_put_library(const struct model *m, const struct wait_line *l, struct insight *i,
                           struct buf *out);

#endif
