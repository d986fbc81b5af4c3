/* libamd_smi.c - fakes AMD SMI without a GPU: see gpu.h. FAKE_AMD_SMI is the major version whose
 * structures it has, 24 (ROCm 6.2's) or 26 (ROCm 7's). */
#include "backend/amd/abi/amd_smi.h"
#include "tests/fake/amd/gpu.h"

#include <stdio.h>
#include <string.h>

enum { METRICS_SIZE = FAKE_AMD_SMI >= 25 ? 4544 : 424, SOCKET = 1000, DEVICE = 1, CPU = 500 };

static int result_of(enum fake_result r)
{
    static const int results[] = {[FAKE_OK] = AMDSMI_OK,
                                  [FAKE_NOT_SUPPORTED] = AMDSMI_E_NOT_SUPPORTED,
                                  [FAKE_FILE] = AMDSMI_E_FILE,
                                  [FAKE_BROKEN] = 43,
                                  [FAKE_NO_DRIVER] = AMDSMI_E_DRIVER_NOT_LOADED,
                                  [FAKE_DENIED] = AMDSMI_E_NO_PERMISSION};
    return results[r];
}

static unsigned number_of(amdsmi_handle device)
{
    return (unsigned)(uintptr_t)device - DEVICE;
}

static int ask(amdsmi_handle device)
{
    unsigned n = number_of(device);
    return n < fake_device_count() ? result_of(fake_ask(n, 1)) : AMDSMI_E_INVALID;
}

EXPORT int amdsmi_init(uint64_t flags)
{
    return flags == AMDSMI_GPUS ? result_of(fake_init()) : AMDSMI_E_INVALID;
}

EXPORT int amdsmi_shut_down(void)
{
    fake_end();
    return AMDSMI_OK;
}

EXPORT int amdsmi_status_code_to_string(int result, const char **text)
{
    *text = result == 43 ? "AMDSMI_STATUS_UNEXPECTED_DATA" : "?";
    return AMDSMI_OK;
}

/* A socket for each device, and one of a processor that is no GPU. */
EXPORT int amdsmi_get_socket_handles(uint32_t *count, amdsmi_handle *sockets)
{
    unsigned n = fake_device_count() + 1, room = sockets ? *count : 0;
    for (unsigned i = 0; i < n && i < room; i++)
        sockets[i] = (amdsmi_handle)(uintptr_t)(SOCKET + i);
    *count = n;
    return fake_amd_control()->unloaded ? AMDSMI_E_NOT_INIT : AMDSMI_OK;
}

EXPORT int amdsmi_get_processor_handles(amdsmi_handle socket, uint32_t *count,
                                        amdsmi_handle *processors)
{
    unsigned i = (unsigned)(uintptr_t)socket - SOCKET;
    if (processors && *count)
        processors[0] =
            (amdsmi_handle)(uintptr_t)(i < fake_device_count() ? DEVICE + i : (unsigned)CPU);
    *count = 1;
    return AMDSMI_OK;
}

EXPORT int amdsmi_get_processor_type(amdsmi_handle device, int *type)
{
    *type = (uintptr_t)device == CPU ? 2 : AMDSMI_IS_GPU;
    return AMDSMI_OK;
}

EXPORT int amdsmi_get_gpu_device_bdf(amdsmi_handle device, uint64_t *bdf)
{
    uint64_t place = fake_place(number_of(device));
    *bdf = place >> 32 << 16 | (place & 0xffff);
    if (fake_script_is("parts"))
        *bdf |= number_of(device);
    return AMDSMI_OK;
}

EXPORT int amdsmi_get_gpu_asic_info(amdsmi_handle device, void *asic)
{
    memset(asic, 0, 456);
    snprintf(asic, 64, "Fake Instinct %u", number_of(device));
    return AMDSMI_OK;
}

EXPORT int amdsmi_get_gpu_device_uuid(amdsmi_handle device, unsigned *size, char *text)
{
    unsigned n = fake_parts() ? 0 : number_of(device);
    if (fake_script_is("nameless"))
        return AMDSMI_E_NOT_SUPPORTED;
    if (*size < AMDSMI_UUID_SIZE)
        return 41;
    snprintf(text, *size, "a1ff74a1-0000-1000-80b2-c3d4e5f6071%u", n);
    return AMDSMI_OK;
}

EXPORT int amdsmi_get_gpu_activity(amdsmi_handle device, void *out)
{
    struct amdsmi_activity a = {FAKE_BUSY, FAKE_MEMORY_BUSY, UINT16_MAX};
    memset(out, 0, 64);
    memcpy(out, &a, sizeof a);
    return ask(device);
}

EXPORT int amdsmi_get_gpu_memory_total(amdsmi_handle device, int type, uint64_t *bytes)
{
    *bytes = FAKE_VRAM;
    return type ? AMDSMI_E_INVALID : result_of(fake_ask(number_of(device), 0));
}

EXPORT int amdsmi_get_gpu_memory_usage(amdsmi_handle device, int type, uint64_t *bytes)
{
    *bytes = FAKE_VRAM_USED;
    return type ? AMDSMI_E_INVALID : result_of(fake_ask(number_of(device), 0));
}

EXPORT int amdsmi_get_temp_metric(amdsmi_handle device, int sensor, int metric, int64_t *out)
{
    static const int degrees[] = {FAKE_EDGE, FAKE_JUNCTION, FAKE_MEMORY_HEAT};
    if (sensor < 0 || sensor > AMDSMI_SENSOR_MEMORY || metric != AMDSMI_NOW)
        return AMDSMI_E_INVALID;
    if (sensor == AMDSMI_SENSOR_EDGE && fake_script_is("mi300"))
        return AMDSMI_E_NOT_SUPPORTED;
    *out = degrees[sensor];
    return ask(device);
}

EXPORT int amdsmi_get_power_info(amdsmi_handle device, void *out)
{
#if FAKE_AMD_SMI >= 25
    struct amdsmi_power_25 p = {
        .socket = UINT64_MAX, .now = FAKE_WATTS, .average = UINT32_MAX, .mv_gfx = FAKE_MV};
#else
    struct amdsmi_power_24 p = {.now = UINT16_MAX,
                                .average = FAKE_WATTS,
                                .mv_gfx = FAKE_MV,
                                .mv_soc = UINT16_MAX,
                                .mv_mem = UINT16_MAX,
                                .limit = FAKE_WATTS_MOST};
#endif
    memset(out, 0, 128);
    memcpy(out, &p, sizeof p);
    return ask(device);
}

EXPORT int amdsmi_get_clock_info(amdsmi_handle device, int clock, void *out)
{
    struct amdsmi_clock c = {FAKE_MHZ, 500, FAKE_MHZ_MOST};
    if (clock == AMDSMI_CLOCK_MEM)
        c = (struct amdsmi_clock){FAKE_MEMORY_MHZ, 400, FAKE_MEMORY_MHZ};
    memset(out, 0, 32);
    memcpy(out, &c, sizeof c);
    return fake_script_is("mi300") ? AMDSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int amdsmi_get_gpu_fan_speed(amdsmi_handle device, uint32_t sensor, int64_t *speed)
{
    *speed = FAKE_FAN;
    return sensor || fake_script_is("mi300") ? AMDSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int amdsmi_get_gpu_fan_speed_max(amdsmi_handle device, uint32_t sensor, uint64_t *most)
{
    *most = 255;
    return sensor ? AMDSMI_E_NOT_SUPPORTED : ask(device);
}

EXPORT int amdsmi_get_gpu_volt_metric(amdsmi_handle device, int sensor, int metric, int64_t *mv)
{
    *mv = FAKE_MV;
    return sensor || metric ? AMDSMI_E_INVALID : ask(device);
}

EXPORT int amdsmi_get_energy_count(amdsmi_handle device, uint64_t *count, float *uj, uint64_t *time)
{
    *count = FAKE_ENERGY;
    *uj = FAKE_UJ;
    *time = 1;
    return ask(device);
}

EXPORT int amdsmi_get_gpu_pci_replay_counter(amdsmi_handle device, uint64_t *count)
{
    *count = FAKE_REPLAYS;
    return ask(device);
}

EXPORT int amdsmi_get_gpu_total_ecc_count(amdsmi_handle device, void *out)
{
    struct amdsmi_errors e = {FAKE_CORRECTED, FAKE_UNCORRECTED, 0};
    memset(out, 0, 64);
    memcpy(out, &e, sizeof e);
    return ask(device);
}

EXPORT int amdsmi_get_gpu_metrics_info(amdsmi_handle device, void *metrics)
{
    int result = ask(device);
    if (result == AMDSMI_OK)
        fake_metrics(metrics, METRICS_SIZE);
    return result;
}

EXPORT int amdsmi_get_gpu_compute_partition(amdsmi_handle device, char *text, uint32_t size)
{
    snprintf(text, size, "%s", fake_parts() ? "CPX" : "SPX");
    return ask(device);
}

EXPORT int amdsmi_get_gpu_memory_partition(amdsmi_handle device, char *text, uint32_t size)
{
    snprintf(text, size, "%s", fake_parts() ? "NPS4" : "NPS1");
    return ask(device);
}

EXPORT int amdsmi_get_gpu_process_list(amdsmi_handle device, uint32_t *count, void *out)
{
    uint32_t pids[NVML_CONTROL_PIDS], room = *count;
    uint32_t n = fake_pids(number_of(device), pids, NVML_CONTROL_PIDS);
    struct amdsmi_process_24 *list = out;
    *count = n;
    int result = ask(device);
    if (result != AMDSMI_OK || !room)
        return result;
    for (uint32_t i = 0; i < n && i < room; i++) {
        memset(&list[i], 0, sizeof list[i]);
        list[i].pid = pids[i];
        list[i].memories.vram = (number_of(device) + 1) * UINT64_C(1000);
    }
    return n > room ? AMDSMI_E_RESOURCES : AMDSMI_OK;
}
