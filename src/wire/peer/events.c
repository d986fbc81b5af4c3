/* events.c - reads event rows of the public client's format other than kernels and scopes. Each
 * line type has a function, which turns p->rows or a line into rows of ours. What that format does
 * not say stays unknown, and so do its optional metrics with the value 0, which the client writes
 * for unknown. */
#include "wire/peer/reader.h"

/* Returns the row's time, or CELL_NULL. */
static int64_t row_time(const struct peer *p, size_t row)
{
    return peer_time(p->rows.base, peer_cell(&p->rows, row, 0));
}

static int64_t bytes_of_mib(int64_t mib)
{
    return mib == CELL_NULL || mib < 0 || mib > INT64_MAX / PEER_MIB ? CELL_NULL : mib * PEER_MIB;
}

/* Our numbers of copy kinds are CUPTI's; AMD's differ. */
static int64_t copy_kind(const struct peer *p, int64_t kind)
{
    if (p->amd && kind == 3)
        return 8; /* DtoD */
    if (p->amd && kind == 4)
        return 9; /* HtoH */
    return kind;
}

void peer_copies(struct peer *p)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        UNKNOWN(memcpy, row);
        row.start = row_time(p, i);
        row.duration = peer_duration(&p->rows, i, PEER_memcpy_duration_ns);
        row.bytes = peer_cell(&p->rows, i, PEER_memcpy_bytes);
        row.kind = copy_kind(p, peer_cell(&p->rows, i, PEER_memcpy_copy_kind));
        row.stream = peer_stream(p, p->only_device, CELL_NULL,
                                 peer_cell(&p->rows, i, PEER_memcpy_stream_id));
        row.correlation = peer_cell(&p->rows, i, PEER_memcpy_corr_id);
        peer_add(p, RECORD_memcpy, &row);
    }
}

/* In that format stream 0 is the whole context; we have a stream without a number for it. */
void peer_syncs(struct peer *p)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        int64_t number = null_if_zero(peer_cell(&p->rows, i, PEER_sync_stream_id));
        int64_t context = peer_cell(&p->rows, i, PEER_sync_context_id);
        UNKNOWN(sync, row);
        row.start = row_time(p, i);
        row.duration = peer_duration(&p->rows, i, PEER_sync_duration_ns);
        row.kind = peer_cell(&p->rows, i, PEER_sync_sync_type);
        row.stream =
            peer_stream(p, p->only_device, number == CELL_NULL ? context : CELL_NULL, number);
        row.event = peer_cell(&p->rows, i, PEER_sync_event_id);
        row.correlation = peer_cell(&p->rows, i, PEER_sync_corr_id);
        row.stack = peer_stack(p, peer_cell(&p->rows, i, PEER_sync_function_id));
        peer_add(p, RECORD_sync, &row);
    }
}

void peer_allocs(struct peer *p)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        int64_t stream = peer_cell(&p->rows, i, PEER_alloc_stream_id);
        UNKNOWN(alloc, row);
        row.time = row_time(p, i);
        row.op = peer_cell(&p->rows, i, PEER_alloc_memory_op);
        row.memory = peer_cell(&p->rows, i, PEER_alloc_memory_kind);
        row.address = peer_cell(&p->rows, i, PEER_alloc_address);
        row.bytes = peer_cell(&p->rows, i, PEER_alloc_bytes);
        row.device = peer_device(p, peer_cell(&p->rows, i, PEER_alloc_device_id));
        row.stream = stream > 0 ? peer_stream(p, row.device, CELL_NULL, stream) : 0;
        row.correlation = peer_cell(&p->rows, i, PEER_alloc_corr_id);
        peer_add(p, RECORD_alloc, &row);
    }
}

void peer_device_metrics(struct peer *p)
{
    const struct peer_rows *r = &p->rows;
    for (size_t i = 0; i < r->count; i++) {
        int64_t id = peer_cell(r, i, PEER_device_metric_device_id);
        int64_t energy = null_if_zero(peer_cell(r, i, PEER_device_metric_energy_uj));
        UNKNOWN(device_metric, row);
        row.time = row_time(p, i);
        row.device = id >= 0 && id < PEER_GPUS_MAX ? id + 1 : 0; /* the management library's id */
        row.gpu_util = peer_cell(r, i, PEER_device_metric_gpu_util);
        row.mem_util = peer_cell(r, i, PEER_device_metric_mem_util);
        row.memory_total =
            bytes_of_mib(null_if_zero(peer_cell(r, i, PEER_device_metric_total_mib)));
        if (row.memory_total != CELL_NULL)
            row.memory_used = bytes_of_mib(peer_cell(r, i, PEER_device_metric_used_mib));
        row.temperature = null_if_zero(peer_cell(r, i, PEER_device_metric_temp_c));
        row.temperature_memory = null_if_zero(peer_cell(r, i, PEER_device_metric_temp_mem_c));
        row.temperature_junction =
            null_if_zero(peer_cell(r, i, PEER_device_metric_temp_junction_c));
        row.power = null_if_zero(peer_cell(r, i, PEER_device_metric_power_mw));
        if (energy != CELL_NULL && !p->amd) /* AMD's is not in uJ, whatever the name says */
            row.energy = energy / 1000;
        row.clock_sm = null_if_zero(peer_cell(r, i, PEER_device_metric_clock_sm));
        row.clock_mem = null_if_zero(peer_cell(r, i, PEER_device_metric_clock_mem));
        row.pcie_total = null_if_zero(peer_cell(r, i, PEER_device_metric_pcie_bw_bps));
        row.fan = null_if_zero(peer_cell(r, i, PEER_device_metric_fan_speed_pct));
        row.voltage = null_if_zero(peer_cell(r, i, PEER_device_metric_voltage_mv));
        row.ecc_corrected = null_if_zero(peer_cell(r, i, PEER_device_metric_ecc_corrected));
        row.ecc_uncorrected = null_if_zero(peer_cell(r, i, PEER_device_metric_ecc_uncorrected));
        peer_add(p, RECORD_device_metric, &row);
    }
}

void peer_host_metrics(struct peer *p)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        UNKNOWN(host_metric, row);
        row.time = row_time(p, i);
        row.cpu = peer_cell(&p->rows, i, PEER_host_metric_cpu_pct_x100);
        row.memory_used = bytes_of_mib(peer_cell(&p->rows, i, PEER_host_metric_ram_used_mib));
        row.memory_total =
            bytes_of_mib(null_if_zero(peer_cell(&p->rows, i, PEER_host_metric_ram_total_mib)));
        peer_add(p, RECORD_host_metric, &row);
    }
}

/* ---- single lines -------------------------------------------------------------------------- */

struct event {
    int64_t start, end, device, stream, correlation, bytes, graph;
    struct span scope;
};

#define E(name, kind, member) FIELD(event, name, kind, member)

static const struct field event_fields[] = {
    E("graph_id", INT, graph),      E("device_id", INT, device), E("stream_id", INT, stream),
    E("user_scope", TEXT, scope),   E("start_ns", INT, start),   E("end_ns", INT, end),
    E("corr_id", INT, correlation), E("bytes", INT, bytes),
};

static struct event read_event(struct scan s)
{
    struct event e = {CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL,
                      CELL_NULL, CELL_NULL, CELL_NULL, {NULL, 0}};
    fields_read(s, event_fields, sizeof event_fields / sizeof *event_fields, &e);
    e.start = peer_time(e.start, 0);
    e.end = peer_time(e.end, 0);
    return e;
}

void peer_fill(struct peer *p, struct scan s)
{
    struct event e = read_event(s);
    UNKNOWN(memset, row);
    row.start = e.start;
    if (e.start != CELL_NULL && e.end >= e.start)
        row.duration = e.end - e.start;
    row.bytes = e.bytes;
    row.stream = peer_stream(p, peer_device(p, e.device), CELL_NULL, e.stream);
    row.correlation = e.correlation;
    row.scope = e.scope.at ? peer_scope_of(p, e.scope) : CELL_NULL;
    peer_add(p, RECORD_memset, &row);
}

/* The client's times are those of the graph on the GPU, ours those of the launch call, so the
 * duration stays unknown. */
void peer_graph_launch(struct peer *p, struct scan s)
{
    struct event e = read_event(s);
    UNKNOWN(graph_launch, row);
    row.start = e.start;
    row.graph = e.graph;
    row.correlation = e.correlation;
    peer_add(p, RECORD_graph_launch, &row);
}
