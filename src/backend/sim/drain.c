/* drain.c - see drain.h.
 *
 * The sink computes occupancy and defines rows once per distinct launch configuration; because of
 * the cache here it is not called for most records. */
#include "backend/sim/drain.h"

#include "backend/sim/devices.h"

#include <string.h>

enum { MEMORY_PINNED = 2, MEMORY_DEVICE = 3 };

static uint32_t device_id(struct sim_drain *d, struct sink *s, int index)
{
    if (d->devices[index])
        return d->devices[index];
    struct device_row row;
    struct device_text text;
    sim_device_describe(index, &row, &text);
    row.name = s->ops->name(s, text.name);
    row.uuid = s->ops->name(s, text.uuid);
    row.vendor = s->ops->name(s, text.vendor);
    row.pci = s->ops->name(s, text.pci);
    row.arch = s->ops->name(s, text.arch);
    row.driver = s->ops->name(s, text.driver);
    return d->devices[index] = s->ops->device(s, &row);
}

void sim_drain_devices(struct sim_drain *d, struct sink *s, int n)
{
    for (int i = 0; i < n; i++)
        device_id(d, s, i);
}

static uint32_t stream_id(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    uint32_t *id = &d->streams[r->device][r->stream + 1];
    if (!*id)
        *id = s->ops->stream(s, device_id(d, s, r->device), SIM_CONTEXT,
                             r->stream < 0 ? CELL_NULL : (int64_t)SIM_STREAM_NUMBER(r->stream));
    return *id;
}

static uint32_t name_id(struct sim_drain *d, struct sink *s, unsigned kernel)
{
    if (!d->names[kernel])
        d->names[kernel] = s->ops->name(s, sim_kernels[kernel].name);
    return d->names[kernel];
}

static uint32_t config_ask(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    const struct sim_kernel_info *k = &sim_kernels[r->kernel];
    struct config_row c = {
        .name = name_id(d, s, r->kernel),
        .device = device_id(d, s, r->device),
        .grid_x = r->grid[0],
        .grid_y = r->grid[1],
        .grid_z = r->grid[2],
        .block_x = r->block[0],
        .block_y = r->block[1],
        .block_z = r->block[2],
        .registers = k->registers,
        .shared_static = k->shared_static,
        .shared_dynamic = r->shared,
        .shared_executed = CELL_NULL,
        .local_total = CELL_NULL,
        .cache_requested = CELL_NULL,
        .cache_executed = CELL_NULL,
    };
    return s->ops->config(s, &c);
}

static uint32_t config_id(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    uint64_t h = r->kernel + 64ull * r->device + ((uint64_t)r->grid[0] << 20) +
                 ((uint64_t)r->block[0] << 44) + 7919ull * r->shared + 131071ull * r->grid[1] +
                 524287ull * r->grid[2];
    struct sim_config_slot *c = &d->configs[(h * 0x9e3779b97f4a7c15ull) >> 54];
    if (c->id && c->kernel == r->kernel && c->device == r->device && c->shared == r->shared &&
        !memcmp(c->grid, r->grid, sizeof c->grid) && !memcmp(c->block, r->block, sizeof c->block))
        return c->id;
    c->id = config_ask(d, s, r);
    c->kernel = r->kernel;
    c->device = r->device;
    c->shared = r->shared;
    memcpy(c->grid, r->grid, sizeof c->grid);
    memcpy(c->block, r->block, sizeof c->block);
    return c->id;
}

static void drain_kernel(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    struct kernel_row row = {
        .start = r->start,
        .duration = r->duration,
        .config = config_id(d, s, r),
        .stream = stream_id(d, s, r),
        .correlation = r->correlation,
        .graph = r->graph,
        .graph_node = r->graph ? (int64_t)r->graph << 32 | r->node : 0,
        .external_kind = r->external_kind,
        .external_id = (int64_t)r->external_id,
    };
    s->ops->row(s, RECORD_kernel, &row);
}

static void drain_memcpy(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    bool from_host = r->kind == SIM_HTOD || r->kind == SIM_HTOH;
    bool to_host = r->kind == SIM_DTOH || r->kind == SIM_HTOH;
    struct memcpy_row row = {
        .start = r->start,
        .duration = r->duration,
        .bytes = r->bytes,
        .kind = r->kind,
        .src_memory = from_host ? MEMORY_PINNED : MEMORY_DEVICE,
        .dst_memory = to_host ? MEMORY_PINNED : MEMORY_DEVICE,
        .stream = stream_id(d, s, r),
        .correlation = r->correlation,
        .async = r->async,
        .peer = r->peer < 0 ? 0 : device_id(d, s, r->peer),
    };
    s->ops->row(s, RECORD_memcpy, &row);
}

static void drain_memset(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    struct memset_row row = {
        .start = r->start,
        .duration = r->duration,
        .bytes = r->bytes,
        .value = r->kind,
        .memory = MEMORY_DEVICE,
        .stream = stream_id(d, s, r),
        .correlation = r->correlation,
    };
    s->ops->row(s, RECORD_memset, &row);
}

static void drain_sync(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    struct sync_row row = {
        .start = r->start,
        .duration = r->duration,
        .kind = r->kind,
        .stream = stream_id(d, s, r),
        .event = r->bytes,
        .correlation = r->correlation,
        .thread = CELL_NULL, /* a thread id would make the same seed's sessions differ */
    };
    s->ops->row(s, RECORD_sync, &row);
}

static void drain_alloc(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    struct alloc_row row = {
        .time = r->start,
        .op = r->kind,
        .memory = MEMORY_DEVICE,
        .address = (int64_t)r->address,
        .bytes = r->bytes,
        .device = device_id(d, s, r->device),
        .correlation = r->correlation,
    };
    s->ops->row(s, RECORD_alloc, &row);
}

static void drain_overhead(struct sim_drain *d, struct sink *s, const struct sim_record *r)
{
    if (!d->flush_name)
        d->flush_name = s->ops->name(s, "buffer_flush");
    struct overhead_row row = {
        .start = r->start,
        .duration = r->duration,
        .kind = d->flush_name,
        .thread = CELL_NULL,
    };
    s->ops->row(s, RECORD_overhead, &row);
}

/* Lists the functions by enum record_type; NULL: nothing of that type is made here. */
static void (*const drains[RECORD_COUNT])(struct sim_drain *, struct sink *,
                                          const struct sim_record *) = {
    [RECORD_kernel] = drain_kernel, [RECORD_memcpy] = drain_memcpy,
    [RECORD_memset] = drain_memset, [RECORD_sync] = drain_sync,
    [RECORD_alloc] = drain_alloc,   [RECORD_overhead] = drain_overhead,
};

void sim_drain_records(struct sim_drain *d, struct sink *s, const struct sim_record *r, unsigned n,
                       bool floor)
{
    for (unsigned i = 0; i < n; i++) {
        if (r[i].fault == SIM_FAULT_UNKNOWN)
            s->ops->lost(s, LOSS_UNKNOWN_RECORD, 1);
        else if (r[i].start <= 0 || r[i].duration < 0)
            s->ops->lost(s, LOSS_TIME, 1);
        else if (d->no_kernels && r[i].type != RECORD_sync)
            continue;
        else if (!floor)
            drains[r[i].type](d, s, &r[i]);
        else if (r[i].type == RECORD_kernel)
            s->ops->lost(s, LOSS_FLOOR, 1);
    }
}
