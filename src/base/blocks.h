/* blocks.h - sizes of memory blocks by address: a free may have an address and no size.
 *
 * A block stays after its free, so that the table has an item for each address. An address that
 * finds no room is not remembered. Owner's thread. */
#ifndef GPUFL_BASE_BLOCKS_H
#define GPUFL_BASE_BLOCKS_H

#include "base/keyed.h"

struct block {
    int64_t address; /* never 0 */
    int64_t bytes;
    int64_t time; /* ns: of the allocation; of an early free, which came before its allocation */
    int64_t device;
    bool live, early, host;
};

struct blocks {
    struct keyed by_address;
};

void blocks_init(struct blocks *b);
void blocks_fini(struct blocks *b);

/* The block at an address; NULL: nobody has put one there. Valid until the next blocks_put. */
struct block *blocks_find(const struct blocks *b, int64_t address);

/* Puts a block in the place of the one at its address. 0 or GPUFL_E_NOMEM. */
int blocks_put(struct blocks *b, const struct block *one);

#endif
