/* graphs.h - says how long launches of CUDA graphs ran on the GPU: from rows of whole launches, or
 * from the rows of their kernels.
 *
 * The kernels of one launch share a correlation id and come close to each other in the log. A
 * launch is complete when another launch needs its slot, when its first node comes again (ids
 * repeat, and begin again after a window of capture), or at the end of the log. A launch lasts from
 * the start of its first kernel to the end of its last; a copy or fill before or after these is not
 * included. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_GRAPHS_H
#define GPUFL_ANALYZE_MODEL_KERNELS_GRAPHS_H

#include "base/keyed.h"

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_GRAPHS_TAKES (MODEL_TAKES(kernel) | MODEL_TAKES(graph_run))

enum { GRAPHS_MOST = 4096, GRAPHS_UNDER_WAY = 1024 };

struct graph_sum {
    int64_t graph;   /* id in the log */
    int64_t session; /* number of the merged session; 0: there is only one */
    /* not of the key: */
    uint64_t launches;
    uint64_t kernels;    /* of launches recorded by node */
    int64_t time, max;   /* ns from first to last, of all and of the longest */
    int64_t kernel_time; /* ns, of launches by node */
};

struct graph_run {                    /* a launch that is still growing */
    int64_t graph, correlation, node; /* node: of the kernel that came first */
    int64_t start, end;               /* ns */
    uint64_t kernels;                 /* 0: the slot is free */
    int64_t kernel_time;
};

struct sum_graphs {
    struct keyed graphs;     /* struct graph_sum */
    struct graph_run *under; /* owned: GRAPHS_UNDER_WAY slots by correlation; NULL: no graph yet */
    struct graph_sum all;    /* graph: unused */
    uint64_t whole;          /* of all.launches: those with a row of their own */
    uint32_t *by_time;       /* owned: indices in graphs, the longest first; after finish */
    size_t by_time_count;
};

void sum_graphs_init(struct model *m);
void sum_graphs_fini(struct model *m);
int sum_graphs_batch(struct model *m, const struct wire_batch *b);
int sum_graphs_merge(struct model *into, const struct model *from, int64_t shift);
int sum_graphs_finish(struct model *m);

/* Returns how graphs were recorded: "launches", "nodes" or "both"; "" if no graph ran. */
const char *sum_graphs_activity(const struct sum_graphs *s);

#endif
