/* tally.c - see pc/tally.h: a table with open addressing, doubled at half full. */
#include "backend/nvidia/engine/pc/tally.h"

#include "base/alloc.h"

#include <string.h>

enum { SLOTS_FIRST = 1024, NAME_IDLE = 11 /* of "_not_issued" */ };

void pc_tally_init(struct pc_tally *t)
{
    memset(t, 0, sizeof *t);
}

void pc_tally_clear(struct pc_tally *t)
{
    functions_fini(&t->functions);
    mem_free(t->cells);
    t->cells = NULL;
    t->cell_count = t->cell_slots = 0;
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

/* Length of a name without its _not_issued. */
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

void pc_tally_reasons(struct pc_tally *t, const uint32_t *indices, char *const *names, size_t count)
{
    t->reason_count = count < PC_REASONS ? count : PC_REASONS;
    for (size_t i = 0; i < t->reason_count; i++) {
        struct pc_reason_name *r = &t->reasons[i];
        size_t len = strnlen(names[i], PC_REASON_NAME - 1);
        memcpy(r->name, names[i], len);
        r->name[len] = '\0';
        r->index = indices[i];
        stem(r->name, &r->idle);
    }
    for (size_t i = 0; i < t->reason_count; i++)
        t->reasons[i].twin = find_twin(t, i);
}

/* Place of the library's number; reason_count: it has none. */
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

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static struct pc_cell *cell_slot(const struct pc_tally *t, uint32_t function, uint32_t reason,
                                 uint64_t offset, uint32_t window)
{
    size_t mask = t->cell_slots - 1;
    size_t at = (size_t)mix((offset << 7 ^ reason) * 0x2545F4914F6CDD1Du + function +
                            ((uint64_t)window << 32)) &
                mask;
    for (;; at = (at + 1) & mask) {
        struct pc_cell *c = &t->cells[at];
        if (!c->samples || (c->function == function && c->reason == reason && c->offset == offset &&
                            c->window == window))
            return c;
    }
}

static bool grow_cells(struct pc_tally *t)
{
    size_t before = t->cell_slots, slots = before ? before * 2 : SLOTS_FIRST;
    struct pc_cell *old = t->cells;
    struct pc_cell *more = t->cell_count < PC_TALLY_MAX ? mem_array(slots, sizeof *more) : NULL;
    if (!more)
        return false;
    t->cells = more;
    t->cell_slots = slots;
    for (size_t i = 0; i < before; i++)
        if (old[i].samples)
            *cell_slot(t, old[i].function, old[i].reason, old[i].offset, old[i].window) = old[i];
    mem_free(old);
    return true;
}

static void add_cell(struct pc_tally *t, uint32_t function, size_t reason, uint64_t offset,
                     uint32_t samples)
{
    if (function == UINT32_MAX || (t->cell_count * 2 >= t->cell_slots && !grow_cells(t))) {
        t->lost += samples;
        return;
    }
    struct pc_cell *c = cell_slot(t, function, (uint32_t)reason, offset, t->window);
    if (!c->samples) {
        *c = (struct pc_cell){.function = function,
                              .reason = (uint32_t)reason,
                              .offset = offset,
                              .window = t->window};
        t->cell_count++;
    }
    c->samples += samples;
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
    for (size_t i = 0; i < t->cell_slots; i++) {
        const struct pc_cell *c = &t->cells[i];
        const struct pc_reason_name *r = &t->reasons[c->reason];
        if (!c->samples)
            continue;
        uint64_t n = c->samples, idle = 0;
        if (within && !r->idle && r->twin >= 0)
            idle = cell_slot(t, c->function, (uint32_t)r->twin, c->offset, c->window)->samples;
        n -= idle < n ? idle : n;
        if (n)
            fn(arg, c, n);
    }
    if (t->cells)
        memset(t->cells, 0, t->cell_slots * sizeof *t->cells);
    t->cell_count = 0;
}
