/* keyed.c - uses open addressing over indexes of items, half full at most. */
#include "base/keyed.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"

#include <string.h>

enum { SLOTS_LEAST = 64 };

void keyed_init(struct keyed *k, size_t item_size, size_t key_size, size_t max)
{
    *k = (struct keyed){.item_size = item_size, .key_size = key_size, .max = max};
}

void keyed_fini(struct keyed *k)
{
    mem_free(k->items);
    mem_free(k->slots);
    keyed_init(k, k->item_size, k->key_size, k->max);
}

void keyed_clear(struct keyed *k)
{
    if (k->slots)
        memset(k->slots, 0, k->slot_count * sizeof *k->slots);
    k->count = 0;
}

/* Returns the slot with the key, or the free slot for it. */
static size_t slot_of(const struct keyed *k, const void *key)
{
    size_t at = intern_hash(key, k->key_size) & (k->slot_count - 1);
    while (k->slots[at] && memcmp(keyed_at(k, k->slots[at]), key, k->key_size) != 0)
        at = (at + 1) & (k->slot_count - 1);
    return at;
}

static int rehash(struct keyed *k)
{
    size_t count = k->slot_count ? k->slot_count * 2 : SLOTS_LEAST;
    uint32_t *slots = mem_array(count, sizeof *slots);
    if (!slots)
        return GPUFL_E_NOMEM;
    mem_free(k->slots);
    k->slots = slots;
    k->slot_count = count;
    for (size_t i = 1; i < k->count; i++)
        slots[slot_of(k, keyed_at(k, i))] = (uint32_t)i;
    return 0;
}

static int append(struct keyed *k)
{
    int rc = mem_grow(&k->items, &k->cap, k->count + 1, k->item_size, k->max);
    if (!rc)
        memset(keyed_at(k, k->count++), 0, k->item_size);
    return rc;
}

uint32_t keyed_find(const struct keyed *k, const void *key)
{
    return k->slot_count ? k->slots[slot_of(k, key)] : 0;
}

int keyed_ensure_none(struct keyed *k)
{
    return k->count ? 0 : append(k);
}

int keyed_put(struct keyed *k, const void *key, uint32_t *index, bool *added)
{
    int rc = keyed_ensure_none(k);
    *index = 0;
    if (added)
        *added = false;
    if (!rc && k->count * 2 >= k->slot_count)
        rc = rehash(k);
    if (rc)
        return rc;
    size_t slot = slot_of(k, key);
    if (k->slots[slot] || k->count >= k->max) {
        *index = k->slots[slot];
        k->refused += !*index;
        return 0;
    }
    rc = append(k);
    if (rc)
        return rc;
    *index = k->slots[slot] = (uint32_t)k->count - 1;
    memcpy(keyed_at(k, *index), key, k->key_size);
    if (added)
        *added = true;
    return 0;
}
