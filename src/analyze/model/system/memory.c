/* memory.c - see memory.h. */
#include "analyze/model/system/memory.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"

#include <string.h>

enum { OP_ALLOC = 1, OP_FREE = 2, MEMORY_PAGEABLE = 1, MEMORY_PINNED = 2 };

void sum_memory_init(struct model *m)
{
    blocks_init(&m->memory.blocks);
}

void sum_memory_fini(struct model *m)
{
    blocks_fini(&m->memory.blocks);
    memset(&m->memory, 0, sizeof m->memory);
}

static struct memory_use *use_of(struct model *m, bool host)
{
    return host ? &m->memory.host : &m->memory.gpu;
}

static void hold(struct memory_use *u, int64_t bytes)
{
    u->live = cells_sum(u->live, bytes);
    u->peak = u->live > u->peak ? u->live : u->peak;
}

static void release(struct memory_use *u, int64_t bytes)
{
    u->free_bytes = cells_sum(u->free_bytes, bytes);
    u->live = cells_sum(u->live, -bytes);
}

/* Gives the size of an allocation to the free of its block that came before. */
static bool settle_early_free(struct model *m, const struct block *now, const struct block *before)
{
    struct memory_use *u = use_of(m, now->host), *counted = use_of(m, before->host);
    if (!before->early || before->time < now->time)
        return false;
    counted->frees--;
    counted->frees_unsized--;
    u->frees++;
    release(u, now->bytes);
    return true;
}

static int take_alloc(struct model *m, struct block now)
{
    struct memory_use *u = use_of(m, now.host);
    struct block *before = now.address ? blocks_find(&m->memory.blocks, now.address) : NULL;
    u->allocs++;
    if (now.bytes < 0) {
        u->allocs_unsized++;
        if (before)
            before->live = before->early = false;
        return 0;
    }
    u->alloc_bytes = cells_sum(u->alloc_bytes, now.bytes);
    hold(u, now.bytes);
    now.live = !before || !settle_early_free(m, &now, before);
    return now.address ? blocks_put(&m->memory.blocks, &now) : 0;
}

static int take_free(struct model *m, struct block now)
{
    struct block *b = now.address ? blocks_find(&m->memory.blocks, now.address) : NULL;
    bool matched = b && b->live;
    struct memory_use *u = use_of(m, now.bytes < 0 && matched ? b->host : now.host);
    u->frees++;
    if (now.bytes >= 0 || matched)
        release(u, now.bytes >= 0 ? now.bytes : b->bytes);
    else
        u->frees_unsized++;
    if (b)
        b->live = b->early = false;
    now.early = now.bytes < 0 && !matched;
    return now.early && now.address ? blocks_put(&m->memory.blocks, &now) : 0;
}

int sum_memory_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t memory = cells_or(b, COL_alloc_memory, i, 0);
        int64_t op = cells_get(b, COL_alloc_op, i);
        struct block one = {.address = cells_or(b, COL_alloc_address, i, 0),
                            .bytes = cells_or(b, COL_alloc_bytes, i, -1),
                            .time = cells_get(b, COL_alloc_time, i),
                            .host = memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED};
        rc = op == OP_ALLOC ? take_alloc(m, one) : op == OP_FREE ? take_free(m, one) : 0;
    }
    return rc;
}

bool sum_memory_sized(const struct memory_use *u)
{
    return !u->allocs_unsized && !u->frees_unsized;
}

static void merge(struct memory_use *u, const struct memory_use *o)
{
    u->allocs += o->allocs;
    u->frees += o->frees;
    u->alloc_bytes = cells_sum(u->alloc_bytes, o->alloc_bytes);
    u->free_bytes = cells_sum(u->free_bytes, o->free_bytes);
    u->live = cells_sum(u->live, o->live);
    u->peak = o->peak > u->peak ? o->peak : u->peak;
    u->allocs_unsized += o->allocs_unsized;
    u->frees_unsized += o->frees_unsized;
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
    blocks_fini(&m->memory.blocks);
    return 0;
}
