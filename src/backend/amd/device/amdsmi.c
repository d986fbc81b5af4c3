/* amdsmi.c - reads devices through AMD SMI. Its units: degrees, watts, MHz, millivolts.
 *
 * Structures that differ between major versions are read if the layout of the loaded version is
 * known. If it is not, their cells stay unknown, and the calls that return single numbers still
 * fill theirs. */
#include "backend/amd/device/inside.h"
#include "backend/amd/library/amd_smi.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000000, LIST_MOST = 512, SOCKETS_MOST = 64, FIRST_25 = 25, LAST_KNOWN = 26 };

static enum amd_answer answer_of(int result)
{
    return result == AMDSMI_OK                                              ? AMD_ANSWERED
           : result == AMDSMI_E_NOT_SUPPORTED || result == AMDSMI_E_NOT_YET ? AMD_NEVER
                                                                            : AMD_NOT_NOW;
}

/* Returns a number of 32 bits; CELL_NULL if all of its 16 or 32 bits are set. */
static int64_t number(uint32_t v, int64_t scale)
{
    return v == UINT16_MAX || v == UINT32_MAX ? CELL_NULL : (int64_t)v * scale;
}

/* ---- readers ---------------------------------------------------------------------------- */

static enum amd_answer read_activity(struct amd_device *x, struct device_metric_row *row)
{
    union {
        struct amdsmi_activity a;
        uint8_t room[AMDSMI_ROOM];
    } u;
    if (!amdsmi->amdsmi_get_gpu_activity)
        return AMD_NEVER;
    memset(&u, 0xff, sizeof u);
    int result = amdsmi->amdsmi_get_gpu_activity(x->handle, &u);
    if (result == AMDSMI_OK) {
        amd_fill(&row->gpu_util, number(u.a.gfx, 1));
        amd_fill(&row->mem_util, number(u.a.umc, 1));
    }
    return answer_of(result);
}

static enum amd_answer read_memory(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t used, total;
    if (!amdsmi->amdsmi_get_gpu_memory_usage || !amdsmi->amdsmi_get_gpu_memory_total)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_gpu_memory_usage(x->handle, AMDSMI_MEMORY_VRAM, &used);
    if (result == AMDSMI_OK)
        amd_fill(&row->memory_used, (int64_t)used);
    if (amdsmi->amdsmi_get_gpu_memory_total(x->handle, AMDSMI_MEMORY_VRAM, &total) == AMDSMI_OK)
        amd_fill(&row->memory_total, (int64_t)total);
    return answer_of(result);
}

static enum amd_answer read_sensor(struct amd_device *x, int sensor, int64_t *cell)
{
    int64_t degrees;
    if (!amdsmi->amdsmi_get_temp_metric)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_temp_metric(x->handle, sensor, AMDSMI_NOW, &degrees);
    if (result == AMDSMI_OK)
        amd_fill(cell, degrees);
    return answer_of(result);
}

static enum amd_answer read_edge(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, AMDSMI_SENSOR_EDGE, &row->temperature);
}

static enum amd_answer read_junction(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, AMDSMI_SENSOR_JUNCTION, &row->temperature_junction);
}

static enum amd_answer read_memory_sensor(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, AMDSMI_SENSOR_MEMORY, &row->temperature_memory);
}

/* GPUs report their present power, or an average, or both. */
static void fill_power(uint32_t now, uint32_t average, struct device_metric_row *row)
{
    amd_fill(&row->power, number(now, 1000));
    amd_fill(&row->power, number(average, 1000));
}

static enum amd_answer read_power(struct amd_device *x, struct device_metric_row *row)
{
    union {
        struct amdsmi_power_24 old;
        struct amdsmi_power_25 newer;
        uint8_t room[AMDSMI_ROOM];
    } u;
    int major = amdsmi_library.major;
    if (!amdsmi->amdsmi_get_power_info || !major || major > LAST_KNOWN)
        return AMD_NEVER;
    memset(&u, 0xff, sizeof u);
    int result = amdsmi->amdsmi_get_power_info(x->handle, &u);
    if (result != AMDSMI_OK)
        return answer_of(result);
    if (major < FIRST_25) {
        fill_power(u.old.now, u.old.average, row);
        amd_fill(&row->voltage, number(u.old.mv_gfx, 1));
        amd_fill(&row->power_limit, number(u.old.limit, 1000));
    } else {
        fill_power(u.newer.now, u.newer.average, row);
        if (u.newer.mv_gfx < UINT16_MAX)
            amd_fill(&row->voltage, (int64_t)u.newer.mv_gfx);
    }
    return AMD_ANSWERED;
}

static enum amd_answer read_voltage(struct amd_device *x, struct device_metric_row *row)
{
    int64_t mv;
    if (!amdsmi->amdsmi_get_gpu_volt_metric)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_gpu_volt_metric(x->handle, AMDSMI_VOLTAGE_GFX, AMDSMI_NOW, &mv);
    if (result == AMDSMI_OK)
        amd_fill(&row->voltage, mv);
    return answer_of(result);
}

static enum amd_answer read_energy(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t count, time;
    float uj = 0;
    if (!amdsmi->amdsmi_get_energy_count)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_energy_count(x->handle, &count, &uj, &time);
    if (result == AMDSMI_OK && uj > 0)
        amd_fill(&row->energy, (int64_t)((double)count * (double)uj / 1000));
    return answer_of(result);
}

static int read_clock(struct amd_device *x, int clock, int64_t *now, int64_t *most)
{
    union {
        struct amdsmi_clock c;
        uint8_t room[AMDSMI_ROOM];
    } u;
    *now = *most = CELL_NULL;
    memset(&u, 0xff, sizeof u);
    int result = amdsmi->amdsmi_get_clock_info(x->handle, clock, &u);
    if (result != AMDSMI_OK)
        return result;
    *now = number(u.c.now, 1);
    *most = number(u.c.most, 1);
    return AMDSMI_OK;
}

/* On these GPUs the clock of the compute units is the graphics clock. */
static enum amd_answer read_clocks(struct amd_device *x, struct device_metric_row *row)
{
    int64_t gfx, mem, most;
    if (!amdsmi->amdsmi_get_clock_info)
        return AMD_NEVER;
    int result = read_clock(x, AMDSMI_CLOCK_GFX, &gfx, &most);
    int second = read_clock(x, AMDSMI_CLOCK_MEM, &mem, &most);
    amd_fill(&row->clock_gfx, gfx);
    amd_fill(&row->clock_sm, gfx);
    amd_fill(&row->clock_mem, mem);
    return answer_of(second == AMDSMI_OK ? second : result);
}

static enum amd_answer read_fan(struct amd_device *x, struct device_metric_row *row)
{
    int64_t speed;
    uint64_t most;
    if (!amdsmi->amdsmi_get_gpu_fan_speed || !amdsmi->amdsmi_get_gpu_fan_speed_max)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_gpu_fan_speed(x->handle, 0, &speed);
    if (result == AMDSMI_OK)
        result = amdsmi->amdsmi_get_gpu_fan_speed_max(x->handle, 0, &most);
    if (result == AMDSMI_OK && most > 0 && most <= INT32_MAX && speed >= 0)
        amd_fill(&row->fan, speed * 100 / (int64_t)most);
    return answer_of(result);
}

static enum amd_answer read_replays(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t count;
    if (!amdsmi->amdsmi_get_gpu_pci_replay_counter)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_gpu_pci_replay_counter(x->handle, &count);
    if (result == AMDSMI_OK)
        amd_fill(&row->pcie_replays, (int64_t)count);
    return answer_of(result);
}

static enum amd_answer read_ecc(struct amd_device *x, struct device_metric_row *row)
{
    union {
        struct amdsmi_errors e;
        uint8_t room[AMDSMI_ROOM];
    } u;
    if (!amdsmi->amdsmi_get_gpu_total_ecc_count)
        return AMD_NEVER;
    memset(&u, 0xff, sizeof u);
    int result = amdsmi->amdsmi_get_gpu_total_ecc_count(x->handle, &u);
    if (result == AMDSMI_OK && u.e.corrected != UINT64_MAX)
        amd_fill(&row->ecc_corrected, (int64_t)u.e.corrected);
    if (result == AMDSMI_OK && u.e.uncorrected != UINT64_MAX)
        amd_fill(&row->ecc_uncorrected, (int64_t)u.e.uncorrected);
    return answer_of(result);
}

static enum amd_answer read_metrics(struct amd_device *x, struct device_metric_row *row)
{
    union {
        struct gpu_metrics m;
        uint8_t room[GPU_METRICS_ROOM];
    } u;
    if (!amdsmi->amdsmi_get_gpu_metrics_info)
        return AMD_NEVER;
    memset(&u, 0xff, sizeof u);
    int result = amdsmi->amdsmi_get_gpu_metrics_info(x->handle, &u);
    if (result == AMDSMI_OK)
        amd_metrics_fill(x, &u.m, row);
    return answer_of(result);
}

/* ---- processes -------------------------------------------------------------------------- */

static int code_of(int result)
{
    return result == AMDSMI_E_NOT_SUPPORTED || result == AMDSMI_E_NOT_YET ? GPUFL_E_NOT_BUILT
           : result == AMDSMI_E_NO_PERMISSION                             ? GPUFL_E_PERM
                                                                          : GPUFL_E_UNAVAILABLE;
}

/* If it gets no room, the library only returns how many there are, in every version. */
static enum amd_answer read_processes(struct amd_device *x, struct device_metric_row *row)
{
    uint32_t count = 0;
    if (!amdsmi->amdsmi_get_gpu_process_list)
        return AMD_NEVER;
    int result = amdsmi->amdsmi_get_gpu_process_list(x->handle, &count, NULL);
    if (result == AMDSMI_OK)
        amd_fill(&row->processes, count);
    return answer_of(result);
}

static int amd_processes(struct amd_device *x, struct device_process *out, int max, int *count)
{
    struct amdsmi_process_24 list[LIST_MOST];
    uint32_t n = LIST_MOST;
    *count = 0;
    if (!amdsmi->amdsmi_get_gpu_process_list || !amdsmi_library.major ||
        amdsmi_library.major >= FIRST_25)
        return GPUFL_E_NOT_BUILT;
    memset(list, 0, sizeof list);
    int result = amdsmi->amdsmi_get_gpu_process_list(x->handle, &n, list);
    if (result != AMDSMI_OK && result != AMDSMI_E_RESOURCES)
        return code_of(result);
    *count = (int)n;
    int have = 0;
    for (uint32_t i = 0; i < n && i < LIST_MOST && have < max; i++) {
        if (!list[i].pid)
            continue; /* not filled */
        out[have++] = (struct device_process){
            .pid = list[i].pid,
            .memory_used = (int64_t)list[i].memories.vram,
            .sm_util = CELL_NULL,
            .mem_util = CELL_NULL,
            .encoder_util = CELL_NULL,
            .decoder_util = CELL_NULL,
            .gpu_instance = CELL_NULL,
            .compute_instance = CELL_NULL,
        };
    }
    return have;
}

/* ---- devices ---------------------------------------------------------------------------- */

static void place_of(struct amd_device *x)
{
    uint64_t bdf = 0;
    if (amdsmi->amdsmi_get_gpu_device_bdf(x->handle, &bdf) != AMDSMI_OK)
        return;
    x->domain = (uint32_t)(bdf >> 16);
    x->location = (uint32_t)bdf & 0xffff;
    x->part = (uint32_t)bdf & 7;
}

static int list_socket(amdsmi_handle socket, struct amd_device *out, int max, int count)
{
    amdsmi_handle found[LIST_MOST];
    uint32_t n = LIST_MOST;
    if (amdsmi->amdsmi_get_processor_handles(socket, &n, found) != AMDSMI_OK)
        return count;
    for (uint32_t i = 0; i < n && i < LIST_MOST; i++) {
        int type = 0;
        if (amdsmi->amdsmi_get_processor_type(found[i], &type) != AMDSMI_OK ||
            type != AMDSMI_IS_GPU)
            continue;
        if (count < max) {
            out[count] = (struct amd_device){.number = (uint32_t)count,
                                             .handle = found[i],
                                             .whole_metrics = amdsmi_library.major &&
                                                              amdsmi_library.major <= LAST_KNOWN};
            place_of(&out[count]);
        }
        count++;
    }
    return count;
}

static int amd_list(struct amd_device *out, int max)
{
    amdsmi_handle sockets[SOCKETS_MOST];
    uint32_t n = SOCKETS_MOST;
    int count = 0;
    if (amdsmi->amdsmi_get_socket_handles(&n, sockets) != AMDSMI_OK)
        return GPUFL_E_UNAVAILABLE;
    for (uint32_t i = 0; i < n && i < SOCKETS_MOST; i++)
        count = list_socket(sockets[i], out, max, count);
    return count;
}

static void amd_describe(struct amd_device *x, struct device_row *row, struct device_text *text)
{
    char asic[AMDSMI_ROOM] = "", uuid[AMDSMI_UUID_SIZE + 1] = "";
    unsigned size = AMDSMI_UUID_SIZE;
    uint64_t bytes;
    int64_t now;
    if (amdsmi->amdsmi_get_gpu_asic_info &&
        amdsmi->amdsmi_get_gpu_asic_info(x->handle, asic) == AMDSMI_OK) /* its name comes first */
        snprintf(text->name, sizeof text->name, "%.*s", (int)sizeof text->name - 1, asic);
    if (amdsmi->amdsmi_get_gpu_device_uuid &&
        amdsmi->amdsmi_get_gpu_device_uuid(x->handle, &size, uuid) == AMDSMI_OK && *uuid)
        snprintf(text->uuid, sizeof text->uuid, "GPU-%s", uuid);
    if (amdsmi->amdsmi_get_gpu_memory_total &&
        amdsmi->amdsmi_get_gpu_memory_total(x->handle, AMDSMI_MEMORY_VRAM, &bytes) == AMDSMI_OK)
        row->memory_total = (int64_t)bytes;
    if (amdsmi->amdsmi_get_clock_info) {
        (void)read_clock(x, AMDSMI_CLOCK_GFX, &now, &row->clock_max_sm);
        (void)read_clock(x, AMDSMI_CLOCK_MEM, &now, &row->clock_max_mem);
    }
}

static void amd_partitions(struct amd_device *x, char *compute, char *memory)
{
    if (!amdsmi->amdsmi_get_gpu_compute_partition ||
        amdsmi->amdsmi_get_gpu_compute_partition(x->handle, compute, PARTITION_SIZE) != AMDSMI_OK)
        *compute = '\0';
    if (!amdsmi->amdsmi_get_gpu_memory_partition ||
        amdsmi->amdsmi_get_gpu_memory_partition(x->handle, memory, PARTITION_SIZE) != AMDSMI_OK)
        *memory = '\0';
}

/* Single calls come first; the firmware's table fills the rest. */
static const struct amd_reader readers[] = {
    {read_activity, 0, false},       {read_memory, 0, false},
    {read_edge, 0, false},           {read_junction, 0, false},
    {read_memory_sensor, 0, false},  {read_power, 0, false},
    {read_voltage, 0, false},        {read_energy, SECOND, false},
    {read_clocks, 0, false},         {read_fan, 0, false},
    {read_metrics, 0, false},        {read_ecc, SECOND, false},
    {read_processes, SECOND, false}, {read_replays, INT64_C(10) * SECOND, false},
};

const struct smi smi_amd = {
    .library = &amdsmi_library,
    .list = amd_list,
    .describe = amd_describe,
    .partitions = amd_partitions,
    .processes = amd_processes,
    .readers = readers,
    .reader_count = sizeof readers / sizeof *readers,
};
