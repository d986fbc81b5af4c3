/* ring.c - allocates the memory of a ring; the rest is inline in ring.h. */
#include "base/ring.h"

#include "base/alloc.h"
#include "base/err.h"

int ring_init(struct ring *r, uint32_t capacity, uint32_t slot_size)
{
    enum { MAX = 1u << 30 };
    memset(r, 0, sizeof *r);
    if (capacity > MAX || slot_size == 0)
        return GPUFL_E_NOMEM;
    uint32_t rounded = 1;
    while (rounded < capacity)
        rounded *= 2;
    r->slots = mem_pages(rounded, slot_size);
    if (!r->slots)
        return GPUFL_E_NOMEM;
    r->capacity = rounded;
    r->slot_size = slot_size;
    return 0;
}

void ring_fini(struct ring *r)
{
    mem_pages_free(r->slots, r->capacity, r->slot_size);
    memset(r, 0, sizeof *r);
}
