/* sum_memory.c - allocations and frees of GPU memory. */
#include "analyze/sum_memory.h"

#include "analyze/cells.h"
#include "analyze/model.h"

#include <string.h>

enum { OP_ALLOC = 1, OP_FREE = 2 };

void sum_memory_init(struct model *m)
{
    (void)m;
}

void sum_memory_fini(struct model *m)
{
    memset(&m->memory, 0, sizeof m->memory);
}

int sum_memory_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_memory *s = &m->memory;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t op = cells_get(b, COL_alloc_op, i), bytes = cells_or(b, COL_alloc_bytes, i, 0);
        bytes = bytes < 0 ? 0 : bytes;
        if (op == OP_ALLOC) {
            s->allocs++;
            s->alloc_bytes = cells_sum(s->alloc_bytes, bytes);
            s->live = cells_sum(s->live, bytes);
            s->peak = s->live > s->peak ? s->live : s->peak;
        } else if (op == OP_FREE) {
            s->frees++;
            s->free_bytes = cells_sum(s->free_bytes, bytes);
            s->live = cells_sum(s->live, -bytes);
        }
    }
    return 0;
}

int sum_memory_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_memory *s = &into->memory;
    const struct sum_memory *o = &from->memory;
    (void)shift;
    s->allocs += o->allocs;
    s->frees += o->frees;
    s->alloc_bytes = cells_sum(s->alloc_bytes, o->alloc_bytes);
    s->free_bytes = cells_sum(s->free_bytes, o->free_bytes);
    s->live = cells_sum(s->live, o->live);
    s->peak = o->peak > s->peak ? o->peak : s->peak;
    return 0;
}

int sum_memory_finish(struct model *m)
{
    (void)m;
    return 0;
}
