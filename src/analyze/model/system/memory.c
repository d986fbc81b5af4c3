/* memory.c - see memory.h. */
#include "analyze/model/system/memory.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"

#include <string.h>

enum { OP_ALLOC = 1, OP_FREE = 2, MEMORY_PAGEABLE = 1, MEMORY_PINNED = 2 };

void sum_memory_init(struct model *m)
{
    (void)m;
}

void sum_memory_fini(struct model *m)
{
    memset(&m->memory, 0, sizeof m->memory);
}

static void add(struct memory_use *u, int64_t op, int64_t bytes)
{
    if (op == OP_ALLOC) {
        u->allocs++;
        u->alloc_bytes = cells_sum(u->alloc_bytes, bytes);
        u->live = cells_sum(u->live, bytes);
        u->peak = u->live > u->peak ? u->live : u->peak;
    } else if (op == OP_FREE) {
        u->frees++;
        u->free_bytes = cells_sum(u->free_bytes, bytes);
        u->live = cells_sum(u->live, -bytes);
    }
}

int sum_memory_batch(struct model *m, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t bytes = cells_or(b, COL_alloc_bytes, i, 0);
        int64_t memory = cells_or(b, COL_alloc_memory, i, 0);
        bool host = memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
        add(host ? &m->memory.host : &m->memory.gpu, cells_get(b, COL_alloc_op, i),
            bytes < 0 ? 0 : bytes);
    }
    return 0;
}

static void merge(struct memory_use *u, const struct memory_use *o)
{
    u->allocs += o->allocs;
    u->frees += o->frees;
    u->alloc_bytes = cells_sum(u->alloc_bytes, o->alloc_bytes);
    u->free_bytes = cells_sum(u->free_bytes, o->free_bytes);
    u->live = cells_sum(u->live, o->live);
    u->peak = o->peak > u->peak ? o->peak : u->peak;
}

int sum_memory_merge(struct model *into, const struct model *from, int64_t shift)
{
    (void)shift;
    merge(&into->memory.gpu, &from->memory.gpu);
    merge(&into->memory.host, &from->memory.host);
    return 0;
}

int sum_memory_finish(struct model *m)
{
    (void)m;
    return 0;
}
