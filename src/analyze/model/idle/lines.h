/* lines.h - sums up idle time by cause and line: the parts of gaps (parts.h) as rows.
 *
 * The host's own time of a class is divided in the ratio of the looks at the thread in that time.
 * Classes with fewer than IDLE_LOOKS_LEAST looks are divided together, by thread and cause. If a
 * runtime's threads, which run no Python, have fewer than IDLE_POOL_LEAST each, their classes are
 * divided together, by cause; if that pool has fewer as well, it takes in all threads without
 * Python. If a pool has fewer than IDLE_POOL_LEAST, the time of each class goes to the launch that
 * ended it, with a mark. Shares are whole ns by largest remainder: the rows of a cause sum up to
 * its idle time exactly. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_LINES_H
#define GPUFL_ANALYZE_MODEL_IDLE_LINES_H

#include "analyze/model/idle/cause.h"
#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

enum {
    IDLE_LOOKS_LEAST = 5, /* of a class that is divided by its own looks */
    IDLE_POOL_LEAST = 3,  /* of a pool that is divided: the interval of three is 28 points wide */
};

struct idle_line {
    uint32_t node;   /* in model.stacks; 0: no line is known, for `reason` */
    uint32_t cause;  /* enum idle_cause */
    uint32_t reason; /* enum idle_reason */
    uint32_t flags;  /* enum idle_flag */
    uint32_t doing;  /* IDLE_DOING of the looks */
    uint32_t scope;  /* name of the path of the scope in which the launch was; 0: none */
    uint32_t ops;    /* name of the path of the launch's operators (operators.h); 0: none */
    /* not of the key: */
    int64_t exact;     /* ns of measured calls and launches */
    int64_t estimated; /* ns divided by looks, or given to the launch that ended them */
    uint64_t looks;
    double variance; /* ns²: squared half-widths at 95 %, summed over pools */
    struct idle_longest longest;
    /* With IDLE_INHERITED: names ("python (4711)") of the thread that launched and of the thread of
     * the looks; 0: unknown; IDLE_SEVERAL_THREADS. */
    uint32_t launcher, looked_at;
};

struct idle_lines {
    struct keyed rows;                      /* struct idle_line */
    int64_t lost[IDLE_CAUSES];              /* ns of rows without room */
    uint64_t looks, captures;               /* rows of host_sample and launch that were kept */
    uint64_t looks_beyond, captures_beyond; /* rows without room */
};

void idle_lines_init(struct idle_lines *l); /* allocates nothing */
void idle_lines_fini(struct idle_lines *l);

/* Adds to the row that has the key of `row`. Time whose node has no place counts as without a
 * stack, time without room as lost. 0 or GPUFL_E_NOMEM. */
int idle_lines_add(struct model *m, const struct idle_line *row);

/* Makes the rows from m->idle.parts (pools.c). Call after the stacks and scopes are finished. 0 or
 * GPUFL_E_NOMEM. */
int idle_lines_finish(struct model *m);

/* Adds the rows of a finished model whose stacks are merged already. shift: ns, of its times. 0 or
 * GPUFL_E_NOMEM. */
int idle_lines_merge(struct model *into, const struct model *from, int64_t shift);

/* Divides ns in the ratio of counts: whole ns by largest remainder; of equal remainders the first
 * one gets the ns. total: the sum of counts, above 0. 0 or GPUFL_E_NOMEM. */
int idle_lines_divide(int64_t ns, const uint64_t *counts, size_t n, uint64_t total, int64_t *out);

/* Returns half the width of Wilson's 95 % interval for a share of hits in n. n above 0. */
double idle_lines_half_width(uint64_t hits, uint64_t n);

#endif
