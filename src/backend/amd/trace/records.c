/* records.c - see records.h. */
#include "backend/amd/trace/records.h"

#include "backend/amd/occupancy.h"
#include "backend/amd/trace/calls.h"
#include "backend/amd/trace/objects.h"
#include "backend/amd/trace/symbols.h"
#include "backend/amd/trace/tool.h"

#include <inttypes.h>
#include <string.h>

enum { FUNCTIONS_MOST = 1 << 20 };
enum { ROW_ALLOCATE = 1, ROW_FREE = 2, MEMORY_DEVICE = 3 };

/* Lists the values of memcpy_row.kind. */
enum { ROW_HTOD = 1, ROW_DTOH = 2, ROW_DTOD = 8, ROW_HTOH = 9, ROW_PTOP = 10 };

void rocm_records_open(struct rocm_records *r, struct sink *s, bool windows)
{
    keyed_fini(&r->functions);
    memset(r, 0, sizeof *r);
    keyed_init(&r->functions, sizeof(uint64_t), sizeof(uint64_t), FUNCTIONS_MOST);
    r->sink = s;
    r->windows = windows;
    record_times_open(&r->times, s, "rocprofiler-sdk", "rocprofiler.times");
}

uint64_t rocm_records_dispatches(const struct rocm_records *r)
{
    return atomic_load_explicit(&r->dispatches, memory_order_relaxed);
}

/* ---- common to all records ----------------------------------------------------------- */

/* This is true if the size of the record covers a field. */
#define HAS(record, field)                                                                         \
    ((record)->r.size >= offsetof(typeof(*(record)), field) + sizeof(record)->field)

uint32_t rocm_records_device(struct rocm_records *r, int index)
{
    if (index < 0)
        return 0;
    if (r->devices[index])
        return r->devices[index];
    const struct agent *a = agents_at(index);
    struct device_row row = a->row;
    struct sink *s = r->sink;
    row.name = s->ops->name(s, a->text.name);
    row.uuid = s->ops->name(s, a->text.uuid);
    row.vendor = s->ops->name(s, a->text.vendor);
    row.pci = s->ops->name(s, a->text.pci);
    row.arch = s->ops->name(s, a->text.arch);
    row.driver = s->ops->name(s, a->text.driver);
    return r->devices[index] = s->ops->device(s, &row);
}

/* A device has one context, which is number 0. */
static uint32_t stream_of(struct rocm_records *r, int agent, uint32_t number)
{
    return r->sink->ops->stream(r->sink, rocm_records_device(r, agent), 0,
                                number == WAIT_NO_STREAM ? CELL_NULL : (int64_t)number);
}

/* ---- kernels ------------------------------------------------------------------------- */

static int64_t blocks(uint32_t items, uint32_t workgroup)
{
    return workgroup ? ((int64_t)items + workgroup - 1) / workgroup : CELL_NULL;
}

static struct amd_kernel kernel_of(const struct agent *a, const struct symbol *s,
                                   const struct config_row *row, bool wgp)
{
    int target = (int)a->row.compute_minor;
    return (struct amd_kernel){
        .target = {(int)a->row.compute_major, target / 16, target % 16},
        .wave = a->wave32 ? 32 : 64,
        .wgp = wgp,
        .vgprs = s->arch_vgprs,
        .agprs = s->accum_vgprs,
        .sgprs = s->sgprs,
        .lds = row->shared_static + row->shared_dynamic,
        .workgroup = row->block_x * row->block_y * row->block_z,
    };
}

static int64_t cell_of(int64_t limit)
{
    return limit == AMD_NO_LIMIT ? CELL_NULL : limit;
}

static void no_occupancy(struct config_row *row)
{
    row->occ_blocks = row->occ_limit_warps = row->occ_limit_regs = row->occ_limit_shared =
        row->occ_limit_blocks = row->occ_warps = row->occ_max_warps = CELL_NULL;
}

/* On RDNA a kernel runs in WGP mode or not, as it was compiled. Occupancy is known if both modes
 * give the same share; the columns are those of a compute unit. */
const char *rocm_records_occupancy(const struct agent *a, const struct symbol *s,
                                   struct config_row *row)
{
    struct amd_occupancy o, other;
    no_occupancy(row);
    if (s->unknown)
        return NULL;
    struct amd_kernel k = kernel_of(a, s, row, false);
    if (!amd_occupancy(&k, &o))
        return NULL;
    k.wgp = a->row.compute_major >= 10;
    if (k.wgp &&
        (!amd_occupancy(&k, &other) || other.waves != 2 * o.waves || other.limiter != o.limiter))
        return NULL;
    bool scalar = o.limits[AMD_SGPRS] < o.limits[AMD_VGPRS];
    row->occ_blocks = o.groups;
    row->occ_limit_warps = o.limits[AMD_WAVEFRONTS];
    row->occ_limit_regs = o.limits[scalar ? AMD_SGPRS : AMD_VGPRS];
    row->occ_limit_shared = cell_of(o.limits[AMD_LDS]);
    row->occ_limit_blocks = cell_of(o.limits[AMD_WORKGROUPS]);
    row->occ_warps = o.waves;
    row->occ_max_warps = o.waves_most;
    return amd_limit_name(o.limiter);
}

static uint32_t config_of(struct rocm_records *r, const struct rocp_dispatch *d, int agent,
                          const struct symbol *s)
{
    int64_t fixed = s->group_bytes < d->group_bytes ? s->group_bytes : d->group_bytes;
    struct config_row row = {
        .name = r->sink->ops->name(r->sink, s->name),
        .device = rocm_records_device(r, agent),
        .grid_x = blocks(d->grid[0], d->workgroup[0]),
        .grid_y = blocks(d->grid[1], d->workgroup[1]),
        .grid_z = blocks(d->grid[2], d->workgroup[2]),
        .block_x = d->workgroup[0],
        .block_y = d->workgroup[1],
        .block_z = d->workgroup[2],
        .registers = s->unknown ? CELL_NULL : (int64_t)s->arch_vgprs + s->accum_vgprs,
        .shared_static = s->unknown ? CELL_NULL : fixed,
        .shared_dynamic = s->unknown ? CELL_NULL : d->group_bytes - fixed,
        .shared_executed = CELL_NULL,
        .local_per_thread = d->private_bytes,
        .local_total = CELL_NULL,
        .cache_requested = CELL_NULL,
        .cache_executed = CELL_NULL,
    };
    const char *limiter = NULL;
    if (agent >= 0)
        limiter = rocm_records_occupancy(agents_at(agent), s, &row);
    else
        no_occupancy(&row);
    row.occ_limiter = limiter ? r->sink->ops->name(r->sink, limiter) : 0;
    return r->sink->ops->config(r->sink, &row);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Writes a kernel of the runtime as the fill or copy that the program called. */
static void put_fill(struct rocm_records *r, const struct rocp_dispatch *d, int agent,
                     const struct kernel_row *k, const struct call_facts *f)
{
    (void)d;
    struct memset_row row = {.start = k->start,
                             .duration = k->duration,
                             .bytes = f->wait == WAIT_FILL ? f->bytes : CELL_NULL,
                             .value = CELL_NULL,
                             .memory = 0,
                             .stream = stream_of(r, agent, f->stream),
                             .correlation = k->correlation};
    r->sink->ops->row(r->sink, RECORD_memset, &row);
}

static int64_t kind_of_call(unsigned hip)
{
    static const uint8_t kinds[] = {ROW_HTOH, ROW_HTOD, ROW_DTOH, ROW_DTOD};
    return hip > 0 && hip < sizeof kinds ? kinds[hip] : 0;
}

static void put_copy(struct rocm_records *r, int agent, const struct kernel_row *k,
                     const struct call_facts *f)
{
    struct memcpy_row row = {.start = k->start,
                             .duration = k->duration,
                             .bytes = f->wait == WAIT_COPY ? f->bytes : CELL_NULL,
                             .kind = kind_of_call(f->copy),
                             .stream = stream_of(r, agent, f->stream),
                             .correlation = k->correlation,
                             .async = f->async};
    r->sink->ops->row(r->sink, RECORD_memcpy, &row);
}

static void find_symbol(struct rocm_records *r, uint64_t kernel, struct symbol *s)
{
    if (symbols_find(kernel, s) && s->name)
        return;
    *s = (struct symbol){.name = "(no name)", .unknown = true};
    if (!r->name_said)
        r->sink->ops->message(r->sink, SEVERITY_WARNING, "rocprofiler.no_name",
                              "rocprofiler-sdk recorded a kernel without reporting its name "
                              "(number %" PRIu64 "); its code was loaded before the tool was",
                              kernel);
    r->name_said = true;
}

/* Reports to the session, at the first kernel of a function, which code it is. */
static void define_function(struct rocm_records *r, uint64_t kernel, const struct symbol *s,
                            int agent)
{
    uint32_t index;
    bool added = false;
    if (agent < 0 || !s->code_object || keyed_put(&r->functions, &kernel, &index, &added) || !added)
        return;
    (void)objects_define(r->sink, s->code_object, agents_at(agent)->text.arch, s->name);
}

static void read_dispatch(struct rocm_records *r, const void *record, int64_t shift)
{
    const struct rocp_dispatch *d = record;
    struct kernel_row row = {.correlation = (uint32_t)d->internal};
    struct call_facts f;
    struct symbol s;
    if (!HAS(d, grid)) {
        r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
        return;
    }
    if (!calls_facts(d->internal, &f) && r->windows)
        return; /* its call began outside of windows */
    find_symbol(r, d->kernel, &s);
    bool fills = begins(s.name, "__amd_rocclr_fillBuffer");
    bool copies = begins(s.name, "__amd_rocclr_copy");
    if (f.graph ? f.counted && !fills && !copies : f.wait == WAIT_OTHER)
        atomic_fetch_add_explicit(&r->dispatches, 1, memory_order_relaxed);
    if (!record_times_read(&r->times, d->start, d->end, shift, &row.start, &row.duration))
        return;
    int agent = agents_index(d->agent);
    if (fills) {
        put_fill(r, d, agent, &row, &f);
        return;
    }
    if (copies) {
        put_copy(r, agent, &row, &f);
        return;
    }
    define_function(r, d->kernel, &s, agent);
    row.config = config_of(r, d, agent, &s);
    row.stream = stream_of(r, agent, f.stream);
    row.graph = f.graph;
    row.graph_node = f.graph ? (int64_t)d->dispatch : 0;
    r->sink->ops->row(r->sink, RECORD_kernel, &row);
}

/* ---- copies, allocations ------------------------------------------------------------- */

static void read_copy(struct rocm_records *r, const void *record, int64_t shift)
{
    static const uint8_t kinds[] = {0, ROW_HTOH, ROW_HTOD, ROW_DTOH, ROW_DTOD};
    const struct rocp_copy *c = record;
    struct memcpy_row row = {.correlation = (uint32_t)c->internal};
    struct call_facts f;
    if (!HAS(c, bytes)) {
        r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
        return;
    }
    if (!record_times_read(&r->times, c->start, c->end, shift, &row.start, &row.duration))
        return;
    (void)calls_facts(c->internal, &f);
    int to = agents_index(c->to), from = agents_index(c->from), on = to >= 0 ? to : from;
    row.kind = c->r.operation < sizeof kinds ? kinds[c->r.operation] : 0;
    if (to >= 0 && from >= 0 && to != from) {
        row.kind = ROW_PTOP;
        row.peer = rocm_records_device(r, from);
    }
    row.bytes = (int64_t)c->bytes;
    row.src_memory = from >= 0 ? MEMORY_DEVICE : 0;
    row.dst_memory = to >= 0 ? MEMORY_DEVICE : 0;
    row.stream = stream_of(r, on, f.stream);
    row.async = f.async;
    r->sink->ops->row(r->sink, RECORD_memcpy, &row);
}

static void read_allocation(struct rocm_records *r, const void *record, int64_t shift)
{
    const struct rocp_record *head = record;
    size_t at = rocp_new_form(tool_sdk()) ? ROCP_ALLOCATION_NEW : ROCP_ALLOCATION_OLD;
    struct rocp_allocation a;
    struct alloc_row row = {0};
    int64_t duration;
    if (head->size < at + sizeof a) {
        r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
        return;
    }
    memcpy(&a, (const char *)record + at, sizeof a);
    uint64_t internal;
    memcpy(&internal, (const char *)record + sizeof *head, sizeof internal);
    if (!record_times_read(&r->times, a.start, a.end, shift, &row.time, &duration))
        return;
    bool frees = head->operation == ROCP_FREE || head->operation == ROCP_FREE_VMEM;
    int agent = agents_index(a.agent);
    row.op = frees ? ROW_FREE : ROW_ALLOCATE;
    row.memory = agent >= 0 ? MEMORY_DEVICE : 0;
    row.address = (int64_t)a.address;
    row.bytes = frees && !a.bytes ? CELL_NULL : (int64_t)a.bytes;
    row.device = rocm_records_device(r, agent);
    row.correlation = (uint32_t)internal;
    r->sink->ops->row(r->sink, RECORD_alloc, &row);
}

void rocm_records_read(struct rocm_records *r, uint32_t kind, const void *record, int64_t shift)
{
    static void (*const readers[])(struct rocm_records *, const void *, int64_t) = {
        [ROCP_KERNEL_DISPATCH] = read_dispatch,
        [ROCP_MEMORY_COPY] = read_copy,
        [ROCP_MEMORY_ALLOCATION] = read_allocation,
    };
    enum rocp_kind known = rocp_buffer_kind(tool_sdk(), kind);
    record_times_now(&r->times);
    if (known < ROCP_BUFFER_KIND_COUNT)
        readers[known](r, record, shift);
    else
        r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
}
