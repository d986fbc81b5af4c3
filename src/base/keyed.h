/* keyed.h - is an array whose items are found by a key, which each item begins with.
 *
 * The first key_size bytes of an item are its key. Keys are compared as bytes, so the caller zeroes
 * a key, padding included, before filling it in. Item 0 means "none": a key that finds no room
 * within `max` items gets index 0. Single items are never removed, and keep their index until
 * keyed_clear; a pointer to an item is valid until the next item is added. Called by the owner's
 * thread only. */
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
    uint32_t *slots;            /* owned: indexes of items by hash; 0: free */
    size_t slot_count;          /* a power of two, or 0 */
    uint64_t refused;           /* keys that found no room */
};

void keyed_init(struct keyed *k, size_t item_size, size_t key_size, size_t max);
void keyed_fini(struct keyed *k);  /* the caller frees first what items own */
void keyed_clear(struct keyed *k); /* forgets all items, item 0 too; keeps the memory */

/* Finds the item with that key, or adds one whose other bytes are 0. *index is 0 if there is
 * no room; *added (may be NULL) says whether the item is new. Makes item 0, too. 0 or
 * GPUFL_E_NOMEM. */
int keyed_put(struct keyed *k, const void *key, uint32_t *index, bool *added);

/* Makes item 0, for a caller that writes to it before the first keyed_put. 0 or GPUFL_E_NOMEM. */
int keyed_ensure_none(struct keyed *k);

/* Returns the index of the item with that key; 0: there is none. */
uint32_t keyed_find(const struct keyed *k, const void *key);

static inline void *keyed_at(const struct keyed *k, size_t index)
{
    return k->items + index * k->item_size;
}

/* Returns the index of an item. */
static inline size_t keyed_index(const struct keyed *k, const void *item)
{
    return (size_t)((const char *)item - k->items) / k->item_size;
}

#endif
