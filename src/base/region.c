/* region.c - keeps blocks of growing size in a list; a piece lies whole in one block.
 *
 * The rest of a block into which a piece does not fit stays unused until the end: it is small
 * compared with the block. A piece larger than a block gets a block of its own, after the current
 * one, whose room stays in use. */
#include "base/region.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK_FIRST = 4096, BLOCK_MOST = 256 * 1024 };

struct region_block {
    struct region_block *next;
    size_t size, used; /* bytes of data */
    alignas(max_align_t) char data[];
};

void region_init(struct region *r, size_t max)
{
    *r = (struct region){.max = max};
}

void region_fini(struct region *r)
{
    while (r->blocks) {
        struct region_block *b = r->blocks;
        r->blocks = b->next;
        mem_free(b);
    }
    r->used = 0;
}

void region_clear(struct region *r)
{
    region_fini(r);
}

static struct region_block *block_add(struct region *r, size_t need)
{
    size_t size = r->blocks ? r->blocks->size * 2 : BLOCK_FIRST;
    if (size > BLOCK_MOST)
        size = BLOCK_MOST;
    bool alone = need > size;
    struct region_block *b = mem_alloc(sizeof *b + (alone ? need : size));
    if (!b)
        return NULL;
    b->size = alone ? need : size;
    b->used = 0;
    if (alone && r->blocks) {
        b->next = r->blocks->next;
        r->blocks->next = b;
    } else {
        b->next = r->blocks;
        r->blocks = b;
    }
    return b;
}

void *region_take(struct region *r, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > r->max)
        return NULL;
    size_t need = (size + align - 1) & ~(align - 1);
    if (need < size || need > r->max - r->used)
        return NULL;
    struct region_block *b = r->blocks;
    if (!b || need > b->size - b->used)
        b = block_add(r, need);
    if (!b)
        return NULL;
    void *at = b->data + b->used;
    b->used += need;
    r->used += need;
    return at;
}

void *region_array(struct region *r, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *p = region_take(r, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

char *region_copy(struct region *r, const void *data, size_t n)
{
    char *p = n < SIZE_MAX ? region_take(r, n + 1) : NULL;
    if (!p)
        return NULL;
    if (n)
        memcpy(p, data, n);
    p[n] = '\0';
    return p;
}

char *region_strdup(struct region *r, const char *s)
{
    return region_copy(r, s, strlen(s));
}
