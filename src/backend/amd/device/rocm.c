/* rocm.c - reads devices through ROCm SMI. Its units: millidegrees, microwatts, Hz, millivolts. */
#include "backend/amd/device/inside.h"
#include "backend/amd/library/rocm_smi.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000000, LIST_MOST = 512, GPUS_MOST = 64 };

static enum amd_answer answer_of(int result)
{
    return result == RSMI_OK                                            ? AMD_ANSWERED
           : result == RSMI_E_NOT_SUPPORTED || result == RSMI_E_NOT_YET ? AMD_NEVER
                                                                        : AMD_NOT_NOW;
}

/* ---- readers ---------------------------------------------------------------------------- */

static enum amd_answer read_busy(struct amd_device *x, struct device_metric_row *row)
{
    uint32_t percent;
    if (!rsmi->rsmi_dev_busy_percent_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_busy_percent_get(x->number, &percent);
    if (result == RSMI_OK)
        amd_fill(&row->gpu_util, percent);
    return answer_of(result);
}

static enum amd_answer read_memory_busy(struct amd_device *x, struct device_metric_row *row)
{
    uint32_t percent;
    if (!rsmi->rsmi_dev_memory_busy_percent_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_memory_busy_percent_get(x->number, &percent);
    if (result == RSMI_OK)
        amd_fill(&row->mem_util, percent);
    return answer_of(result);
}

static enum amd_answer read_memory(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t used, total;
    if (!rsmi->rsmi_dev_memory_usage_get || !rsmi->rsmi_dev_memory_total_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_memory_usage_get(x->number, RSMI_MEMORY_VRAM, &used);
    if (result == RSMI_OK)
        amd_fill(&row->memory_used, (int64_t)used);
    if (rsmi->rsmi_dev_memory_total_get(x->number, RSMI_MEMORY_VRAM, &total) == RSMI_OK)
        amd_fill(&row->memory_total, (int64_t)total);
    return answer_of(result);
}

static enum amd_answer read_sensor(struct amd_device *x, uint32_t sensor, int64_t *cell)
{
    int64_t millidegrees;
    if (!rsmi->rsmi_dev_temp_metric_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_temp_metric_get(x->number, sensor, RSMI_NOW, &millidegrees);
    if (result == RSMI_OK)
        amd_fill(cell, millidegrees / 1000);
    return answer_of(result);
}

static enum amd_answer read_edge(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, RSMI_SENSOR_EDGE, &row->temperature);
}

static enum amd_answer read_junction(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, RSMI_SENSOR_JUNCTION, &row->temperature_junction);
}

static enum amd_answer read_memory_sensor(struct amd_device *x, struct device_metric_row *row)
{
    return read_sensor(x, RSMI_SENSOR_MEMORY, &row->temperature_memory);
}

static enum amd_answer read_power(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t uw;
    int kind, result = RSMI_E_NOT_SUPPORTED;
    if (rsmi->rsmi_dev_power_get)
        result = rsmi->rsmi_dev_power_get(x->number, &uw, &kind);
    if (result != RSMI_OK && rsmi->rsmi_dev_power_ave_get)
        result = rsmi->rsmi_dev_power_ave_get(x->number, 0, &uw);
    if (result == RSMI_OK)
        amd_fill(&row->power, (int64_t)(uw / 1000));
    return answer_of(result);
}

static enum amd_answer read_power_limit(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t uw;
    if (!rsmi->rsmi_dev_power_cap_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_power_cap_get(x->number, 0, &uw);
    if (result == RSMI_OK)
        amd_fill(&row->power_limit, (int64_t)(uw / 1000));
    return answer_of(result);
}

static enum amd_answer read_energy(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t count, time;
    float uj = 0;
    if (!rsmi->rsmi_dev_energy_count_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_energy_count_get(x->number, &count, &uj, &time);
    if (result == RSMI_OK && uj > 0)
        amd_fill(&row->energy, (int64_t)((double)count * (double)uj / 1000));
    return answer_of(result);
}

/* Reads the current frequency of a clock and the greatest one, MHz; CELL_NULL: not known. */
static int read_clock(struct amd_device *x, int clock, int64_t *now, int64_t *most)
{
    union {
        struct rsmi_frequencies_5 five;
        struct rsmi_frequencies_6 six;
        uint8_t room[1024];
    } f;
    *now = *most = CELL_NULL;
    memset(&f, 0, sizeof f);
    int result = rsmi->rsmi_dev_gpu_clk_freq_get(x->number, clock, &f);
    if (result != RSMI_OK)
        return result;
    bool six = rsmi->rsmi_dev_power_get != NULL;
    const uint64_t *hz = six ? f.six.hz : f.five.hz;
    uint32_t count = six ? f.six.count : f.five.count;
    uint32_t current = six ? f.six.current : f.five.current;
    if (count > (six ? sizeof f.six.hz : sizeof f.five.hz) / sizeof *hz)
        return RSMI_E_NO_DATA;
    for (uint32_t i = 0; i < count; i++)
        if ((int64_t)(hz[i] / 1000000) > *most)
            *most = (int64_t)(hz[i] / 1000000);
    if (current < count)
        *now = (int64_t)(hz[current] / 1000000);
    return RSMI_OK;
}

/* On these GPUs the clock of the compute units is the graphics clock. */
static enum amd_answer read_clocks(struct amd_device *x, struct device_metric_row *row)
{
    int64_t gfx, mem, most;
    if (!rsmi->rsmi_dev_gpu_clk_freq_get)
        return AMD_NEVER;
    int result = read_clock(x, RSMI_CLOCK_GFX, &gfx, &most);
    int second = read_clock(x, RSMI_CLOCK_MEM, &mem, &most);
    amd_fill(&row->clock_gfx, gfx);
    amd_fill(&row->clock_sm, gfx);
    amd_fill(&row->clock_mem, mem);
    return answer_of(second == RSMI_OK ? second : result);
}

static enum amd_answer read_fan(struct amd_device *x, struct device_metric_row *row)
{
    int64_t speed;
    uint64_t most;
    if (!rsmi->rsmi_dev_fan_speed_get || !rsmi->rsmi_dev_fan_speed_max_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_fan_speed_get(x->number, 0, &speed);
    if (result == RSMI_OK)
        result = rsmi->rsmi_dev_fan_speed_max_get(x->number, 0, &most);
    if (result == RSMI_OK && most > 0 && most <= INT32_MAX && speed >= 0)
        amd_fill(&row->fan, speed * 100 / (int64_t)most);
    return answer_of(result);
}

static enum amd_answer read_voltage(struct amd_device *x, struct device_metric_row *row)
{
    int64_t mv;
    if (!rsmi->rsmi_dev_volt_metric_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_volt_metric_get(x->number, RSMI_VOLTAGE_GFX, RSMI_NOW, &mv);
    if (result == RSMI_OK)
        amd_fill(&row->voltage, mv);
    return answer_of(result);
}

static enum amd_answer read_replays(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t count;
    if (!rsmi->rsmi_dev_pci_replay_counter_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_pci_replay_counter_get(x->number, &count);
    if (result == RSMI_OK)
        amd_fill(&row->pcie_replays, (int64_t)count);
    return answer_of(result);
}

/* Reads the sum over the units that have ECC. A unit without counters adds nothing; if no unit has
 * counters, the sum is unknown. */
static enum amd_answer read_ecc(struct amd_device *x, struct device_metric_row *row)
{
    uint64_t blocks = 0, corrected = 0, uncorrected = 0;
    bool any = false;
    if (!rsmi->rsmi_dev_ecc_count_get || !rsmi->rsmi_dev_ecc_enabled_get)
        return AMD_NEVER;
    int result = rsmi->rsmi_dev_ecc_enabled_get(x->number, &blocks);
    if (result != RSMI_OK)
        return answer_of(result);
    for (int block = RSMI_BLOCK_FIRST; block <= RSMI_BLOCK_LAST; block <<= 1) {
        struct rsmi_errors errors;
        if (!(blocks & (uint64_t)block) ||
            rsmi->rsmi_dev_ecc_count_get(x->number, block, &errors) != RSMI_OK)
            continue;
        corrected += errors.corrected;
        uncorrected += errors.uncorrected;
        any = true;
    }
    if (any) {
        amd_fill(&row->ecc_corrected, (int64_t)corrected);
        amd_fill(&row->ecc_uncorrected, (int64_t)uncorrected);
    }
    return blocks ? AMD_ANSWERED : AMD_NEVER;
}

static enum amd_answer read_metrics(struct amd_device *x, struct device_metric_row *row)
{
    union {
        struct gpu_metrics m;
        uint8_t room[GPU_METRICS_ROOM];
    } u;
    if (!rsmi->rsmi_dev_gpu_metrics_info_get)
        return AMD_NEVER;
    memset(&u, 0xff, sizeof u);
    int result = rsmi->rsmi_dev_gpu_metrics_info_get(x->number, &u);
    if (result == RSMI_OK)
        amd_metrics_fill(x, &u.m, row);
    return answer_of(result);
}

/* ---- processes -------------------------------------------------------------------------- */

static bool uses(uint32_t pid, uint32_t number)
{
    uint32_t gpus[GPUS_MOST], count = GPUS_MOST;
    if (rsmi->rsmi_compute_process_gpus_get(pid, gpus, &count) != RSMI_OK)
        return false;
    for (uint32_t i = 0; i < count && i < GPUS_MOST; i++)
        if (gpus[i] == number)
            return true;
    return false;
}

static struct device_process process_of(const struct rsmi_process *p)
{
    return (struct device_process){
        .pid = p->pid,
        .memory_used = p->vram == UINT64_MAX ? CELL_NULL : (int64_t)p->vram,
        .sm_util = p->units > 100 ? CELL_NULL : (int64_t)p->units,
        .mem_util = CELL_NULL,
        .encoder_util = CELL_NULL,
        .decoder_util = CELL_NULL,
        .gpu_instance = CELL_NULL,
        .compute_instance = CELL_NULL,
    };
}

/* The library lists the processes of all devices together, with the sums over the devices that a
  * process uses. Newer libraries also report the part of one device; with older ones the numbers of
  * a process that uses several devices are unknown. */
static void set_process(struct amd_device *x, const struct rsmi_process *sum,
                        struct device_process *out)
{
    struct rsmi_process own;
    uint32_t gpus[GPUS_MOST], count = GPUS_MOST;
    memset(&own, 0xff, sizeof own);
    own.pid = sum->pid;
    if (rsmi->rsmi_compute_process_info_by_device_get) {
        if (rsmi->rsmi_compute_process_info_by_device_get(sum->pid, x->number, &own) != RSMI_OK)
            memset(&own, 0xff, sizeof own);
        own.pid = sum->pid;
    } else if (rsmi->rsmi_compute_process_gpus_get(sum->pid, gpus, &count) == RSMI_OK &&
               count == 1) {
        own = *sum;
    }
    *out = process_of(&own);
}

static int rocm_processes(struct amd_device *x, struct device_process *out, int max, int *count)
{
    struct rsmi_process all[LIST_MOST];
    uint32_t n = LIST_MOST;
    *count = 0;
    if (!rsmi->rsmi_compute_process_info_get || !rsmi->rsmi_compute_process_gpus_get)
        return GPUFL_E_NOT_BUILT;
    int result = rsmi->rsmi_compute_process_info_get(all, &n);
    if (result == RSMI_E_NOT_SUPPORTED || result == RSMI_E_NOT_YET)
        return GPUFL_E_NOT_BUILT;
    if (result == RSMI_E_NOT_FOUND)
        return 0; /* no process uses a GPU */
    if (result != RSMI_OK && result != RSMI_E_SIZE)
        return result == RSMI_E_PERMISSION ? GPUFL_E_PERM : GPUFL_E_UNAVAILABLE;
    for (uint32_t i = 0; i < n && i < LIST_MOST; i++) {
        if (!uses(all[i].pid, x->number))
            continue;
        if (*count < max)
            set_process(x, &all[i], &out[*count]);
        ++*count;
    }
    return *count < max ? *count : max;
}

static enum amd_answer read_processes(struct amd_device *x, struct device_metric_row *row)
{
    struct device_process none;
    int count = 0;
    int rc = rocm_processes(x, &none, 0, &count);
    if (rc == 0)
        amd_fill(&row->processes, count);
    return rc == 0 ? AMD_ANSWERED : rc == GPUFL_E_NOT_BUILT ? AMD_NEVER : AMD_NOT_NOW;
}

/* ---- devices ---------------------------------------------------------------------------- */

static int rocm_list(struct amd_device *out, int max)
{
    uint32_t count = 0;
    if (rsmi->rsmi_num_monitor_devices(&count) != RSMI_OK)
        return GPUFL_E_UNAVAILABLE;
    for (uint32_t i = 0; i < count && (int)i < max; i++) {
        uint64_t place = 0;
        out[i] = (struct amd_device){.number = i, .whole_metrics = true};
        if (rsmi->rsmi_dev_pci_id_get(i, &place) != RSMI_OK)
            continue;
        out[i].domain = (uint32_t)(place >> 32);
        out[i].location = (uint32_t)place & 0xffff;
        out[i].part = (uint32_t)place >> 28;
    }
    return (int)count;
}

static void rocm_describe(struct amd_device *x, struct device_row *row, struct device_text *text)
{
    uint64_t value, least;
    int64_t now;
    if (rsmi->rsmi_dev_name_get)
        (void)rsmi->rsmi_dev_name_get(x->number, text->name, sizeof text->name);
    if (rsmi->rsmi_dev_unique_id_get &&
        rsmi->rsmi_dev_unique_id_get(x->number, &value) == RSMI_OK && value)
        snprintf(text->uuid, sizeof text->uuid, "GPU-%016llx", (unsigned long long)value);
    if (rsmi->rsmi_dev_memory_total_get &&
        rsmi->rsmi_dev_memory_total_get(x->number, RSMI_MEMORY_VRAM, &value) == RSMI_OK)
        row->memory_total = (int64_t)value;
    if (rsmi->rsmi_dev_gpu_clk_freq_get) {
        (void)read_clock(x, RSMI_CLOCK_GFX, &now, &row->clock_max_sm);
        (void)read_clock(x, RSMI_CLOCK_MEM, &now, &row->clock_max_mem);
    }
    if (rsmi->rsmi_dev_power_cap_get &&
        rsmi->rsmi_dev_power_cap_get(x->number, 0, &value) == RSMI_OK)
        row->power_limit = (int64_t)(value / 1000);
    if (rsmi->rsmi_dev_power_cap_range_get &&
        rsmi->rsmi_dev_power_cap_range_get(x->number, 0, &value, &least) == RSMI_OK)
        row->power_limit_max = (int64_t)(value / 1000);
}

static void rocm_partitions(struct amd_device *x, char *compute, char *memory)
{
    if (!rsmi->rsmi_dev_compute_partition_get ||
        rsmi->rsmi_dev_compute_partition_get(x->number, compute, PARTITION_SIZE) != RSMI_OK)
        *compute = '\0';
    if (!rsmi->rsmi_dev_memory_partition_get ||
        rsmi->rsmi_dev_memory_partition_get(x->number, memory, PARTITION_SIZE) != RSMI_OK)
        *memory = '\0';
}

/* Single calls come first; the firmware's table fills the rest. */
static const struct amd_reader readers[] = {
    {read_busy, 0, false},
    {read_memory_busy, 0, false},
    {read_memory, 0, false},
    {read_edge, 0, false},
    {read_junction, 0, false},
    {read_memory_sensor, 0, false},
    {read_power, 0, false},
    {read_energy, SECOND, false},
    {read_clocks, 0, false},
    {read_fan, 0, false},
    {read_voltage, 0, false},
    {read_metrics, 0, false},
    {read_ecc, SECOND, false},
    {read_processes, SECOND, true},
    {read_replays, INT64_C(10) * SECOND, false},
    {read_power_limit, INT64_C(10) * SECOND, false},
};

const struct smi smi_rocm = {
    .library = &rsmi_library,
    .list = rocm_list,
    .describe = rocm_describe,
    .partitions = rocm_partitions,
    .processes = rocm_processes,
    .readers = readers,
    .reader_count = sizeof readers / sizeof *readers,
};
