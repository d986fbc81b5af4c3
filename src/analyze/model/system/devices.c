/* devices.c - finds device rows by UUID, and the unions of the work on each. */
#include "analyze/model/system/devices.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

void sum_devices_init(struct model *m)
{
    busy_init(&m->devices.compute);
    busy_init(&m->devices.any);
}

void sum_devices_fini(struct model *m)
{
    struct sum_devices *d = &m->devices;
    for (size_t i = 0; i < d->count; i++) {
        busy_fini(&d->items[i].compute);
        busy_fini(&d->items[i].any);
    }
    mem_free(d->items);
    busy_fini(&d->compute);
    busy_fini(&d->any);
    memset(d, 0, sizeof *d);
}

static int append(struct sum_devices *d, const struct device_row *row, uint32_t host, bool named)
{
    int rc = mem_grow(&d->items, &d->cap, d->count + 1, sizeof *d->items, DEVICES_MAX);
    if (rc)
        return rc;
    struct device_sum *s = &d->items[d->count++];
    *s = (struct device_sum){.row = *row, .host = host, .named = named};
    busy_init(&s->compute);
    busy_init(&s->any);
    return 0;
}

/* Makes item 0, the unknown device. */
static int ensure_unknown(struct sum_devices *d)
{
    struct device_row none = {0};
    return d->count ? 0 : append(d, &none, 0, false);
}

/* Finds or adds the device; 0, the unknown device, if there are too many. */
static int find(struct sum_devices *d, const struct device_row *row, uint32_t host, uint32_t *at)
{
    *at = 0;
    int rc = ensure_unknown(d);
    for (uint32_t i = 1; !rc && i < d->count; i++) {
        const struct device_sum *s = &d->items[i];
        bool same = row->uuid ? s->row.uuid == row->uuid
                              : !s->row.uuid && s->row.index == row->index && s->host == host;
        if (same) {
            *at = i;
            return 0;
        }
    }
    if (!rc && d->count < DEVICES_MAX && !(rc = append(d, row, host, true)))
        *at = (uint32_t)d->count - 1;
    return rc;
}

/* Reads a row. Name cells become ids of model.names, or 0 if unknown. */
static void read_row(const struct model *m, const struct wire_batch *b, size_t i, int64_t *row)
{
    for (unsigned c = 0; c < COL_device_COUNT; c++) {
        int64_t v = cells_get(b, c, i);
        row[c] = b->record->columns[c].ref == RECORD_name ? model_name_cell(m, v) : v;
    }
}

int sum_devices_expect(struct model *m, int64_t id, uint32_t *at)
{
    struct sum_devices *d = &m->devices;
    struct device_row none;
    *at = model_device_cell(m, id);
    int rc = ensure_unknown(d);
    if (rc || *at || id <= 0 || d->count == DEVICES_MAX)
        return rc;
    for (unsigned c = 0; c < COL_device_COUNT; c++)
        ((int64_t *)&none)[c] =
            records[RECORD_device].columns[c].ref == RECORD_name ? 0 : CELL_NULL;
    none.id = 0;
    rc = append(d, &none, 0, false);
    if (rc)
        return rc;
    *at = (uint32_t)d->count - 1;
    return model_ref_put(&m->refs.devices, &m->refs.device_count, &m->refs.device_cap, id, *at);
}

/* Completes the device that was expected under this id, or named without a UUID. A row without a
 * UUID means the device that has the id. */
static bool fulfil(struct model *m, int64_t id, const struct device_row *row)
{
    uint32_t at = model_device_cell(m, id);
    struct device_sum *s = at ? &m->devices.items[at] : NULL;
    if (!s || (s->row.uuid && row->uuid && s->row.uuid != row->uuid))
        return false;
    for (uint32_t i = 1; i < m->devices.count; i++)
        if (i != at && row->uuid && m->devices.items[i].row.uuid == row->uuid)
            return false;
    record_complete(RECORD_device, (int64_t *)&s->row, (const int64_t *)row);
    s->host = m->facts.host;
    s->named = true;
    return true;
}

static int take_devices(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct device_row row = {0};
        uint32_t at;
        read_row(m, b, i, (int64_t *)&row);
        int64_t id = row.id;
        row.id = 0;
        if (fulfil(m, id, &row))
            continue;
        rc = find(&m->devices, &row, m->facts.host, &at);
        if (!rc && at) /* a later description may have more or fewer facts */
            record_complete(RECORD_device, (int64_t *)&m->devices.items[at].row,
                            (const int64_t *)&row);
        if (!rc)
            rc =
                model_ref_put(&m->refs.devices, &m->refs.device_count, &m->refs.device_cap, id, at);
    }
    return rc;
}

/* Takes rows whose first columns are start and duration; `stream` is the column of the stream. */
static int take_activity(struct model *m, const struct wire_batch *b, unsigned stream, bool compute)
{
    int rc = ensure_unknown(&m->devices);
    const int64_t *start = b->col[0], *duration = b->col[1];
    int64_t end;
    if (rc || !start || !duration)
        return rc;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        struct device_sum *d = &m->devices.items[model_stream_device(m, cells_get(b, stream, i))];
        if (!cells_interval(start[i], duration[i], &end))
            continue;
        d->kernels += b->type == RECORD_kernel;
        rc = busy_add(&d->any, start[i], end);
        if (compute && !rc)
            rc = busy_add(&d->compute, start[i], end);
    }
    return rc;
}

int sum_devices_batch(struct model *m, const struct wire_batch *b)
{
    _Static_assert(COL_kernel_start == 0 && COL_memcpy_start == 0 && COL_memset_start == 0 &&
                       COL_kernel_duration == 1 && COL_memcpy_duration == 1 &&
                       COL_memset_duration == 1 && COL_graph_run_start == 0 &&
                       COL_graph_run_duration == 1,
                   "take_activity reads these columns by place");
    switch (b->type) {
    case RECORD_device:
        return take_devices(m, b);
    case RECORD_kernel:
        return take_activity(m, b, COL_kernel_stream, true);
    case RECORD_graph_run:
        return take_activity(m, b, COL_graph_run_stream, true);
    case RECORD_memcpy:
        return take_activity(m, b, COL_memcpy_stream, false);
    default:
        return take_activity(m, b, COL_memset_stream, false);
    }
}

int sum_devices_match(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_devices *d = &into->devices;
    const struct sum_devices *o = &from->devices;
    int rc = ensure_unknown(d);
    (void)shift;
    for (uint32_t i = 0; !rc && i < o->count; i++) {
        uint32_t at = 0;
        if (i)
            rc = find(d, &o->items[i].row, o->items[i].host, &at);
        if (at) { /* one session may have facts that another has not */
            record_complete(RECORD_device, (int64_t *)&d->items[at].row,
                            (const int64_t *)&o->items[i].row);
            d->items[at].named |= o->items[i].named;
        }
        d->merged[i] = at;
    }
    return rc;
}

int sum_devices_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_devices *d = &into->devices;
    const struct sum_devices *o = &from->devices;
    int rc = sum_devices_match(into, from, shift);
    for (uint32_t i = 0; !rc && i < o->count; i++) {
        const struct device_sum *s = &o->items[i];
        struct device_sum *to = &d->items[d->merged[i]];
        to->kernels += s->kernels;
        to->unknown |= s->unknown || (from->facts.sessions == 1 && s->named &&
                                      !sum_known_is(from, KNOWN_KERNELS));
        rc = busy_merge(&to->compute, &s->compute, shift);
        if (!rc)
            rc = busy_merge(&to->any, &s->any, shift);
    }
    return rc;
}

uint32_t sum_devices_resolve(const struct model *m, int64_t index)
{
    return index == 0 && m->devices.count == 2 ? 1 : (uint32_t)index;
}

/* Work without a device in the log belongs to the only device, if there is only one. */
static int give_to_only(struct model *m)
{
    struct device_sum *unknown = &m->devices.items[0], *only = &m->devices.items[1];
    if (sum_devices_resolve(m, 0) == 0)
        return 0;
    int rc = busy_settle(&unknown->compute);
    rc = rc ? rc : busy_settle(&unknown->any);
    rc = rc ? rc : busy_merge(&only->compute, &unknown->compute, 0);
    rc = rc ? rc : busy_merge(&only->any, &unknown->any, 0);
    only->kernels += unknown->kernels;
    unknown->kernels = 0;
    busy_fini(&unknown->compute);
    busy_fini(&unknown->any);
    return rc;
}

int sum_devices_finish(struct model *m)
{
    struct sum_devices *d = &m->devices;
    int rc = ensure_unknown(d);
    rc = rc ? rc : give_to_only(m);
    struct busy_result r;
    d->compute_ns = d->any_ns = d->computing = 0;
    for (size_t i = 0; !rc && i < d->count; i++) {
        struct device_sum *s = &d->items[i];
        rc = busy_settle(&s->compute);
        rc = rc ? rc : busy_settle(&s->any);
        rc = rc ? rc : busy_merge(&d->compute, &s->compute, 0);
        rc = rc ? rc : busy_merge(&d->any, &s->any, 0);
        busy_result(&s->any, &r);
        d->any_ns = cells_sum(d->any_ns, r.busy);
        busy_result(&s->compute, &r);
        d->compute_ns = cells_sum(d->compute_ns, r.busy);
        d->computing += r.busy > 0;
    }
    busy_result(&d->compute, &r);
    d->compute_union_ns = r.busy;
    busy_result(&d->any, &r);
    d->any_union_ns = r.busy;
    return rc;
}

bool sum_devices_known(const struct model *m, uint32_t device)
{
    const struct device_sum *d = &m->devices.items[device];
    if (d->kernels || d->compute.count)
        return true;
    return !d->unknown && (m->facts.sessions > 1 || sum_known_is(m, KNOWN_KERNELS));
}

static unsigned devices_that(const struct model *m, bool (*counts)(const struct device_sum *),
                             uint32_t *only)
{
    unsigned all = 0;
    for (uint32_t i = 0; i < m->devices.count; i++)
        if (counts(&m->devices.items[i])) {
            all++;
            *only = i;
        }
    if (all != 1)
        *only = 0;
    return all;
}

static bool worked(const struct device_sum *s)
{
    return s->any.count > 0;
}

static bool named_or_worked(const struct device_sum *s)
{
    return s->named || worked(s);
}

unsigned sum_devices_worked(const struct model *m, uint32_t *only)
{
    unsigned all = devices_that(m, worked, only);
    return all ? all : sum_devices_used(m, only);
}

unsigned sum_devices_used(const struct model *m, uint32_t *only)
{
    return devices_that(m, named_or_worked, only);
}
