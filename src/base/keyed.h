/* keyed.h - an array whose items are found by what they begin with.
 *
 * The first key_size bytes of an item are its key, compared as bytes: keys are
 * to be zeroed before they are filled. Item 0 is there from the start and stands
 * for none: what has no room beyond `max` items is told to be that. Items never
 * move down and are never removed, so that an index names one for good; a pointer
 * to one is valid until the next is added. Owner's thread. */
#ifndef GPUFL_BASE_KEYED_H
#define GPUFL_BASE_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyed {
    char *items; /* owned */
    size_t count, cap;
    size_t item_size, key_size; /* bytes */
    size_t max;                 /* items, the first one included */
    uint32_t *slots;            /* owned: index by hash; 0: free */
    size_t slot_count;          /* a power of two, or 0 */
    uint64_t refused;           /* keys that found no room */
};

void keyed_init(struct keyed *k, size_t item_size, size_t key_size, size_t max);
void keyed_fini(struct keyed *k); /* what items own is the caller's to free before */

/* Index of the item with that key, added with the rest zeroed where it is new (*added, may be
 * NULL). 0 where there is no room. Returns 0 or GPUFL_E_NOMEM. */
int keyed_put(struct keyed *k, const void *key, uint32_t *index, bool *added);

/* Index of the item with that key; 0: there is none. */
uint32_t keyed_find(const struct keyed *k, const void *key);

static inline void *keyed_at(const struct keyed *k, size_t index)
{
    return k->items + index * k->item_size;
}

/* The index of an item. */
static inline size_t keyed_index(const struct keyed *k, const void *item)
{
    return (size_t)((const char *)item - k->items) / k->item_size;
}

#endif
