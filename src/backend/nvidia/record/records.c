/* records.c - see records.h. */
#include "backend/nvidia/record/records.h"

#include "backend/common/external.h"
#include "backend/common/record_times.h"
#include "backend/nvidia/devices.h"
#include "backend/nvidia/engine/range/kernels.h"
#include "backend/nvidia/engine/range/own_kernels.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/graph_cuts.h"
#include "backend/nvidia/record/local_memory.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum {
    DEVICES = 64,
    STREAMS = 256,
    CONFIGS = 4096,
};

/* Holds the values of a record that distinguish launch configurations. */
struct config_key {
    uint32_t name;     /* id; 0: slot is free */
    uint32_t device;   /* id */
    int32_t launch[8]; /* grid, block, static and dynamic shared memory */
    uint32_t cluster[3];
    uint32_t local_per_thread, shared_executed;
    uint16_t registers;
    uint8_t cache, padding;
    uint64_t local_total;
};

struct config_slot {
    struct config_key key;
    uint32_t id;
};

struct stream_slot {
    uint32_t context, number;
    uint32_t device; /* id; 0 with id 0: slot is free */
    uint32_t id;
};

struct records {
    const struct cupti *cupti;
    struct sink *sink;
    int64_t time_offset; /* ns added to every time */
    uint32_t ids_before; /* added to every correlation id */
    struct record_times times;
    int64_t began;             /* ns: when the session did */
    bool old;                  /* records from before that are skipped */
    uint32_t devices[DEVICES]; /* id by the library's number; 0: not needed yet */
    struct stream_slot streams[STREAMS];
    struct config_slot *configs; /* owned; CONFIGS entries */
    struct external *external;   /* owned; NULL until an operation id was seen */
    bool external_seen;
    uint64_t calls;                         /* records of API calls */
    bool ranges;                            /* the profiler may launch kernels of its own */
    uint64_t own;                           /* records of these kernels */
    kind_reader *readers[CUPTI_KIND_LIMIT]; /* by kind; NULL: unknown to us */
};

static void find_readers(struct records *r);

int records_open(struct records **out, const struct cupti *c, struct sink *s, int64_t time_offset)
{
    *out = NULL;
    struct records *r = mem_zalloc(sizeof *r);
    if (!r)
        return GPUFL_E_NOMEM;
    r->cupti = c;
    r->sink = s;
    find_readers(r);
    r->time_offset = time_offset;
    r->began = clock_mono();
    record_times_open(&r->times, s, "CUPTI", "cupti.times");
    r->configs = mem_array(CONFIGS, sizeof *r->configs);
    if (!r->configs) {
        records_close(r);
        return GPUFL_E_NOMEM;
    }
    *out = r;
    return 0;
}

void records_ranges(struct records *r)
{
    r->ranges = true;
}

uint64_t records_own(const struct records *r)
{
    return r->own;
}

void records_shift(struct records *r, int64_t time_offset, uint32_t ids_before)
{
    r->time_offset = time_offset;
    if (r->ids_before == ids_before)
        return;
    r->ids_before = ids_before;
    external_close(r->external); /* its ids are those of an earlier session */
    r->external = NULL;
}

void records_close(struct records *r)
{
    if (!r)
        return;
    external_close(r->external);
    mem_free(r->configs);
    mem_free(r);
}

bool records_want_prescan(const struct records *r)
{
    return r->external_seen;
}

/* ---- common to all records ------------------------------------------------------------- */

static uint32_t id_of(const struct records *r, uint32_t correlation)
{
    return r->ids_before + correlation;
}

static uint32_t mix(uint32_t h, uint32_t v)
{
    return (h ^ v) * 0x9E3779B1u;
}

static uint32_t device_ask(struct records *r, uint32_t number)
{
    struct device_row row;
    struct device_text text;
    nvidia_device_describe((int)number, &row, &text);
    struct sink *s = r->sink;
    row.name = s->ops->name(s, text.name);
    row.uuid = s->ops->name(s, text.uuid);
    row.vendor = s->ops->name(s, text.vendor);
    row.pci = s->ops->name(s, text.pci);
    row.arch = s->ops->name(s, text.arch);
    row.driver = s->ops->name(s, text.driver);
    return s->ops->device(s, &row);
}

/* Returns the id of a device by the library's number, which is the program's ordinal. */
static uint32_t device_id(struct records *r, uint32_t number)
{
    if (number >= DEVICES)
        return 0;
    if (!r->devices[number])
        r->devices[number] = device_ask(r, number);
    return r->devices[number];
}

uint32_t records_device(struct records *r, uint32_t number)
{
    return device_id(r, number);
}

/* Returns a context's or stream's number, or null. */
static int64_t known(uint32_t number)
{
    return number == CUPTI_NONE ? CELL_NULL : (int64_t)number;
}

static uint32_t stream_id(struct records *r, uint32_t device, uint32_t context, uint32_t number)
{
    uint32_t hash = mix(mix(mix(0, device), context), number) >> 16;
    struct stream_slot *s = &r->streams[hash % STREAMS];
    if (s->id && s->device == device && s->context == context && s->number == number)
        return s->id;
    *s = (struct stream_slot){.context = context, .number = number, .device = device};
    s->id = r->sink->ops->stream(r->sink, device, known(context), known(number));
    return s->id;
}

/* This is true if the library fills a record of this kind up to and including a member. */
#define FILLS(r, KIND, type, member)                                                               \
    ((r)->cupti->filled[CUPTI_KIND_##KIND] >=                                                      \
     offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* Converts both times to our clock. False: the record is not used. */
static bool times(struct records *r, uint64_t start, uint64_t end, int64_t *at, int64_t *duration)
{
    if (r->old && (int64_t)(start + (uint64_t)r->time_offset) < r->began)
        return false; /* the ledger of the earlier session counts the record as lost */
    return record_times_read(&r->times, start, end, r->time_offset, at, duration);
}

/* ---- kernels --------------------------------------------------------------------------- */

static void config_key(struct records *r, const struct cupti_kernel *k, struct config_key *key)
{
    memset(key, 0, sizeof *key);
    key->name = r->sink->ops->name(r->sink, k->name ? k->name : "(no name)");
    key->device = device_id(r, k->device);
    memcpy(key->launch, k->grid, sizeof key->launch);
    if (FILLS(r, KERNEL, cupti_kernel, cluster))
        memcpy(key->cluster, k->cluster, sizeof key->cluster);
    key->local_per_thread = k->local_per_thread;
    key->local_total =
        FILLS(r, KERNEL, cupti_kernel, local_total64) ? k->local_total64 : k->local_total;
    key->shared_executed = k->shared_executed;
    key->registers = k->registers;
    key->cache = k->cache;
}

/* Returns the local memory per thread: if it is 0 in the record, the launch has found it. */
static int64_t local_per_thread(const struct cupti_kernel *k)
{
    return k->local_per_thread || !k->name ? (int64_t)k->local_per_thread
                                           : local_memory_find(k->name);
}

static uint32_t config_ask(struct records *r, const struct config_key *k, int64_t local)
{
    struct config_row row = {
        .name = k->name,
        .device = k->device,
        .grid_x = k->launch[0],
        .grid_y = k->launch[1],
        .grid_z = k->launch[2],
        .block_x = k->launch[3],
        .block_y = k->launch[4],
        .block_z = k->launch[5],
        .cluster_x = k->cluster[0],
        .cluster_y = k->cluster[1],
        .cluster_z = k->cluster[2],
        .registers = k->registers,
        .shared_static = k->launch[6],
        .shared_dynamic = k->launch[7],
        .shared_executed = k->shared_executed,
        .local_per_thread = local,
        .local_total = (int64_t)k->local_total,
        .cache_requested = k->cache & 15,
        .cache_executed = k->cache >> 4,
    };
    return r->sink->ops->config(r->sink, &row);
}

_Static_assert(offsetof(struct cupti_kernel, local_per_thread) ==
                   offsetof(struct cupti_kernel, grid) + sizeof((struct config_key *)0)->launch,
               "grid, block and shared memory are neighbours");

static uint32_t config_id(struct records *r, const struct cupti_kernel *k)
{
    struct config_key key;
    config_key(r, k, &key);
    uint32_t hash = mix(mix(0, key.name), key.device);
    for (int i = 0; i < 8; i++)
        hash = mix(hash, (uint32_t)key.launch[i]);
    struct config_slot *s = &r->configs[(hash >> 16) % CONFIGS];
    if (memcmp(&s->key, &key, sizeof key) != 0) {
        s->id = config_ask(r, &key, local_per_thread(k));
        s->key = key;
    }
    return s->id;
}

static void read_kernel(struct records *r, const struct cupti_record *record)
{
    const struct cupti_kernel *k = (const void *)record;
    struct kernel_row row = {.correlation = id_of(r, k->correlation)};
    int32_t kind;
    uint64_t id;
    bool node = FILLS(r, KERNEL, cupti_kernel, graph) && k->graph_node;
    if (r->ranges && !node && own_kernels_is(k->name, (uint32_t)row.correlation)) {
        r->own++;
        return;
    }
    /* the record of a kernel that was repeated has no duration */
    if (!(r->ranges && k->end <= k->start &&
          range_kernels_times((uint32_t)row.correlation, &row.start, &row.duration)) &&
        !times(r, k->start, k->end, &row.start, &row.duration))
        return;
    row.config = config_id(r, k);
    row.stream = stream_id(r, device_id(r, k->device), k->context, k->stream);
    if (node) {
        row.duration = graph_cuts_duration(row.start, row.duration);
        row.graph = k->graph;
        row.graph_node = (int64_t)k->graph_node;
    }
    if (r->external && external_find(r->external, k->correlation, &kind, &id)) {
        row.external_kind = kind;
        row.external_id = (int64_t)id;
    }
    r->sink->ops->row(r->sink, RECORD_kernel, &row);
}

static void read_graph_run(struct records *r, const struct cupti_record *record)
{
    const struct cupti_graph_run *g = (const void *)record;
    struct graph_run_row row = {.graph = g->graph, .correlation = id_of(r, g->correlation)};
    if (!times(r, g->start, g->end, &row.start, &row.duration))
        return;
    row.duration = graph_cuts_duration(row.start, row.duration);
    row.stream = stream_id(r, device_id(r, g->device), g->context, g->stream);
    r->sink->ops->row(r->sink, RECORD_graph_run, &row);
}

/* ---- copies and fills ------------------------------------------------------------------ */

_Static_assert(offsetof(struct cupti_memcpy, bytes) == offsetof(struct cupti_peer, bytes) &&
                   offsetof(struct cupti_memcpy, stream) == offsetof(struct cupti_peer, stream),
               "both kinds of copies begin alike");

/* Reads the members with which both kinds of copies begin, up to the stream. False: they are
 * invalid.
 */
static bool copy_begin(struct records *r, const struct cupti_memcpy *m, struct memcpy_row *row)
{
    *row = (struct memcpy_row){
        .bytes = (int64_t)m->bytes,
        .kind = m->copy_kind,
        .src_memory = m->src,
        .dst_memory = m->dst,
        .async = m->flags & CUPTI_ASYNC,
    };
    if (!times(r, m->start, m->end, &row->start, &row->duration))
        return false;
    row->stream = stream_id(r, device_id(r, m->device), m->context, m->stream);
    return true;
}

static void read_memcpy(struct records *r, const struct cupti_record *record)
{
    const struct cupti_memcpy *m = (const void *)record;
    struct memcpy_row row;
    if (!copy_begin(r, m, &row))
        return;
    row.correlation = id_of(r, m->correlation);
    if (FILLS(r, MEMCPY, cupti_memcpy, graph_node))
        row.graph_node = (int64_t)m->graph_node;
    if (row.graph_node)
        row.duration = graph_cuts_duration(row.start, row.duration);
    r->sink->ops->row(r->sink, RECORD_memcpy, &row);
}

static void read_peer(struct records *r, const struct cupti_record *record)
{
    const struct cupti_peer *m = (const void *)record;
    struct memcpy_row row;
    if (!copy_begin(r, (const void *)record, &row))
        return;
    row.correlation = id_of(r, m->correlation);
    row.peer = device_id(r, m->src_device == m->device ? m->dst_device : m->src_device);
    if (FILLS(r, PEER, cupti_peer, graph_node))
        row.graph_node = (int64_t)m->graph_node;
    if (row.graph_node)
        row.duration = graph_cuts_duration(row.start, row.duration);
    r->sink->ops->row(r->sink, RECORD_memcpy, &row);
}

static void read_memset(struct records *r, const struct cupti_record *record)
{
    const struct cupti_memset *m = (const void *)record;
    struct memset_row row = {
        .bytes = (int64_t)m->bytes,
        .value = m->value,
        .memory = m->memory,
        .correlation = id_of(r, m->correlation),
    };
    if (!times(r, m->start, m->end, &row.start, &row.duration))
        return;
    row.stream = stream_id(r, device_id(r, m->device), m->context, m->stream);
    if (FILLS(r, MEMSET, cupti_memset, graph_node))
        row.graph_node = (int64_t)m->graph_node;
    if (row.graph_node)
        row.duration = graph_cuts_duration(row.start, row.duration);
    r->sink->ops->row(r->sink, RECORD_memset, &row);
}

/* ---- host side ------------------------------------------------------------------------- */

static const struct {
    int32_t kind;
    const char *name;
} overheads[] = {
#define OVERHEAD_ROW(value, name, theirs) {value, #name},
    CUPTI_OVERHEADS(OVERHEAD_ROW)
#undef OVERHEAD_ROW
};

static void read_overhead(struct records *r, const struct cupti_record *record)
{
    const struct cupti_overhead *o = (const void *)record;
    const char *name = "other";
    struct overhead_row row = {.thread = o->object == CUPTI_OBJECT_THREAD ? (int64_t)o->thread
                                                                          : CELL_NULL};
    if (!times(r, o->start, o->end, &row.start, &row.duration))
        return;
    for (size_t i = 0; i < sizeof overheads / sizeof *overheads; i++)
        if (overheads[i].kind == o->overhead)
            name = overheads[i].name;
    row.kind = r->sink->ops->name(r->sink, name);
    r->sink->ops->row(r->sink, RECORD_overhead, &row);
}

static void read_memory(struct records *r, const struct cupti_record *record)
{
    const struct cupti_memory *m = (const void *)record;
    struct alloc_row row = {
        .op = m->operation,
        .memory = m->memory,
        .address = (int64_t)m->address,
        .bytes = (int64_t)m->bytes,
        .device = device_id(r, m->device),
        .correlation = id_of(r, m->correlation),
    };
    int64_t none;
    if (!times(r, m->time, m->time, &row.time, &none))
        return;
    if (m->stream != CUPTI_NONE && m->context != CUPTI_NONE)
        row.stream = stream_id(r, (uint32_t)row.device, m->context, m->stream);
    r->sink->ops->row(r->sink, RECORD_alloc, &row);
}

/* Some events have no end. The address of host code that faulted is not kept. */
static void read_managed(struct records *r, const struct cupti_record *record)
{
    const struct cupti_managed *u = (const void *)record;
    bool to_device = u->what == CUPTI_MANAGED_TO_DEVICE ||
                     u->what == CUPTI_MANAGED_BETWEEN_DEVICES || u->what == CUPTI_MANAGED_MAPPED;
    bool fault = u->what == CUPTI_MANAGED_HOST_FAULT || u->what == CUPTI_MANAGED_DEVICE_FAULT;
    bool moment = u->what == CUPTI_MANAGED_HOST_FAULT || u->what == CUPTI_MANAGED_THRASHING ||
                  u->what == CUPTI_MANAGED_MAPPED;
    bool device = u->what != CUPTI_MANAGED_HOST_FAULT && u->what != CUPTI_MANAGED_THRASHING;
    struct managed_row row = {
        .kind = u->what,
        .bytes = fault || u->what == CUPTI_MANAGED_THROTTLING ? CELL_NULL : (int64_t)u->value,
        .faults = !fault                                  ? CELL_NULL
                  : u->what == CUPTI_MANAGED_DEVICE_FAULT ? (int64_t)u->value
                                                          : 1,
        .address = (int64_t)u->address,
        .cause = u->flags,
    };
    if (!times(r, u->start, moment ? u->start : u->end, &row.start, &row.duration))
        return;
    if (moment)
        row.duration = CELL_NULL;
    if (device)
        row.device = device_id(r, to_device ? u->to : u->from);
    if (u->what == CUPTI_MANAGED_BETWEEN_DEVICES)
        row.peer = device_id(r, u->from);
    r->sink->ops->row(r->sink, RECORD_managed, &row);
}

uint64_t records_calls(const struct records *r, bool *ids)
{
    *ids = r->external_seen;
    return r->calls;
}

/* Records of calls are enabled only for the operation ids, which come before them. */
static void read_call(struct records *r, const struct cupti_record *record)
{
    (void)record;
    r->calls++;
}

static void read_external(struct records *r, const struct cupti_record *record)
{
    const struct cupti_external *x = (const void *)record;
    r->external_seen = true;
    if (!r->external)
        r->external = external_open();
    if (r->external)
        external_put(r->external, x->correlation, x->external_kind, x->external_id);
}

/* ---- buffers --------------------------------------------------------------------------- */

const struct kind_row kind_rows[] = {
    {CUPTI_KIND_OVERHEAD, "overhead", 0, false, read_overhead},
    {CUPTI_KIND_MEMCPY, "copies", 0, false, read_memcpy},
    {CUPTI_KIND_MEMSET, NULL, 0, false, read_memset},
    /* Off by default: with both kinds of copies enabled and repeated flushes, CUPTI 13.0 makes
     * graphs that contain copies fault (ADR 16). */
    {CUPTI_KIND_PEER, "peer_copies", offsetof(struct trace_config, peer_copies), false, read_peer},
    /* The calls' callbacks report these, in waits.c: the kind is never enabled. */
    {CUPTI_KIND_SYNC, "synchronizations", offsetof(struct trace_config, synchronization), false,
     NULL},
    {CUPTI_KIND_EXTERNAL, "external_correlation",
     offsetof(struct trace_config, external_correlation), false, read_external},
    /* Operation ids come only before records of the calls around which they are pushed: those of
     * launches, or of all calls. */
    {CUPTI_KIND_DRIVER, NULL, offsetof(struct trace_config, external_correlation), false,
     read_call},
    {CUPTI_KIND_RUNTIME, NULL, offsetof(struct trace_config, external_correlation), false,
     read_call},
    {CUPTI_KIND_MEMORY, "memory", offsetof(struct trace_config, memory), false, read_memory},
    /* Before kernels: with this kind, kernels of graphs have no records. */
    {CUPTI_KIND_GRAPH_TRACE, "graph_runs", offsetof(struct trace_config, graphs_whole), false,
     read_graph_run},
    {CUPTI_KIND_KERNEL, "kernels", 0, true, read_kernel},
    /* Last: it may have to wait for a context, and the others should not wait with it. */
    {CUPTI_KIND_MANAGED, "managed_memory", offsetof(struct trace_config, managed), false,
     read_managed},
};

const unsigned kind_row_count = sizeof kind_rows / sizeof *kind_rows;

/* Engine SassMetrics enables CUPTI_KIND_KERNEL_SERIAL, which has the same record. */
static void find_readers(struct records *r)
{
    r->readers[CUPTI_KIND_KERNEL_SERIAL] = read_kernel;
    for (unsigned i = 0; i < kind_row_count; i++)
        r->readers[kind_rows[i].kind] = kind_rows[i].read;
}

void records_decode(struct records *r, uint8_t *memory, size_t valid, bool old)
{
    struct cupti_record *record = NULL;
    int result;
    record_times_now(&r->times);
    r->old = old;
    while ((result = r->cupti->cuptiActivityGetNextRecord(memory, valid, &record)) == CUPTI_OK) {
        uint32_t kind = (uint32_t)record->kind;
        if (kind < CUPTI_KIND_LIMIT && r->readers[kind])
            r->readers[kind](r, record);
        else
            r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
    }
    if (result == CUPTI_E_MAX_LIMIT_REACHED || valid == 0)
        return;
    r->sink->ops->lost(r->sink, LOSS_UNKNOWN_RECORD, 1);
    r->sink->ops->message(r->sink, SEVERITY_WARNING, "cupti.unreadable_buffer",
                          "CUPTI cannot read on in one of its buffers (error %d): the rest of its "
                          "records is lost",
                          result);
}

void records_prescan(struct records *r, uint8_t *memory, size_t valid)
{
    struct cupti_record *record = NULL;
    while (r->cupti->cuptiActivityGetNextRecord(memory, valid, &record) == CUPTI_OK)
        if (record->kind == CUPTI_KIND_EXTERNAL)
            read_external(r, record);
}

uint64_t records_count_kernels(const struct cupti *c, uint8_t *memory, size_t valid)
{
    struct cupti_record *record = NULL;
    uint64_t count = 0;
    while (c->cuptiActivityGetNextRecord(memory, valid, &record) == CUPTI_OK)
        count += record->kind == CUPTI_KIND_KERNEL;
    return count;
}
