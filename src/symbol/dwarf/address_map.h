/* address_map.h - finds the ranges that contain an address.
 *
 * Ranges may nest and overlap. A search goes outwards from the innermost range, which begins last.
 * Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_DWARF_ADDRESS_MAP_H
#define GPUFL_SYMBOL_DWARF_ADDRESS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct address_range {
    uint64_t begin, end; /* [begin, end) */
    uint64_t reach;      /* greatest end of this range and those before it */
    void *value;
};

struct address_map {
    struct address_range *items; /* owned; by begin once settled */
    size_t count, cap;
};

void address_map_fini(struct address_map *m);

/* Adds a range that is not empty, in any order. 0, GPUFL_E_NOMEM or _FULL. */
int address_map_add(struct address_map *m, uint64_t begin, uint64_t end, void *value);

/* Sorts the ranges; called after the last add and before the first search. */
void address_map_settle(struct address_map *m);

/* Lists the ranges around an address, innermost first: *at is SIZE_MAX before the first call.
 * NULL: no more. */
const struct address_range *address_map_next(const struct address_map *m, uint64_t address,
                                             size_t *at);

#endif
