/* tally.c - see sass/tally.h: a table with open addressing, doubled at half full. */
#include "backend/nvidia/engine/sass/tally.h"

#include "base/alloc.h"

#include <string.h>

enum { SLOTS_FIRST = 1024 };

const struct sass_metric_name sass_metric_names[SASS_METRICS] = {
#define SASS_ROW(group, name) {name, SASS_##group},
    SASS_LIST(SASS_ROW)
#undef SASS_ROW
};

void sass_tally_init(struct sass_tally *t, const uint64_t ids[SASS_METRICS])
{
    memset(t, 0, sizeof *t);
    memcpy(t->ids, ids, sizeof t->ids);
}

void sass_tally_fini(struct sass_tally *t)
{
    functions_fini(&t->functions);
    mem_free(t->cells);
    memset(t, 0, sizeof *t);
}

static size_t hash_of(uint32_t function, uint32_t offset, uint32_t window)
{
    uint64_t h =
        (((uint64_t)function << 32 | offset) + ((uint64_t)window << 40)) * 0x9E3779B97F4A7C15u;
    return (size_t)(h ^ h >> 29);
}

static struct sass_cell *cell_slot(const struct sass_tally *t, uint32_t function, uint32_t offset,
                                   uint32_t window)
{
    size_t mask = t->cell_slots - 1;
    for (size_t at = hash_of(function, offset, window) & mask;; at = (at + 1) & mask) {
        struct sass_cell *c = &t->cells[at];
        if (!c->used || (c->function == function && c->offset == offset && c->window == window))
            return c;
    }
}

static bool grow(struct sass_tally *t)
{
    size_t before = t->cell_slots, slots = before ? before * 2 : SLOTS_FIRST;
    struct sass_cell *old = t->cells;
    struct sass_cell *more = t->cell_count < SASS_TALLY_MAX ? mem_array(slots, sizeof *more) : NULL;
    if (!more)
        return false;
    t->cells = more;
    t->cell_slots = slots;
    for (size_t i = 0; i < before; i++)
        if (old[i].used)
            *cell_slot(t, old[i].function, old[i].offset, old[i].window) = old[i];
    mem_free(old);
    return true;
}

/* NULL: no room. */
static struct sass_cell *cell_of(struct sass_tally *t, uint32_t function, uint32_t offset)
{
    if (function == UINT32_MAX || (t->cell_count * 2 >= t->cell_slots && !grow(t)))
        return NULL;
    struct sass_cell *c = cell_slot(t, function, offset, t->window);
    if (!c->used) {
        *c = (struct sass_cell){
            .function = function, .offset = offset, .window = t->window, .used = true};
        t->cell_count++;
    }
    return c;
}

/* SASS_METRICS: none of ours, or not filled. */
static size_t metric_of(const struct sass_tally *t, uint64_t id)
{
    size_t i = id ? 0 : SASS_METRICS;
    while (i < SASS_METRICS && t->ids[i] != id)
        i++;
    return i;
}

void sass_tally_add(struct sass_tally *t, const struct sass_record *list, size_t count,
                    size_t values)
{
    for (size_t i = 0; i < count; i++) {
        const struct sass_record *r = &list[i];
        struct sass_cell *c = NULL;
        for (size_t k = 0; r->name && k < values; k++) {
            size_t metric = metric_of(t, r->values[k].id);
            if (metric == SASS_METRICS || !r->values[k].value)
                continue;
            if (!c)
                c = cell_of(t, functions_put(&t->functions, r->crc, r->function, r->name),
                            r->offset);
            if (c)
                c->values[metric] += r->values[k].value;
            else
                t->lost++;
        }
    }
}

/* Bit by group: something of it is not 0. */
static unsigned groups_of(const struct sass_cell *c)
{
    unsigned groups = 0;
    for (size_t i = 0; i < SASS_METRICS; i++)
        if (c->values[i])
            groups |= 1u << sass_metric_names[i].group;
    return groups;
}

void sass_tally_take(struct sass_tally *t,
                     void (*fn)(void *arg, const struct sass_cell *c, size_t metric), void *arg)
{
    for (size_t i = 0; i < t->cell_slots; i++) {
        const struct sass_cell *c = &t->cells[i];
        unsigned groups = c->used ? groups_of(c) : 0;
        for (size_t k = 0; groups && k < SASS_METRICS; k++)
            if (t->ids[k] && (groups >> sass_metric_names[k].group & 1))
                fn(arg, c, k);
    }
    if (t->cells)
        memset(t->cells, 0, t->cell_slots * sizeof *t->cells);
    t->cell_count = 0;
}
