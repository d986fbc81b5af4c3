/* blocks.c - see blocks.h. */
#include "base/blocks.h"

enum { BLOCKS_MOST = 1 << 22 };

void blocks_init(struct blocks *b)
{
    keyed_init(&b->by_address, sizeof(struct block), sizeof(int64_t), BLOCKS_MOST);
}

void blocks_fini(struct blocks *b)
{
    keyed_fini(&b->by_address);
}

struct block *blocks_find(const struct blocks *b, int64_t address)
{
    uint32_t at = keyed_find(&b->by_address, &address);
    return at ? keyed_at(&b->by_address, at) : NULL;
}

int blocks_put(struct blocks *b, const struct block *one)
{
    uint32_t at;
    int rc = keyed_put(&b->by_address, &one->address, &at, NULL);
    if (!rc && at)
        *(struct block *)keyed_at(&b->by_address, at) = *one;
    return rc;
}
