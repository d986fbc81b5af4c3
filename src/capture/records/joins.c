/* joins.c - see joins.h. Growing doubles: an entry moves to one of the two places
 * that its id can have, so entries that did not collide still do not. */
#include "capture/records/joins.h"

#include "base/alloc.h"

enum { FIRST = 1 << 12, MOST = 1 << 20 };

void joins_init(struct joins *j)
{
    *j = (struct joins){0};
}

void joins_fini(struct joins *j)
{
    mem_free(j->entries);
    joins_init(j);
}

static struct join *joins_at(const struct joins *j, uint32_t correlation)
{
    return &j->entries[correlation & (j->cap - 1)];
}

static bool joins_grow(struct joins *j)
{
    size_t cap = j->cap ? j->cap * 2 : FIRST;
    if (cap > MOST)
        return false;
    struct joins wider = {.entries = mem_array(cap, sizeof *wider.entries), .cap = cap};
    if (!wider.entries)
        return false;
    for (size_t i = 0; j->entries && i < j->cap; i++)
        if (j->entries[i].thread)
            *joins_at(&wider, j->entries[i].correlation) = j->entries[i];
    mem_free(j->entries);
    j->entries = wider.entries;
    j->cap = cap;
    return true;
}

static bool joins_taken(struct joins *j, uint32_t correlation)
{
    const struct join *e = joins_at(j, correlation);
    return e->waiting && e->correlation != correlation;
}

void joins_put(struct joins *j, const struct join *entry)
{
    if (!j->entries && !joins_grow(j)) {
        j->lost += entry->waiting;
        return;
    }
    while (joins_taken(j, entry->correlation) && joins_grow(j))
        continue;
    j->lost += joins_taken(j, entry->correlation);
    *joins_at(j, entry->correlation) = *entry;
}

const struct join *joins_look(const struct joins *j, uint32_t correlation)
{
    const struct join *e = j->entries ? joins_at(j, correlation) : NULL;
    return e && e->thread && e->correlation == correlation ? e : NULL;
}

const struct join *joins_get(struct joins *j, uint32_t correlation)
{
    const struct join *e = joins_look(j, correlation);
    if (e)
        joins_at(j, correlation)->waiting = false;
    return e;
}
