/* rows_host.c - writes metrics and windows as lines of the public client's format. */
#include "wire/limits.h"
#include "wire/peer/state.h"

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
        if (cell(b, COL_host_metric_cpu, i) == CELL_NULL) { /* 0 would mean an idle host */
            e->left_out++;
            continue;
        }
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
        if (!wire_time_ok(time) || cell(b, COL_window_capture, i) == 1) {
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
