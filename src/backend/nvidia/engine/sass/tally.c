/* tally.c - see sass/tally.h. */
#include "backend/nvidia/engine/sass/tally.h"

#include <string.h>

enum { KEY_BYTES = offsetof(struct sass_cell, window) + 4 };

const struct sass_metric_name sass_metric_names[SASS_METRICS] = {
#define SASS_ROW(group, name) {name, SASS_##group},
    SASS_LIST(SASS_ROW)
#undef SASS_ROW
};

void sass_tally_init(struct sass_tally *t, const uint64_t ids[SASS_METRICS])
{
    memset(t, 0, sizeof *t);
    memcpy(t->ids, ids, sizeof t->ids);
    keyed_init(&t->cells, sizeof(struct sass_cell), KEY_BYTES, SASS_TALLY_MAX + 1);
}

void sass_tally_fini(struct sass_tally *t)
{
    functions_fini(&t->functions);
    keyed_fini(&t->cells);
    memset(t, 0, sizeof *t);
}

/* Finds or adds a cell. NULL: there is no room. */
static struct sass_cell *cell_of(struct sass_tally *t, uint32_t function, uint32_t offset)
{
    struct sass_cell key = {.function = function, .offset = offset, .window = t->window};
    uint32_t at = 0;
    if (function == UINT32_MAX || keyed_put(&t->cells, &key, &at, NULL) || !at)
        return NULL;
    return keyed_at(&t->cells, at);
}

/* Returns the index of a metric by its id; SASS_METRICS: not one of ours, or the record is not
 * filled. */
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

/* Returns a bit for each group with a count other than 0. */
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
    for (size_t i = 1; i < t->cells.count; i++) {
        const struct sass_cell *c = keyed_at(&t->cells, i);
        unsigned groups = groups_of(c);
        for (size_t k = 0; groups && k < SASS_METRICS; k++)
            if (t->ids[k] && (groups >> sass_metric_names[k].group & 1))
                fn(arg, c, k);
    }
    keyed_clear(&t->cells);
}
