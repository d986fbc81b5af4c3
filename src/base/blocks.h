/* blocks.h - keeps sizes of memory blocks by address, because a record of a free may have no size.
 *
 * A block stays in the table after its free, so the table has an item for each address. If the
 * table is full, a new address is not remembered. Called by the owner's thread only. */
#ifndef GPUFL_BASE_BLOCKS_H
#define GPUFL_BASE_BLOCKS_H

#include "base/keyed.h"

struct block {
    int64_t address; /* never 0 */
    int64_t bytes;
    int64_t time; /* ns: of the allocation, or of a free whose record came before it */
    int64_t device;
    bool live, early, host;
};

struct blocks {
    struct keyed by_address;
};

void blocks_init(struct blocks *b);
void blocks_fini(struct blocks *b);

/* Returns the block at an address; NULL: no block was put there. Valid until the next
 * blocks_put. */
struct block *blocks_find(const struct blocks *b, int64_t address);

/* Puts a block into the table, in place of an older one at its address. 0 or GPUFL_E_NOMEM. */
int blocks_put(struct blocks *b, const struct block *one);

#endif
