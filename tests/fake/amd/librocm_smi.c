/* librocm_smi.c - fakes ROCm SMI without a GPU: see gpu.h. FAKE_ROCM is the release whose
 * structures it has, 5 (Debian 12's, at librocm_smi64.so.1) or 6 (ROCm 6.3's, at
 * librocm_smi64.so.7). */
#include "backend/amd/abi/rocm_smi.h"
#include "tests/fake/amd/gpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { METRICS_SIZE = FAKE_ROCM >= 6 ? 1832 : 96 };

static int result_of(enum fake_result r)
{
    static const int results[] = {[FAKE_OK] = RSMI_OK,
                                  [FAKE_NOT_SUPPORTED] = RSMI_E_NOT_SUPPORTED,
                                  [FAKE_FILE] = RSMI_E_FILE,
                                  [FAKE_BROKEN] = -1,
                                  [FAKE_NO_DRIVER] = RSMI_E_INIT,
                                  [FAKE_DENIED] = RSMI_E_PERMISSION};
    return results[r];
}

static int ask(uint32_t device)
{
    return device < fake_device_count() ? result_of(fake_ask(device, 1)) : RSMI_E_INVALID;
}

EXPORT int rsmi_init(uint64_t flags)
{
    (void)flags;
    return result_of(fake_init());
}

EXPORT int rsmi_shut_down(void)
{
    fake_end();
    return RSMI_OK;
}

EXPORT int rsmi_status_string(int result, const char **text)
{
    *text = result == -1 ? "RSMI_STATUS_UNKNOWN_ERROR: an unknown error occurred" : "?";
    return RSMI_OK;
}

EXPORT int rsmi_num_monitor_devices(uint32_t *count)
{
    *count = fake_device_count();
    return fake_amd_control()->unloaded ? RSMI_E_INIT : RSMI_OK;
}

EXPORT int rsmi_dev_pci_id_get(uint32_t device, uint64_t *place)
{
    *place = fake_place(device);
    if (fake_script_is("parts"))
        *place |= (uint64_t)device << 28;
    return RSMI_OK;
}

EXPORT int rsmi_dev_name_get(uint32_t device, char *text, size_t size)
{
    snprintf(text, size, "Fake Instinct %u", device);
    return RSMI_OK;
}

EXPORT int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
    if (fake_script_is("nameless"))
        return RSMI_E_NOT_SUPPORTED;
    *id = FAKE_UNIQUE + (fake_parts() ? 0 : device);
    return RSMI_OK;
}

EXPORT int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = FAKE_BUSY;
    return ask(device);
}

EXPORT int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = FAKE_MEMORY_BUSY;
    return ask(device);
}

/* Every device knows its memory. */
EXPORT int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = FAKE_VRAM;
    return type == RSMI_MEMORY_VRAM ? result_of(fake_ask(device, 0)) : RSMI_E_INVALID;
}

EXPORT int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = FAKE_VRAM_USED;
    return type == RSMI_MEMORY_VRAM ? result_of(fake_ask(device, 0)) : RSMI_E_INVALID;
}

EXPORT int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *out)
{
    static const int degrees[] = {FAKE_EDGE, FAKE_JUNCTION, FAKE_MEMORY_HEAT};
    if (sensor > RSMI_SENSOR_MEMORY || metric != RSMI_NOW)
        return RSMI_E_INVALID;
    if (sensor == RSMI_SENSOR_EDGE && fake_script_is("mi300"))
        return RSMI_E_NOT_SUPPORTED;
    *out = degrees[sensor] * 1000 + 400;
    return ask(device);
}

#if FAKE_ROCM >= 6
EXPORT int rsmi_dev_power_get(uint32_t device, uint64_t *uw, int *type)
{
    *uw = FAKE_WATTS * UINT64_C(1000000);
    *type = 1;
    return ask(device);
}

EXPORT int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t device,
                                                   struct rsmi_process *process)
{
    *process = (struct rsmi_process){
        .pid = pid, .vram = (device + 1) * UINT64_C(1000), .sdma = UINT64_MAX, .units = 30};
    return RSMI_OK;
}

EXPORT int rsmi_dev_compute_partition_get(uint32_t device, char *text, uint32_t size)
{
    snprintf(text, size, "%s", fake_parts() ? "CPX" : "SPX");
    return ask(device);
}

EXPORT int rsmi_dev_memory_partition_get(uint32_t device, char *text, uint32_t size)
{
    snprintf(text, size, "%s", fake_parts() ? "NPS4" : "NPS1");
    return ask(device);
}
#endif

EXPORT int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *uw)
{
    *uw = FAKE_WATTS * UINT64_C(1000000);
    return sensor == 0 ? ask(device) : RSMI_E_NOT_SUPPORTED;
}

EXPORT int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *uw)
{
    *uw = FAKE_WATTS_MOST * UINT64_C(1000000);
    return sensor == 0 ? ask(device) : RSMI_E_NOT_SUPPORTED;
}

EXPORT int rsmi_dev_gpu_clk_freq_get(uint32_t device, int clock, void *out)
{
    const uint64_t gfx[] = {500000000, FAKE_MHZ * UINT64_C(1000000),
                            FAKE_MHZ_MOST * UINT64_C(1000000)};
    const uint64_t mem[] = {400000000, FAKE_MEMORY_MHZ * UINT64_C(1000000)};
    bool is_gfx = clock == RSMI_CLOCK_GFX;
#if FAKE_ROCM >= 6
    struct rsmi_frequencies_6 f = {.count = is_gfx ? 3 : 2, .current = 1};
#else
    struct rsmi_frequencies_5 f = {.count = is_gfx ? 3 : 2, .current = 1};
#endif
    memcpy(f.hz, is_gfx ? gfx : mem, is_gfx ? sizeof gfx : sizeof mem);
    memcpy(out, &f, sizeof f);
    return fake_script_is("mi300") ? RSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int rsmi_dev_fan_speed_get(uint32_t device, uint32_t sensor, int64_t *speed)
{
    *speed = FAKE_FAN;
    return sensor || fake_script_is("mi300") ? RSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int rsmi_dev_fan_speed_max_get(uint32_t device, uint32_t sensor, uint64_t *most)
{
    *most = 255;
    return sensor ? RSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int rsmi_dev_volt_metric_get(uint32_t device, int sensor, int metric, int64_t *mv)
{
    *mv = FAKE_MV;
    return sensor || metric ? RSMI_E_INVALID : ask(device);
}

EXPORT int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *uj, uint64_t *time)
{
    *count = FAKE_ENERGY;
    *uj = FAKE_UJ;
    *time = 1;
    return ask(device);
}

EXPORT int rsmi_dev_pci_replay_counter_get(uint32_t device, uint64_t *count)
{
    *count = FAKE_REPLAYS;
    return ask(device);
}

/* The copy engine (2) has ECC, but no counters. */
EXPORT int rsmi_dev_ecc_enabled_get(uint32_t device, uint64_t *blocks)
{
    *blocks = 1 | 2 | 4;
    return ask(device);
}

EXPORT int rsmi_dev_ecc_count_get(uint32_t device, int block, struct rsmi_errors *errors)
{
    *errors = block == 1   ? (struct rsmi_errors){7, 1}
              : block == 4 ? (struct rsmi_errors){2, 0}
                           : (struct rsmi_errors){1000, 1000};
    return block == 1 || block == 4 ? ask(device) : RSMI_E_NOT_SUPPORTED;
}

EXPORT int rsmi_dev_gpu_metrics_info_get(uint32_t device, void *metrics)
{
    int result = ask(device);
    if (result == RSMI_OK)
        fake_metrics(metrics, METRICS_SIZE);
    return result;
}

/* ---- processes ------------------------------------------------------------------------------ */

EXPORT int rsmi_compute_process_info_get(struct rsmi_process *all, uint32_t *count)
{
    uint32_t n = 0, room = all ? *count : 0;
    for (uint32_t d = 0; d < fake_device_count(); d++) {
        uint32_t pids[NVML_CONTROL_PIDS];
        uint32_t more = fake_pids(d, pids, NVML_CONTROL_PIDS);
        for (uint32_t i = 0; i < more; i++, n++)
            if (n < room)
                all[n] = (struct rsmi_process){
                    .pid = pids[i], .vram = 1000, .sdma = UINT64_MAX, .units = UINT32_MAX};
    }
    *count = n;
    return fake_amd_control()->unloaded ? RSMI_E_FILE : RSMI_OK;
}

EXPORT int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *devices, uint32_t *count)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < fake_device_count(); d++) {
        uint32_t pids[NVML_CONTROL_PIDS], more = fake_pids(d, pids, NVML_CONTROL_PIDS);
        bool uses = false;
        for (uint32_t i = 0; i < more; i++)
            uses |= pids[i] == pid;
        if (uses && n < *count)
            devices[n++] = d;
    }
    *count = n;
    return RSMI_OK;
}
