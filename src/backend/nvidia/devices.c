/* devices.c - reads device metrics of NVIDIA GPUs through NVML.
 *
 * There is one table of readers: each fills the columns that it knows and leaves the others
 * CELL_NULL, so that "not supported" never looks like 0. A reader that a device does not support is
 * not called again. Slow readers have a period, and in between their columns are unknown, so that a
 * sampling interval of 50 ms can be kept. Tracing is not involved: libcupti is never loaded here.
 *
 * Threads: open on the owner's (see nvml.h), all other functions on the sampler's. */
#include "backend/nvidia/devices.h"

#include "backend/nvidia/device/inside.h"
#include "backend/nvidia/library/cuda.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PCIE_WINDOW = 2000000, PCIE_WINDOW_MAX = 50000000, SECOND = 1000000000 }; /* ns */

/* ---- readers --------------------------------------------------------------------------- */

static int read_utilization(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    struct nvml_utilization u;
    if (!n->nvmlDeviceGetUtilizationRates)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetUtilizationRates(d->handle, &u);
    if (result == NVML_OK) {
        row->gpu_util = u.gpu;
        row->mem_util = u.memory;
    }
    return result;
}

/* Like nvidia-smi, the second form does not count memory that the driver reserves as used. */
int device_memory(const struct nvml *n, nvml_device handle, int64_t *used, int64_t *total,
                  int64_t *reserved)
{
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
    struct nvml_memory first;
    if (n->nvmlDeviceGetMemoryInfo_v2 && n->nvmlDeviceGetMemoryInfo_v2(handle, &m) == NVML_OK) {
        *used = (int64_t)m.used;
        *total = (int64_t)m.total;
        *reserved = (int64_t)m.reserved;
        return NVML_OK;
    }
    if (!n->nvmlDeviceGetMemoryInfo)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetMemoryInfo(handle, &first);
    if (result == NVML_OK) {
        *used = (int64_t)first.used;
        *total = (int64_t)first.total;
        *reserved = (int64_t)(first.total - first.used - first.free);
    }
    return result;
}

static int read_memory(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    return device_memory(n, d->handle, &row->memory_used, &row->memory_total,
                         &row->memory_reserved);
}

static int read_temperature(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned celsius;
    if (!n->nvmlDeviceGetTemperature)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetTemperature(d->handle, NVML_SENSOR_GPU, &celsius);
    if (result == NVML_OK)
        row->temperature = celsius;
    return result;
}

static int read_power(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned mw;
    if (!n->nvmlDeviceGetPowerUsage)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetPowerUsage(d->handle, &mw);
    if (result == NVML_OK)
        row->power = mw;
    return result;
}

static int read_energy(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned long long mj;
    if (!n->nvmlDeviceGetTotalEnergyConsumption)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetTotalEnergyConsumption(d->handle, &mj);
    if (result == NVML_OK)
        row->energy = (int64_t)mj;
    return result;
}

static int64_t clock_of(const struct nvml *n, struct device *d, int which, int *result)
{
    unsigned mhz;
    int r = n->nvmlDeviceGetClockInfo(d->handle, which, &mhz);
    if (r != NVML_OK)
        *result = r;
    return r == NVML_OK ? (int64_t)mhz : CELL_NULL;
}

static int read_clocks(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    int result = NVML_OK;
    if (!n->nvmlDeviceGetClockInfo)
        return NVML_E_NOT_SUPPORTED;
    row->clock_sm = clock_of(n, d, NVML_CLOCK_OF_SM, &result);
    row->clock_gfx = clock_of(n, d, NVML_CLOCK_GFX, &result);
    row->clock_mem = clock_of(n, d, NVML_CLOCK_OF_MEM, &result);
    bool none =
        row->clock_sm == CELL_NULL && row->clock_gfx == CELL_NULL && row->clock_mem == CELL_NULL;
    return none ? result : NVML_OK;
}

static int read_throttle(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned long long reasons;
    int result = NVML_E_NOT_SUPPORTED;
    if (n->nvmlDeviceGetCurrentClocksEventReasons)
        result = n->nvmlDeviceGetCurrentClocksEventReasons(d->handle, &reasons);
    if (result != NVML_OK && n->nvmlDeviceGetCurrentClocksThrottleReasons) /* its older name */
        result = n->nvmlDeviceGetCurrentClocksThrottleReasons(d->handle, &reasons);
    if (result == NVML_OK)
        row->throttle = (int64_t)reasons;
    return result;
}

static int read_fan(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned percent;
    if (!n->nvmlDeviceGetFanSpeed)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetFanSpeed(d->handle, &percent);
    if (result == NVML_OK)
        row->fan = percent;
    return result;
}

static int read_ecc(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned long long count;
    if (!n->nvmlDeviceGetTotalEccErrors)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetTotalEccErrors(d->handle, NVML_ECC_CORRECTED,
                                                NVML_ECC_SINCE_DRIVER_LOAD, &count);
    if (result == NVML_OK)
        row->ecc_corrected = (int64_t)count;
    int second = n->nvmlDeviceGetTotalEccErrors(d->handle, NVML_ECC_UNCORRECTED,
                                                NVML_ECC_SINCE_DRIVER_LOAD, &count);
    if (second == NVML_OK)
        row->ecc_uncorrected = (int64_t)count;
    return second == NVML_OK ? NVML_OK : result; /* a device may count one kind only */
}

enum { CLIENTS_MOST = 64 }; /* processes whose ids are compared */

/* Clients of MPS are in a list of their own; in the other list only their server is. clients: their
 * number. Returns how many processes use the device: the clients, and the processes that are not
 * clients, without the server. */
static unsigned with_clients(const struct nvml *n, const struct device *d, unsigned clients,
                             unsigned others)
{
    struct nvml_process client[CLIENTS_MOST], other[CLIENTS_MOST];
    unsigned alone = 0;
    if (clients <= CLIENTS_MOST && others <= CLIENTS_MOST &&
        n->nvmlDeviceGetMPSComputeRunningProcesses_v3(d->handle, &clients, client) == NVML_OK &&
        n->nvmlDeviceGetComputeRunningProcesses_v3(d->handle, &others, other) == NVML_OK) {
        for (unsigned i = 0; i < others; i++) {
            unsigned k = 0;
            while (k < clients && client[k].pid != other[i].pid)
                k++;
            alone += k == clients;
        }
    } else {
        alone = others; /* very many, or they change: more than one anyway */
    }
    return clients + (alone ? alone - 1 : 0);
}

static int read_processes(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned count = 0, clients = 0; /* no room: the library only returns how many there are */
    if (!n->nvmlDeviceGetComputeRunningProcesses_v3)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetComputeRunningProcesses_v3(d->handle, &count, NULL);
    if (result != NVML_OK && result != NVML_E_SIZE)
        return result;
    if (n->nvmlDeviceGetMPSComputeRunningProcesses_v3)
        (void)n->nvmlDeviceGetMPSComputeRunningProcesses_v3(d->handle, &clients, NULL);
    row->processes = clients ? with_clients(n, d, clients, count) : count;
    return NVML_OK;
}

/* ---- fields of the generic query ------------------------------------------------------- */

bool device_field(const struct nvml_field *f, unsigned long long *v)
{
    if (f->result != NVML_OK)
        return false;
    switch (f->type) {
    case NVML_VALUE_U16:
        *v = f->value.u16;
        return true;
    case NVML_VALUE_U32:
        *v = f->value.u32;
        return true;
    case NVML_VALUE_I32:
        *v = (unsigned long long)f->value.i32;
        return f->value.i32 >= 0;
    case NVML_VALUE_ULONG:
        *v = f->value.ulong;
        return true;
    case NVML_VALUE_U64:
        *v = f->value.u64;
        return true;
    case NVML_VALUE_I64:
        *v = (unsigned long long)f->value.i64;
        return f->value.i64 >= 0;
    default:
        return false;
    }
}

static int read_memory_temperature(const struct nvml *n, struct device *d,
                                   struct device_metric_row *row)
{
    struct nvml_field f = {.id = NVML_FIELD_MEMORY_TEMPERATURE};
    unsigned long long celsius;
    if (!n->nvmlDeviceGetFieldValues)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetFieldValues(d->handle, 1, &f);
    if (result != NVML_OK || f.result != NVML_OK)
        return result != NVML_OK ? result : f.result;
    if (device_field(&f, &celsius))
        row->temperature_memory = (int64_t)celsius;
    return NVML_OK;
}

/* ---- PCIe ------------------------------------------------------------------------------ */

int device_fields(const struct nvml *n, const struct device *d, struct nvml_field *f, int count)
{
    if (!n->nvmlDeviceGetFieldValues)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetFieldValues(d->handle, count, f);
    for (int i = 0; i < count && result == NVML_OK; i++)
        result = f[i].result;
    return result;
}

/* The rate is computed from byte counters, in a short window inside the sample: today's counters
 * have 32 bits, so that with a fast link they wrap within 70 ms, and the difference between two
 * samples would mean nothing. */
static int pcie_read(const struct nvml *n, struct device *d, struct counter *tx, struct counter *rx)
{
    struct nvml_field f[] = {{.id = NVML_FIELD_PCIE_TX_BYTES}, {.id = NVML_FIELD_PCIE_RX_BYTES}};
    int result = device_fields(n, d, f, 2);
    if (result != NVML_OK)
        return result;
    tx->narrow = f[0].type == NVML_VALUE_U32;
    rx->narrow = f[1].type == NVML_VALUE_U32;
    bool known = device_field(&f[0], &tx->value) && device_field(&f[1], &rx->value);
    return known ? NVML_OK : NVML_E_NOT_SUPPORTED;
}

static int64_t pcie_rate(const struct counter *from, const struct counter *to, int64_t elapsed)
{
    unsigned long long bytes = to->value - from->value;
    if (to->narrow)
        bytes = (uint32_t)bytes;
    return (int64_t)((double)bytes * 1e9 / (double)elapsed);
}

static int pcie_begin(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    (void)row;
    d->pcie_time = 0;
    int result = pcie_read(n, d, &d->pcie_tx, &d->pcie_rx);
    if (result == NVML_OK)
        d->pcie_time = clock_mono();
    return result;
}

static int pcie_end(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    struct counter tx, rx;
    int64_t elapsed = clock_mono() - d->pcie_time;
    if (!d->pcie_time)
        return NVML_OK;
    if (elapsed < PCIE_WINDOW) /* too short for a measurement */
        nanosleep(&(struct timespec){.tv_nsec = PCIE_WINDOW - elapsed}, NULL);
    if (pcie_read(n, d, &tx, &rx) != NVML_OK)
        return NVML_OK;
    elapsed = clock_mono() - d->pcie_time;
    if (elapsed <= 0 || elapsed > PCIE_WINDOW_MAX)
        return NVML_OK;
    row->pcie_tx = pcie_rate(&d->pcie_tx, &tx, elapsed);
    row->pcie_rx = pcie_rate(&d->pcie_rx, &rx, elapsed);
    return NVML_OK;
}

/* Serves drivers without the counters: each of the two calls measures for 20 ms. */
static int read_pcie_slowly(const struct nvml *n, struct device *d, struct device_metric_row *row)
{
    unsigned kb;
    if (d->pcie_time)
        return NVML_OK;
    if (!n->nvmlDeviceGetPcieThroughput)
        return NVML_E_NOT_SUPPORTED;
    int result = n->nvmlDeviceGetPcieThroughput(d->handle, NVML_PCIE_TX, &kb);
    if (result != NVML_OK)
        return result;
    row->pcie_tx = (int64_t)kb * 1024;
    result = n->nvmlDeviceGetPcieThroughput(d->handle, NVML_PCIE_RX, &kb);
    if (result == NVML_OK)
        row->pcie_rx = (int64_t)kb * 1024;
    return result;
}

/* The order matters: the readers between the two PCIe rows run during the PCIe window. Measured on
 * an H200: energy takes 2.4 ms a call, the slow PCIe form 41 ms, the others less than 0.4 ms. */
static const struct {
    reader_fn *read;
    int64_t period; /* ns at least between two readings; 0: with every sample */
    enum { EVERYONE, WIDE, ACTIVITY } who;
} groups[] = {
    {pcie_begin, 0, EVERYONE},
    {read_utilization, 0, EVERYONE},
    {read_memory, 0, EVERYONE},
    {read_temperature, 0, EVERYONE},
    {read_memory_temperature, 0, EVERYONE},
    {read_power, 0, EVERYONE},
    {read_energy, SECOND, EVERYONE},
    {read_clocks, 0, EVERYONE},
    {read_throttle, 0, EVERYONE},
    {read_fan, 0, EVERYONE},
    {read_ecc, SECOND, EVERYONE},
    {read_processes, SECOND, EVERYONE},
    {pcie_end, 0, EVERYONE},
    {read_pcie_slowly, SECOND, EVERYONE},
    {wide_links, INT64_C(2) * SECOND, WIDE},
    {wide_activity, INT64_C(2) * SECOND, ACTIVITY},
    {wide_codecs, INT64_C(5) * SECOND, WIDE},
    {wide_replays, INT64_C(10) * SECOND, WIDE},
    {wide_power_limit, INT64_C(10) * SECOND, WIDE},
    {wide_remapped, INT64_C(60) * SECOND, WIDE},
};
enum { GROUP_COUNT = sizeof groups / sizeof *groups };
_Static_assert((int)GROUP_COUNT <= (int)GROUP_MAX, "due[] has a cell for each group");

/* ---- ops ------------------------------------------------------------------------------- */

static void row_clear(void *row, size_t columns)
{
    int64_t *cells = row;
    for (size_t i = 0; i < columns; i++)
        cells[i] = CELL_NULL;
}

static void devices_close(struct devices *d)
{
    if (!d)
        return;
    device_watch_close(d);
    nvml_put();
    mem_free(d->items);
    mem_free(d);
}

static int devices_enumerate(struct devices *d, struct err *e)
{
    unsigned count = 0;
    int result = d->nvml->nvmlDeviceGetCount_v2(&count);
    if (result != NVML_OK)
        return err_set_vendor(e, GPUFL_E_VENDOR, result, "NVML does not list the GPUs: %s",
                              d->nvml->nvmlErrorString(result));
    if (count == 0)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "NVIDIA's driver is there but shows no GPU: start the container with access "
                       "to the GPUs (docker run --gpus all), or check nvidia-smi");
    d->items = mem_array(count, sizeof *d->items);
    if (!d->items)
        return err_nomem(e);
    for (unsigned i = 0; i < count; i++) {
        struct device *item = &d->items[i];
        if (d->nvml->nvmlDeviceGetHandleByIndex_v2(i, &item->handle) != NVML_OK)
            item->handle = NULL; /* present, but not accessible: every cell stays unknown */
        else if (d->nvml->nvmlDeviceGetPciInfo_v3)
            d->nvml->nvmlDeviceGetPciInfo_v3(item->handle, &item->pci);
    }
    d->count = (int)count;
    return 0;
}

static int devices_open(struct devices **out, struct err *e)
{
    *out = NULL;
    const struct nvml *nvml;
    int rc = nvml_get(&nvml, e);
    if (rc)
        return rc;
    struct devices *d = mem_zalloc(sizeof *d);
    if (!d) {
        nvml_put();
        err_nomem(e);
        return GPUFL_E_NOMEM;
    }
    d->nvml = nvml;
    rc = devices_enumerate(d, e);
    if (rc) {
        devices_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

static int devices_count(struct devices *d)
{
    return d->count;
}

static void description_clear(struct device_row *row, struct device_text *text)
{
    row_clear(row, COL_device_COUNT);
    memset(text, 0, sizeof *text);
    row->id = row->name = row->uuid = row->vendor = row->pci = row->arch = row->driver = 0;
    snprintf(text->vendor, sizeof text->vendor, "nvidia");
}

static void describe_clocks(const struct nvml *n, struct device *d, struct device_row *row)
{
    unsigned mhz;
    if (!n->nvmlDeviceGetMaxClockInfo)
        return;
    if (n->nvmlDeviceGetMaxClockInfo(d->handle, NVML_CLOCK_OF_SM, &mhz) == NVML_OK)
        row->clock_max_sm = mhz;
    if (n->nvmlDeviceGetMaxClockInfo(d->handle, NVML_CLOCK_OF_MEM, &mhz) == NVML_OK)
        row->clock_max_mem = mhz;
}

static void describe_power(const struct nvml *n, struct device *d, struct device_row *row)
{
    unsigned now, least, most;
    if (n->nvmlDeviceGetEnforcedPowerLimit &&
        n->nvmlDeviceGetEnforcedPowerLimit(d->handle, &now) == NVML_OK)
        row->power_limit = now;
    if (n->nvmlDeviceGetPowerManagementLimitConstraints &&
        n->nvmlDeviceGetPowerManagementLimitConstraints(d->handle, &least, &most) == NVML_OK)
        row->power_limit_max = most;
}

static void describe_texts(const struct nvml *n, struct device *d, struct device_text *text)
{
    if (n->nvmlDeviceGetName)
        n->nvmlDeviceGetName(d->handle, text->name, sizeof text->name);
    if (n->nvmlDeviceGetUUID)
        n->nvmlDeviceGetUUID(d->handle, text->uuid, sizeof text->uuid);
    if (n->nvmlSystemGetDriverVersion)
        n->nvmlSystemGetDriverVersion(text->driver, sizeof text->driver);
    snprintf(text->pci, sizeof text->pci, "%s", d->pci.bus_id);
}

/* Lists FP32 cores of a multiprocessor by compute capability (CUDA C++ Programming Guide, table of
 * arithmetic throughput). */
static const struct {
    int major, minor;
    unsigned cores;
} capabilities[] = {
    {5, 0, 128}, {5, 2, 128}, {5, 3, 128},  {6, 0, 64},   {6, 1, 128},  {6, 2, 128},
    {7, 0, 64},  {7, 2, 64},  {7, 5, 64},   {8, 0, 64},   {8, 6, 128},  {8, 7, 128},
    {8, 9, 128}, {9, 0, 128}, {10, 0, 128}, {10, 3, 128}, {12, 0, 128}, {12, 1, 128},
};

/* NVML has the number of cores, not of multiprocessors. The driver, which knows that, is not
 * called: this runs on the sampler's thread, perhaps while the program is inside cuInit
 * (nvml.h). */
static void describe_multiprocessors(const struct nvml *n, struct device *d, struct device_row *row)
{
    unsigned cores = 0;
    if (!n->nvmlDeviceGetNumGpuCores || n->nvmlDeviceGetNumGpuCores(d->handle, &cores) != NVML_OK)
        return;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        if (capabilities[i].major == row->compute_major &&
            capabilities[i].minor == row->compute_minor && cores % capabilities[i].cores == 0)
            row->sm_count = cores / capabilities[i].cores;
}

/* Adds NVML's data to those that row and text already contain. */
static void describe(const struct nvml *n, struct device *item, struct device_row *row,
                     struct device_text *text)
{
    struct nvml_memory memory;
    if (n->nvmlDeviceGetMemoryInfo && n->nvmlDeviceGetMemoryInfo(item->handle, &memory) == NVML_OK)
        row->memory_total = (int64_t)memory.total;
    int major, minor;
    if (n->nvmlDeviceGetCudaComputeCapability &&
        n->nvmlDeviceGetCudaComputeCapability(item->handle, &major, &minor) == NVML_OK) {
        row->compute_major = major;
        row->compute_minor = minor;
        snprintf(text->arch, sizeof text->arch, "sm_%d%d", major, minor);
    }
    if (row->sm_count == CELL_NULL)
        describe_multiprocessors(n, item, row);
    describe_clocks(n, item, row);
    describe_power(n, item, row);
    describe_texts(n, item, text);
}

static int devices_describe(struct devices *d, int index, struct device_row *row,
                            struct device_text *text)
{
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    description_clear(row, text);
    row->index = index;
    if (d->items[index].handle)
        describe(d->nvml, &d->items[index], row, text);
    return 0;
}

static int devices_sample(struct devices *d, int index, struct device_metric_row *row)
{
    if (index < 0 || index >= d->count)
        return GPUFL_E_INVAL;
    struct device *item = &d->items[index];
    int64_t time = row->time, device = row->device;
    row_clear(row, COL_device_metric_COUNT);
    row->time = time;
    row->device = device;
    if (!item->handle)
        return 0;
    int64_t now = clock_mono();
    bool lost = false;
    for (unsigned i = 0; i < GROUP_COUNT; i++) {
        bool asked = groups[i].who == EVERYONE || (groups[i].who == WIDE ? d->wide : d->activity);
        if (!asked || item->unsupported >> i & 1 || now < item->due[i])
            continue;
        int result = groups[i].read(d->nvml, item, row);
        if (result == NVML_E_NOT_SUPPORTED || result == NVML_E_FUNCTION_NOT_FOUND)
            item->unsupported |= 1u << i;
        lost |= result == NVML_E_GPU_IS_LOST;
        /* A tenth earlier, so that a caller that samples once a period never comes too soon. */
        item->due[i] = groups[i].period ? now + groups[i].period / 10 * 9 : 0;
    }
    return lost ? GPUFL_E_UNAVAILABLE : 0;
}

void nvidia_device_describe(int ordinal, struct device_row *row, struct device_text *text)
{
    const struct cuda *cuda = cuda_loaded();
    struct devices *d;
    unsigned domain, bus, slot;
    description_clear(row, text);
    row->index = ordinal;
    if (!cuda || cuda_describe(cuda, ordinal, row, text) != 0 ||
        sscanf(text->pci, "%x:%x:%x", &domain, &bus, &slot) != 3 || devices_open(&d, NULL) != 0)
        return;
    for (int i = 0; i < d->count; i++) {
        const struct nvml_pci *pci = &d->items[i].pci;
        if (d->items[i].handle && pci->domain == domain && pci->bus == bus && pci->device == slot)
            describe(d->nvml, &d->items[i], row, text);
    }
    devices_close(d);
}

const struct device_ops nvidia_devices = {
    .watch = &nvidia_device_watch,
    .open = devices_open,
    .count = devices_count,
    .describe = devices_describe,
    .sample = devices_sample,
    .close = devices_close,
};
