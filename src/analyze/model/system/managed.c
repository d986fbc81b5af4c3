/* managed.c - see managed.h. */
#include "analyze/model/system/managed.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"

#include <string.h>

static const struct {
    const char *key, *name;
} kinds[MANAGED_KINDS] = {
    {"unknown", "of unknown kind"},
    {"to_device", "migrated to devices"},
    {"to_host", "migrated to the host"},
    {"host_faults", "page faults of the host"},
    {"device_faults", "page faults of devices"},
    {"thrashing", "thrashing"},
    {"throttling", "throttled"},
    {"mapped", "mapped where it was"},
    {"between_devices", "migrated between devices"},
};

void sum_managed_init(struct model *m)
{
    (void)m;
}

void sum_managed_fini(struct model *m)
{
    memset(&m->managed, 0, sizeof m->managed);
}

static void add(struct managed_sum *at, const struct managed_sum *more)
{
    at->count += more->count;
    at->bytes = cells_sum(at->bytes, more->bytes);
    at->faults = cells_sum(at->faults, more->faults);
    at->time = cells_sum(at->time, more->time);
}

int sum_managed_batch(struct model *m, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t kind = cells_or(b, COL_managed_kind, i, 0), end;
        int64_t bytes = cells_or(b, COL_managed_bytes, i, 0),
                faults = cells_or(b, COL_managed_faults, i, 0),
                time = cells_or(b, COL_managed_duration, i, 0);
        if (kind < 0 || kind >= MANAGED_KINDS)
            kind = 0;
        add(&m->managed.kinds[kind],
            &(struct managed_sum){1, bytes < 0 ? 0 : bytes, faults < 0 ? 0 : faults,
                                  cells_interval(0, time, &end) ? time : 0});
        m->managed.rows++;
    }
    return 0;
}

int sum_managed_merge(struct model *into, const struct model *from, int64_t shift)
{
    (void)shift;
    for (int i = 0; i < MANAGED_KINDS; i++)
        add(&into->managed.kinds[i], &from->managed.kinds[i]);
    into->managed.rows += from->managed.rows;
    return 0;
}

int sum_managed_finish(struct model *m)
{
    (void)m;
    return 0;
}

const char *sum_managed_kind(int kind)
{
    return kinds[kind >= 0 && kind < MANAGED_KINDS ? kind : 0].name;
}

const char *sum_managed_key(int kind)
{
    return kinds[kind >= 0 && kind < MANAGED_KINDS ? kind : 0].key;
}
