/* rowset.c - uses open addressing with linear probing; removal closes the gap by shifting, so that
 * there are no tombstones. At most half of the slots are used. */
#include "wire/rowset.h"

#include "base/alloc.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

#define ROWS_MAX ((size_t)UINT32_MAX / 4)

void rowset_init(struct rowset *s, unsigned key, unsigned width)
{
    *s = (struct rowset){.key = key, .width = width};
}

void rowset_fini(struct rowset *s)
{
    mem_free(s->rows);
    mem_free(s->slots);
    rowset_init(s, s->key, s->width);
}

void rowset_clear(struct rowset *s)
{
    if (s->slot_count)
        memset(s->slots, 0, s->slot_count * sizeof *s->slots);
    s->row_count = s->live = s->free_index = 0;
}

static size_t hash_of(const struct rowset *s, const int64_t *key)
{
    uint64_t h = 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < s->key; i++) {
        h = (h ^ (uint64_t)key[i]) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    return (size_t)h;
}

static int64_t *row_at(const struct rowset *s, uint32_t index)
{
    return s->rows + (size_t)index * s->width;
}

/* Returns the slot with the key, or the free slot for it. */
static size_t slot_of(const struct rowset *s, const int64_t *key)
{
    size_t mask = s->slot_count - 1, i = hash_of(s, key) & mask;
    while (s->slots[i] && memcmp(row_at(s, s->slots[i] - 1), key, s->key * sizeof *key) != 0)
        i = (i + 1) & mask;
    return i;
}

int64_t *rowset_find(const struct rowset *s, const int64_t *key)
{
    if (!s->slot_count)
        return NULL;
    uint32_t found = s->slots[slot_of(s, key)];
    return found ? row_at(s, found - 1) : NULL;
}

static bool grow_slots(struct rowset *s)
{
    if ((size_t)s->live * 2 < s->slot_count)
        return true;
    size_t old_count = s->slot_count, count = old_count ? old_count * 2 : FIRST_SLOTS;
    uint32_t *old = s->slots, *grown = mem_array(count, sizeof *grown);
    if (!grown)
        return false;
    s->slots = grown;
    s->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            s->slots[slot_of(s, row_at(s, old[i] - 1))] = old[i];
    mem_free(old);
    return true;
}

/* Returns an index for a new row, or UINT32_MAX. */
static uint32_t take_index(struct rowset *s)
{
    if (s->free_index) {
        uint32_t index = s->free_index - 1;
        s->free_index = (uint32_t)*row_at(s, index);
        return index;
    }
    if (mem_grow(&s->rows, &s->row_cap, (size_t)s->row_count + 1, s->width * sizeof *s->rows,
                 ROWS_MAX))
        return UINT32_MAX;
    return s->row_count++;
}

int64_t *rowset_put(struct rowset *s, const int64_t *key, bool *added)
{
    *added = false;
    int64_t *row = rowset_find(s, key);
    if (row)
        return row;
    if (!grow_slots(s))
        return NULL;
    uint32_t index = take_index(s);
    if (index == UINT32_MAX)
        return NULL;
    row = row_at(s, index);
    memset(row, 0, s->width * sizeof *row);
    memcpy(row, key, s->key * sizeof *row);
    s->slots[slot_of(s, key)] = index + 1;
    s->live++;
    *added = true;
    return row;
}

void rowset_remove(struct rowset *s, int64_t *row)
{
    size_t mask = s->slot_count - 1, gap = slot_of(s, row);
    uint32_t index = s->slots[gap] - 1;
    for (size_t i = (gap + 1) & mask; s->slots[i]; i = (i + 1) & mask) {
        size_t home = hash_of(s, row_at(s, s->slots[i] - 1)) & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue; /* its home lies after the gap, so it must stay */
        s->slots[gap] = s->slots[i];
        gap = i;
    }
    s->slots[gap] = 0;
    *row = s->free_index;
    s->free_index = index + 1;
    s->live--;
}
