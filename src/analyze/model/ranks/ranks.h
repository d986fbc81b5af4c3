/* ranks.h - finds the collectives of a program's processes, each on its GPU, and which waited for
 * which.
 *
 * A kernel of NCCL begins when its own process is ready, and runs until the last rank has come: it
 * waits on the GPU, which counts as busy. A rank is one session on one device that ran such
 * kernels. Ranks of one run and host have one clock, so their collectives can be matched by
 * operation and time (match.c). What two ranks did since their last common collective explains why
 * one is late: its device was idle for longer, or its kernels took longer.
 *
 * A rank keeps its collectives, the spans in which its device did anything else, and the looks at
 * the thread that runs its Python. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_RANKS_RANKS_H
#define GPUFL_ANALYZE_MODEL_RANKS_RANKS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct wire_batch;

enum {
    RANKS_MOST = 1024,       /* in a report; further ones are not matched */
    RANK_OPS_MOST = 1 << 20, /* in a rank, like the next two */
    RANK_SPANS_MOST = 1 << 22,
    RANK_LOOKS_MOST = 1 << 20,
};

#define RANK_NEAR     200000ll /* ns: ranks of one host leave a collective within that time */
#define RANK_TOGETHER 20000ll  /* ns: ranks that come within that time do not wait for each other */

struct rank_op {
    int64_t start, end; /* ns on the host's clock */
    uint32_t name;      /* of the kernel */
    int64_t waited;     /* ns until the last rank came; CELL_NULL: not matched */
    int64_t alone;      /* ns of `waited` in which the device did nothing else; after matching */
};

struct rank_span {
    int64_t start, end; /* ns */
};

struct rank_look {
    int64_t time;  /* ns */
    uint32_t node; /* in model.stacks */
};

struct rank {
    uint32_t session, run, host; /* names */
    int64_t pid, number;         /* number: as the launcher says (RANK); CELL_NULL: unknown */
    uint32_t device;             /* in model.devices */
    int64_t begins;              /* ns: of the steady part; INT64_MIN: there is none */
    int64_t shift;               /* ns, to the model's clock */
    struct rank_op *ops;         /* owned, as the next two; in order */
    struct rank_span *spans;
    struct rank_look *looks;
    size_t op_count, span_count, look_count, op_cap, span_cap, look_cap;
    bool cut;     /* it had more than fits, and is not matched */
    bool settled; /* `begins` is known */
};

struct sum_ranks {
    struct rank *items; /* owned */
    size_t count, cap;
    uint64_t beyond; /* ranks without room */
};

void sum_ranks_init(struct model *m);
void sum_ranks_fini(struct model *m);
int sum_ranks_batch(struct model *m, const struct wire_batch *b);
int sum_ranks_merge(struct model *into, const struct model *from, int64_t shift);
/* Call this function before the rows of steps and the looks of idle time are dropped. */
int sum_ranks_finish(struct model *m);

/* Writes "rank 1", or "the process on GPU 1 (pid 4711)" where the number of the rank is unknown. */
struct buf;
void sum_ranks_put(const struct model *m, uint32_t rank, struct buf *out);

#endif
