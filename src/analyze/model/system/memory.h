/* memory.h - allocations and frees of GPU memory, and of host memory that the GPU can access.
 *
 * A free may have an address and no size (rocprofiler-sdk): the size is that of the block that was
 * allocated at the address. Records may come in any order. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_MEMORY_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_MEMORY_H

#include "base/blocks.h"

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_MEMORY_TAKES MODEL_TAKES(alloc)

struct memory_use {
    uint64_t allocs, frees;
    int64_t alloc_bytes, free_bytes; /* of those whose size is known */
    /* Bytes allocated and not freed: now, and at most; merged: the largest peak of a session. */
    int64_t live, peak;
    uint64_t allocs_unsized, frees_unsized; /* of unknown size */
};

struct sum_memory {
    struct memory_use gpu; /* with managed memory, and memory of unknown kind */
    struct memory_use host;
    struct blocks blocks; /* of one session; empty after it has been read */
};

void sum_memory_init(struct model *m);
void sum_memory_fini(struct model *m);
int sum_memory_batch(struct model *m, const struct wire_batch *b);
int sum_memory_merge(struct model *into, const struct model *from, int64_t shift);
int sum_memory_finish(struct model *m);

/* Returns true if the size of every allocation and free is known, so that peak is known. */
bool sum_memory_sized(const struct memory_use *u);

#endif
