/* peer_rows_host.c - scopes, metrics and windows as lines of the public client's format. */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/limits.h"
#include "wire/peer_state.h"

#include <stdlib.h>

/* ---- scopes -------------------------------------------------------------------------------- */

struct scope_event {
    int64_t time;
    size_t order; /* place in the list: what keeps a begin before its end */
    int64_t cells[PEER_COLUMNS_MAX];
};

static int compare_events(const void *a, const void *b)
{
    const struct scope_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* The cells that begin and end of a row share; scope and scope_open have the same columns
 * but for the duration. */
static void fill_scope(struct peer_encoder *e, const struct wire_batch *b, size_t i,
                       int64_t cells[PEER_COLUMNS_MAX])
{
    bool open = b->type == RECORD_scope_open;
    int64_t start = cell(b, open ? COL_scope_open_start : COL_scope_start, i);
    cells[PEER_scope_scope_instance_id] =
        cell(b, open ? COL_scope_open_instance : COL_scope_instance, i);
    cells[PEER_scope_name_id] =
        peer_scope_name_id(e, cell(b, open ? COL_scope_open_name : COL_scope_name, i));
    cells[PEER_scope_depth] = cell(b, open ? COL_scope_open_depth : COL_scope_depth, i);
    cells[PEER_scope_original_start_ns] = peer_epoch(e, start);
}

static void fill_begin(const struct wire_batch *b, size_t i, int64_t cells[PEER_COLUMNS_MAX])
{
    bool open = b->type == RECORD_scope_open;
    cells[PEER_scope_event_type] = PEER_SCOPE_BEGIN;
    cells[PEER_scope_repeat] = cell(b, open ? COL_scope_open_repeat : COL_scope_repeat, i);
    cells[PEER_scope_warmup] = cell(b, open ? COL_scope_open_warmup : COL_scope_warmup, i);
}

/* The events of row i, behind those in list; how many. A scope that was seen
 * open has its begin written; one that is known to end waits for its row. */
static size_t scope_events(struct peer_encoder *e, const struct wire_batch *b, size_t i,
                           struct scope_event *list, size_t n, int *code)
{
    bool open = b->type == RECORD_scope_open, added;
    int64_t start = cell(b, open ? COL_scope_open_start : COL_scope_start, i);
    int64_t duration = open ? CELL_NULL : cell(b, COL_scope_duration, i);
    int64_t instance = cell(b, open ? COL_scope_open_instance : COL_scope_instance, i);
    if (!wire_time_ok(start))
        return 0; /* a path, not an opening */
    int64_t *known = rowset_find(&e->scopes, &instance);
    bool begun = known && known[SCOPE_CELL_STATE] & SCOPE_BEGUN;
    if (open && (begun || (known && known[SCOPE_CELL_STATE] & SCOPE_ENDS)))
        return 0;
    if (open) {
        known = rowset_put(&e->scopes, &instance, &added);
        if (!known) {
            *code = GPUFL_E_NOMEM;
            return 0;
        }
        known[SCOPE_CELL_STATE] |= SCOPE_BEGUN;
        known[SCOPE_CELL_NAME] = or_zero(cell(b, COL_scope_open_name, i));
        known[SCOPE_CELL_PARENT] = or_zero(cell(b, COL_scope_open_parent, i));
    }
    size_t first = n;
    if (!begun) {
        list[n] = (struct scope_event){.time = start, .order = n};
        fill_scope(e, b, i, list[n].cells);
        fill_begin(b, i, list[n++].cells);
    }
    int64_t end;
    bool ends = duration != CELL_NULL && !__builtin_add_overflow(start, duration, &end);
    if (ends && wire_time_ok(end)) {
        list[n] = (struct scope_event){.time = end, .order = n};
        fill_scope(e, b, i, list[n].cells);
        list[n++].cells[PEER_scope_event_type] = PEER_SCOPE_END;
    }
    return n - first;
}

int peer_put_scopes(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_scope);
    struct scope_event *list = mem_array(b->rows * 2, sizeof *list);
    size_t n = 0;
    int code = 0;
    if (!list)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < b->rows && !code; i++)
        n += scope_events(e, b, i, list, n, &code);
    qsort(list, n, sizeof *list, compare_events);
    for (size_t i = 0; i < n; i++)
        rows_put(&l, list[i].time, list[i].cells);
    rows_send(&l, PEER_SCOPE);
    mem_free(list);
    return code;
}

/* ---- system -------------------------------------------------------------------------------- */

static void fill_metric(struct peer_encoder *e, const struct wire_batch *b, size_t i,
                        int64_t cells[PEER_COLUMNS_MAX])
{
    int64_t rx = cell(b, COL_device_metric_pcie_rx, i), tx = cell(b, COL_device_metric_pcie_tx, i);
    int64_t both = cell(b, COL_device_metric_pcie_total, i);
    int64_t energy = or_zero(cell(b, COL_device_metric_energy, i));
    cells[PEER_device_metric_device_id] =
        peer_device_index(e, cell(b, COL_device_metric_device, i));
    cells[PEER_device_metric_gpu_util] = cell(b, COL_device_metric_gpu_util, i);
    cells[PEER_device_metric_mem_util] = cell(b, COL_device_metric_mem_util, i);
    cells[PEER_device_metric_temp_c] = cell(b, COL_device_metric_temperature, i);
    cells[PEER_device_metric_power_mw] = cell(b, COL_device_metric_power, i);
    cells[PEER_device_metric_used_mib] =
        or_zero(cell(b, COL_device_metric_memory_used, i)) / PEER_MIB;
    cells[PEER_device_metric_total_mib] =
        or_zero(cell(b, COL_device_metric_memory_total, i)) / PEER_MIB;
    cells[PEER_device_metric_clock_sm] = cell(b, COL_device_metric_clock_sm, i);
    cells[PEER_device_metric_fan_speed_pct] = cell(b, COL_device_metric_fan, i);
    cells[PEER_device_metric_temp_mem_c] = cell(b, COL_device_metric_temperature_memory, i);
    cells[PEER_device_metric_temp_junction_c] = cell(b, COL_device_metric_temperature_junction, i);
    cells[PEER_device_metric_voltage_mv] = cell(b, COL_device_metric_voltage, i);
    cells[PEER_device_metric_energy_uj] =
        energy < INT64_MAX / 1000 && energy > 0 ? energy * 1000 : 0;
    cells[PEER_device_metric_clock_mem] = cell(b, COL_device_metric_clock_mem, i);
    cells[PEER_device_metric_pcie_bw_bps] =
        both != CELL_NULL ? both : (int64_t)((uint64_t)or_zero(rx) + (uint64_t)or_zero(tx));
    cells[PEER_device_metric_ecc_corrected] = cell(b, COL_device_metric_ecc_corrected, i);
    cells[PEER_device_metric_ecc_uncorrected] = cell(b, COL_device_metric_ecc_uncorrected, i);
}

int peer_put_device_metrics(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_device_metric);
    bool optional = false;
    for (size_t i = 0; i < b->rows && !optional; i++) {
        int64_t cells[PEER_COLUMNS_MAX] = {0};
        fill_metric(e, b, i, cells);
        for (unsigned c = PEER_device_metric_fan_speed_pct; c < l.columns; c++)
            optional |= or_zero(cells[c]) != 0;
    }
    if (!optional)
        l.columns = PEER_device_metric_fan_speed_pct;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[PEER_COLUMNS_MAX] = {0};
        fill_metric(e, b, i, cells);
        rows_put(&l, cell(b, COL_device_metric_time, i), cells);
    }
    rows_send(&l, PEER_SYSTEM);
    return 0;
}

int peer_put_host_metrics(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_host_metric);
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_host_metric_cpu_pct_x100] = cell(b, COL_host_metric_cpu, i),
            [PEER_host_metric_ram_used_mib] =
                or_zero(cell(b, COL_host_metric_memory_used, i)) / PEER_MIB,
            [PEER_host_metric_ram_total_mib] =
                or_zero(cell(b, COL_host_metric_memory_total, i)) / PEER_MIB,
        };
        rows_put(&l, cell(b, COL_host_metric_time, i), cells);
    }
    rows_send(&l, PEER_SYSTEM);
    return 0;
}

int peer_put_windows(struct peer_encoder *e, const struct wire_batch *b)
{
    struct buf *out = &e->line;
    for (size_t i = 0; i < b->rows; i++) {
        size_t len;
        int64_t time = cell(b, COL_window_time, i);
        if (!wire_time_ok(time)) {
            e->left_out++;
            continue;
        }
        bool opened = cell(b, COL_window_phase, i) == 0;
        peer_put_event(e, out, opened ? "system_start" : "system_stop");
        peer_put_text(out, "name", peer_text(e, cell(b, COL_window_name, i), &len));
        peer_put_int(out, "ts_ns", peer_epoch(e, time));
        peer_put_state(e, out);
        buf_str(out, "}\n");
        peer_send(e, PEER_SYSTEM);
    }
    return 0;
}
