/* order.h - finds sequences of kernels on a stream that names reveal (kinds.h): attention as
 * separate kernels, chains of element-wise operations, and single launches between graphs.
 *
 * Rows of a stream come in order of time. A row that begins before its predecessor ends all
 * sequences of the stream, so that disorder is never taken for a sequence. Streams beyond
 * ORDER_STREAMS, and sequences that are not complete where a part of the log ends, are not counted.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_KERNELS_ORDER_H
#define GPUFL_ANALYZE_MODEL_KERNELS_ORDER_H

#include "base/keyed.h"

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_ORDER_TAKES (MODEL_TAKES(kernel) | MODEL_TAKES(graph_run))

enum {
    ORDER_STREAMS = 1024,
    ORDER_NEAR = 5,        /* kernels between a product and the softmax of its attention */
    ORDER_CHAIN_LEAST = 3, /* element-wise operations that are a chain */
    ORDER_CHAIN_MOST = 8,  /* longer chains count as several */
    ORDER_ALIKE = 4,       /* blocks of neighbours in a chain differ by this factor at most */
    ORDER_SINGLES = 10,    /* single kernels between two launches of graphs that break a step */
};

struct order_sum {
    uint64_t count;
    uint64_t kernels;   /* in chains */
    int64_t time;       /* ns of all of them */
    int64_t saved;      /* ns of a chain's kernels except its longest */
    int64_t start, end; /* ns: of the longest one, from its first kernel to its last */
};

struct sum_order {
    struct keyed streams;       /* struct order_stream; empty after finish */
    struct order_sum attention; /* product, softmax, product */
    struct order_sum chains;
    uint64_t graphs;  /* launches of CUDA graphs */
    uint64_t whole;   /* of graphs: launches with a row of their own, whose order is unknown */
    uint64_t singles; /* kernels launched one by one after the first graph of their stream, or of
                         the session where graphs have rows of their own */
    uint64_t broken;  /* how often at least ORDER_SINGLES of these ran between two graphs */
};

void sum_order_init(struct model *m);
void sum_order_fini(struct model *m);
int sum_order_batch(struct model *m, const struct wire_batch *b);
int sum_order_merge(struct model *into, const struct model *from, int64_t shift);
int sum_order_finish(struct model *m);

#endif
