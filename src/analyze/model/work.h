/* work.h - the GPU's work by the stack that launched it.
 *
 * Kernels are summed by stack and name, and CUDA graphs that were recorded as a whole by stack and
 * id, if their launches have stacks. Copies are summed by stack and direction. A copy whose row has
 * no stack gets that of the call that blocked for it (the `wait` row with its correlation id); a
 * small copy to the host gets that of the synchronization right after it (the next id), which reads
 * the value. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_WORK_H
#define GPUFL_ANALYZE_MODEL_WORK_H

#include "analyze/model/system/transfers.h"
#include "base/keyed.h"

struct model;
struct wire_batch;

#define SUM_WORK_TAKES (MODEL_TAKES(kernel) | MODEL_TAKES(graph_run) | MODEL_TAKES(memcpy))

/* Lists the kinds of work; smaller values are memcpy.kind. */
enum { WORK_TO_HOST = 2 /* from a device */, WORK_KERNEL = TRANSFER_KINDS, WORK_GRAPH };

struct work {
    uint32_t stack; /* id of the log; after finish: node in model.stacks; 0: none */
    uint32_t kind;  /* memcpy.kind, or WORK_… */
    uint32_t name;  /* of a kernel; of a graph its id in the log; 0: unknown */
    /* not of the key: */
    uint32_t place; /* place of the stack, after finish */
    uint64_t count;
    int64_t time, bytes;            /* ns on the GPU; copies */
    uint64_t small;                 /* copies of at most WAIT_SMALL bytes */
    int64_t small_time;             /* ns, of these */
    int64_t small_start, small_end; /* ns, the longest of these */
    uint64_t pageable;              /* copies from or to host memory that is not pinned */
    int64_t pageable_time, pageable_bytes;
};

struct work_copy; /* a copy without a stack, until the session is read */

struct sum_work {
    struct keyed rows;        /* struct work by stack of the log; empty after finish */
    struct keyed items;       /* struct work by node; after finish */
    struct work_copy *copies; /* owned; empty after finish */
    size_t copy_count, copy_cap;
};

void sum_work_init(struct model *m);
void sum_work_fini(struct model *m);
int sum_work_batch(struct model *m, const struct wire_batch *b);
int sum_work_merge(struct model *into, const struct model *from, int64_t shift);
int sum_work_finish(struct model *m);

static inline const struct work *sum_work_item(const struct sum_work *s, size_t i)
{
    return (const struct work *)keyed_at(&s->items, i);
}

#endif
