/* address_map.c - is a sorted array; each element has the highest end of it and of those before. */
#include "symbol/dwarf/address_map.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { RANGES_MAX = 1 << 26 };

void address_map_fini(struct address_map *m)
{
    mem_free(m->items);
    memset(m, 0, sizeof *m);
}

int address_map_add(struct address_map *m, uint64_t begin, uint64_t end, void *value)
{
    if (begin >= end)
        return 0;
    int rc = mem_grow(&m->items, &m->cap, m->count + 1, sizeof *m->items, RANGES_MAX);
    if (!rc)
        m->items[m->count++] = (struct address_range){begin, end, end, value};
    return rc;
}

/* Puts a range that encloses another one before it, also if both begin at the same address. */
static int by_begin(const void *a, const void *b)
{
    const struct address_range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

void address_map_settle(struct address_map *m)
{
    if (m->count)
        qsort(m->items, m->count, sizeof *m->items, by_begin);
    for (size_t i = 0; i < m->count; i++) {
        uint64_t before = i ? m->items[i - 1].reach : 0, end = m->items[i].end;
        m->items[i].reach = before > end ? before : end;
    }
}

/* Returns the number of ranges that begin at the address or before it. */
static size_t begun(const struct address_map *m, uint64_t address)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (m->items[mid].begin <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct address_range *address_map_next(const struct address_map *m, uint64_t address,
                                             size_t *at)
{
    size_t i = *at == SIZE_MAX ? begun(m, address) : *at;
    while (i && m->items[i - 1].reach > address) {
        i--;
        if (m->items[i].end > address) {
            *at = i;
            return &m->items[i];
        }
    }
    *at = 0;
    return NULL;
}
