/* tally.c - see pc/tally.h. */
#include "backend/nvidia/engine/pc/tally.h"

#include <string.h>

enum { NAME_IDLE = 11 /* of "_not_issued" */, KEY_BYTES = offsetof(struct pc_cell, window) + 4 };

void pc_tally_init(struct pc_tally *t)
{
    memset(t, 0, sizeof *t);
}

void pc_tally_clear(struct pc_tally *t)
{
    functions_fini(&t->functions);
    keyed_fini(&t->cells);
    t->totals = (struct pc_totals){0};
    t->relation = PC_RELATION_UNKNOWN;
    t->more_idle = false;
    t->window = 0;
    t->lost = 0;
}

void pc_tally_fini(struct pc_tally *t)
{
    pc_tally_clear(t);
    t->reason_count = 0;
}

/* ---- reasons ----------------------------------------------------------------------------- */

/* Returns the length of a name without "_not_issued" at its end. */
static size_t stem(const char *name, bool *idle)
{
    size_t len = strlen(name);
    *idle = len > NAME_IDLE && memcmp(name + len - NAME_IDLE, "_not_issued", NAME_IDLE) == 0;
    return *idle ? len - NAME_IDLE : len;
}

static int find_twin(const struct pc_tally *t, size_t at)
{
    const struct pc_reason_name *r = &t->reasons[at];
    bool idle;
    size_t len = stem(r->name, &idle);
    for (size_t i = 0; i < t->reason_count; i++) {
        size_t other = stem(t->reasons[i].name, &idle);
        if (idle != r->idle && other == len && memcmp(t->reasons[i].name, r->name, len) == 0)
            return (int)i;
    }
    return -1;
}

void pc_tally_reasons(struct pc_tally *t, const uint32_t *indices, size_t count)
{
    t->reason_count = count < PC_REASONS ? count : PC_REASONS;
    for (size_t i = 0; i < t->reason_count; i++) {
        struct pc_reason_name *r = &t->reasons[i];
        r->name[PC_REASON_NAME - 1] = '\0';
        r->index = indices[i];
        stem(r->name, &r->idle);
    }
    for (size_t i = 0; i < t->reason_count; i++)
        t->reasons[i].twin = find_twin(t, i);
}

/* Returns the index of the reason with the library's number; reason_count: there is none. */
static size_t reason_at(const struct pc_tally *t, uint32_t index)
{
    if (index < t->reason_count && t->reasons[index].index == index) /* mostly */
        return index;
    size_t i = 0;
    while (i < t->reason_count && t->reasons[i].index != index)
        i++;
    return i;
}

/* ---- cells ------------------------------------------------------------------------------- */

static void add_cell(struct pc_tally *t, uint32_t function, size_t reason, uint64_t offset,
                     uint32_t samples)
{
    struct pc_cell key = {
        .offset = offset, .function = function, .reason = (uint32_t)reason, .window = t->window};
    uint32_t at = 0;
    if (!t->cells.item_size)
        keyed_init(&t->cells, sizeof key, KEY_BYTES, PC_TALLY_MAX + 1);
    if (function == UINT32_MAX || keyed_put(&t->cells, &key, &at, NULL) || !at)
        t->lost += samples;
    else
        ((struct pc_cell *)keyed_at(&t->cells, at))->samples += samples;
}

/* Returns the samples of the reason's twin with "_not_issued", in place of the cell. */
static uint64_t idle_samples(const struct pc_tally *t, const struct pc_cell *c, int twin)
{
    struct pc_cell key = *c;
    key.reason = (uint32_t)twin;
    uint32_t at = keyed_find(&t->cells, &key);
    return at ? ((const struct pc_cell *)keyed_at(&t->cells, at))->samples : 0;
}

static uint32_t samples_of(const struct pc_record *r, uint32_t index)
{
    for (size_t i = 0; i < r->reason_count; i++)
        if (r->reasons[i].index == index)
            return r->reasons[i].samples;
    return 0;
}

static void add_record(struct pc_tally *t, const struct pc_record *r)
{
    uint32_t function = UINT32_MAX;
    for (size_t i = 0; i < r->reason_count; i++) {
        uint32_t n = r->reasons[i].samples;
        size_t reason = reason_at(t, r->reasons[i].index);
        if (!n || reason == t->reason_count)
            continue;
        const struct pc_reason_name *name = &t->reasons[reason];
        if (function == UINT32_MAX)
            function = functions_put(&t->functions, r->crc, r->function, r->name);
        if (name->idle)
            t->totals.idle += n;
        else
            t->totals.reasons += n;
        if (name->idle && name->twin >= 0 && n > samples_of(r, t->reasons[name->twin].index))
            t->more_idle = true;
        add_cell(t, function, reason, r->offset, n);
    }
}

void pc_tally_add(struct pc_tally *t, const struct pc_data *d)
{
    size_t count = d->count < d->room ? d->count : d->room;
    for (size_t i = 0; i < count; i++)
        add_record(t, &d->records[i]);
    t->totals.total += d->total;
    t->totals.dropped += d->dropped;
    t->totals.other += d->other;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

void pc_tally_settle(struct pc_tally *t)
{
    const struct pc_totals *n = &t->totals;
    uint64_t aside = n->dropped + n->other, all = n->total > aside ? n->total - aside : 0;
    if (t->more_idle)
        t->relation = PC_RELATION_APART;
    else if (t->relation == PC_RELATION_UNKNOWN && n->idle)
        t->relation = all && distance(all, n->reasons + n->idle) < distance(all, n->reasons)
                          ? PC_RELATION_APART
                          : PC_RELATION_WITHIN;
}

void pc_tally_take(struct pc_tally *t,
                   void (*fn)(void *arg, const struct pc_cell *c, uint64_t samples), void *arg)
{
    bool within = t->relation == PC_RELATION_WITHIN;
    for (size_t i = 1; i < t->cells.count; i++) {
        const struct pc_cell *c = keyed_at(&t->cells, i);
        const struct pc_reason_name *r = &t->reasons[c->reason];
        uint64_t n = c->samples, idle = 0;
        if (within && !r->idle && r->twin >= 0)
            idle = idle_samples(t, c, r->twin);
        n -= idle < n ? idle : n;
        if (n)
            fn(arg, c, n);
    }
    keyed_clear(&t->cells);
}
