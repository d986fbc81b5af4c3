/* test_device_watch.c - tests the monitor's questions to NVML, except samples, over a library that
 * answers as the test says: unknown numbers stay unknown, and if a structure is longer in a newer
 * library, only the common part is read. */
#include "backend/nvidia/devices.h"
#include "backend/nvidia/library/nvml.h"
#include "base/clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_FOUND = 6, WIDE = 400 };

static struct nvml library;
static struct nvml_process compute[2000], graphics[4], clients[2];
static unsigned compute_count, graphics_count, client_count;
static int compute_result;
static struct nvml_process_use uses[4];
static unsigned use_count;
static unsigned long long asked_since;
static unsigned long long kib;
static int gpm_samples, gpm_result, part_reads;
static struct nvml_event event;
static int event_result;
static unsigned long long registered;
static unsigned mig, parts, pending;
static int64_t now;
static struct devices *devices;

int nvml_get(const struct nvml **out, struct err *e)
{
    (void)e;
    *out = &library;
    return 0;
}

void nvml_put(void)
{
}

static int get_count(unsigned *count)
{
    *count = 1;
    return NVML_OK;
}

static int get_handle(unsigned index, nvml_device *device)
{
    *device = (nvml_device)(uintptr_t)(index + 1);
    return NVML_OK;
}

static int list(struct nvml_process *from, unsigned have, unsigned *count, struct nvml_process *out)
{
    bool fits = out && *count >= have;
    if (fits)
        memcpy(out, from, have * sizeof *out);
    *count = have;
    return fits ? NVML_OK : NVML_E_SIZE;
}

static int get_compute(nvml_device d, unsigned *count, struct nvml_process *out)
{
    (void)d;
    return compute_result ? compute_result : list(compute, compute_count, count, out);
}

static int get_clients(nvml_device d, unsigned *count, struct nvml_process *out)
{
    (void)d;
    return list(clients, client_count, count, out);
}

static int get_graphics(nvml_device d, unsigned *count, struct nvml_process *out)
{
    (void)d;
    return list(graphics, graphics_count, count, out);
}

static int get_uses(nvml_device d, struct nvml_process_use *out, unsigned *count,
                    unsigned long long seen)
{
    (void)d;
    asked_since = seen;
    memcpy(out, uses, use_count * sizeof *out);
    *count = use_count;
    return use_count ? NVML_OK : NOT_FOUND;
}

static int get_fields(nvml_device d, int count, struct nvml_field *f)
{
    (void)d;
    for (int i = 0; i < count; i++) {
        bool link = f[i].id == NVML_FIELD_NVLINK_TX || f[i].id == NVML_FIELD_NVLINK_RX;
        f[i].result = link ? NVML_OK : NVML_E_NOT_SUPPORTED;
        f[i].type = NVML_VALUE_U64;
        f[i].value.u64 = kib * (f[i].id == NVML_FIELD_NVLINK_RX ? 2 : 1);
    }
    return NVML_OK;
}

static int gpm_support(nvml_device d, struct nvml_gpm_support *s)
{
    (void)d;
    s->supported = 1;
    return s->version == NVML_GPM_SUPPORT ? NVML_OK : NVML_E_UNKNOWN;
}

static int gpm_alloc(nvml_gpm_sample *s)
{
    gpm_samples++;
    *s = malloc(1);
    return NVML_OK;
}

static int gpm_free(nvml_gpm_sample s)
{
    gpm_samples--;
    free(s);
    return NVML_OK;
}

static int gpm_get(nvml_device d, nvml_gpm_sample s)
{
    (void)d, (void)s;
    return gpm_result;
}

static int gpm_get_part(nvml_device d, unsigned gpu_instance, nvml_gpm_sample s)
{
    (void)s;
    assert_ptr_equal(d, (nvml_device)(uintptr_t)1);
    part_reads += gpu_instance == 100;
    return gpm_result;
}

/* The library's own structure has room for hundreds of metrics: like it, this fills the first
 * `count` of them. */
static int gpm_metrics(struct nvml_gpm_metrics *m)
{
    static const double values[] = {75, 50, 25.5, WIDE, 0};
    assert_true(m->from != m->to);
    for (unsigned i = 0; i < m->count; i++) {
        m->metrics[i].result = i == 4 ? NVML_E_NOT_SUPPORTED : NVML_OK;
        m->metrics[i].value = values[i];
    }
    return NVML_OK;
}

static int remapped_rows(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *waits,
                         unsigned *failed)
{
    (void)d;
    *corrected = 3;
    *uncorrected = 2;
    *waits = pending;
    *failed = 0;
    return NVML_OK;
}

static int memory_v1(nvml_device d, struct nvml_memory *m)
{
    (void)d;
    *m = (struct nvml_memory){.total = 1000, .used = 300, .free = 650};
    return NVML_OK;
}

static int memory_v2(nvml_device d, struct nvml_memory_v2 *m)
{
    (void)d;
    assert_int_equal(m->version, NVML_MEMORY_V2);
    *m = (struct nvml_memory_v2){.total = 1000, .used = 250, .reserved = 100, .free = 650};
    return NVML_OK;
}

static int set_create(nvml_event_set *s)
{
    *s = malloc(1);
    return NVML_OK;
}

static int set_free(nvml_event_set s)
{
    free(s);
    return NVML_OK;
}

static int supported_events(nvml_device d, unsigned long long *types)
{
    (void)d;
    *types = NVML_EVENT_XID | 4; /* 4: a type that the monitor does not want */
    return NVML_OK;
}

static int register_events(nvml_device d, unsigned long long types, nvml_event_set s)
{
    (void)d, (void)s;
    registered = types;
    return NVML_OK;
}

static int set_wait(nvml_event_set s, struct nvml_event *out, unsigned ms)
{
    (void)s;
    assert_int_equal(ms, 1500);
    *out = event;
    return event_result;
}

static int mig_mode(nvml_device d, unsigned *current, unsigned *next)
{
    (void)d;
    *current = mig;
    *next = 1;
    return NVML_OK;
}

static int most_parts(nvml_device d, unsigned *count)
{
    (void)d;
    *count = 7;
    return NVML_OK;
}

static int get_part(nvml_device d, unsigned index, nvml_device *part)
{
    (void)d;
    *part = (nvml_device)(uintptr_t)(100 + index);
    return parts >> index & 1 ? NVML_OK : NOT_FOUND;
}

static int part_id(nvml_device part, unsigned *id)
{
    *id = (unsigned)(uintptr_t)part;
    return NVML_OK;
}

static int same_part(nvml_device part, unsigned *id)
{
    (void)part;
    *id = 100;
    return NVML_OK;
}

static int64_t test_clock(void)
{
    return now;
}

static void fill(void)
{
    library = (struct nvml){
        .nvmlDeviceGetCount_v2 = get_count,
        .nvmlDeviceGetHandleByIndex_v2 = get_handle,
        .nvmlDeviceGetComputeRunningProcesses_v3 = get_compute,
        .nvmlDeviceGetGraphicsRunningProcesses_v3 = get_graphics,
        .nvmlDeviceGetProcessUtilization = get_uses,
        .nvmlDeviceGetFieldValues = get_fields,
        .nvmlGpmQueryDeviceSupport = gpm_support,
        .nvmlGpmSampleAlloc = gpm_alloc,
        .nvmlGpmSampleFree = gpm_free,
        .nvmlGpmSampleGet = gpm_get,
        .nvmlGpmMigSampleGet = gpm_get_part,
        .nvmlGpmMetricsGet = gpm_metrics,
        .nvmlDeviceGetRemappedRows = remapped_rows,
        .nvmlEventSetCreate = set_create,
        .nvmlEventSetFree = set_free,
        .nvmlDeviceGetSupportedEventTypes = supported_events,
        .nvmlDeviceRegisterEvents = register_events,
        .nvmlEventSetWait_v2 = set_wait,
        .nvmlDeviceGetMigMode = mig_mode,
        .nvmlDeviceGetMaxMigDeviceCount = most_parts,
        .nvmlDeviceGetMigDeviceHandleByIndex = get_part,
        .nvmlDeviceGetGpuInstanceId = part_id,
    };
}

static int setup(void **state)
{
    (void)state;
    fill();
    compute_count = graphics_count = client_count = use_count = mig = parts = 0;
    compute_result = gpm_result = NVML_OK;
    kib = 1000;
    now = 1000000000;
    clock_set_source(test_clock, 0);
    int rc = nvidia_devices.open(&devices, NULL);
    nvidia_devices.watch->widen(devices, true);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    nvidia_devices.close(devices);
    assert_int_equal(gpm_samples, 0);
    clock_set_source(NULL, 0);
    return 0;
}

static struct device_metric_row sample(void)
{
    struct device_metric_row row = {0};
    assert_int_equal(nvidia_devices.sample(devices, 0, &row), 0);
    now += 2000000000;
    return row;
}

TEST(links)
{
    assert_true(sample().nvlink_tx == CELL_NULL); /* a rate needs two readings */
    kib += 500;
    struct device_metric_row row = sample();
    assert_int_equal(row.nvlink_tx, 250 * 1024);
    assert_int_equal(row.nvlink_rx, 500 * 1024);
    kib = 10; /* the driver was loaded again */
    row = sample();
    assert_true(row.nvlink_tx == CELL_NULL && row.nvlink_rx == CELL_NULL);
    kib += 2;
    assert_int_equal(sample().nvlink_tx, 1024);
}

TEST(activity)
{
    assert_true(sample().sm_active == CELL_NULL);
    struct device_metric_row row = sample();
    assert_int_equal(row.graphics_active, 7500);
    assert_int_equal(row.sm_active, 5000);
    assert_int_equal(row.sm_occupancy, 2550);
    assert_true(row.tensor_active == CELL_NULL); /* 400 % is no share */
    assert_true(row.dram_active == CELL_NULL);   /* not supported is not zero */
    gpm_result = NVML_E_UNKNOWN;
    assert_true(sample().sm_active == CELL_NULL);
    gpm_result = NVML_OK;
    assert_true(sample().sm_active == CELL_NULL); /* the sample before is missing */
    assert_int_equal(sample().sm_active, 5000);
}

/* Both forms of the driver's answer give the memory that is neither in use nor free. */
TEST(reserved_memory)
{
    library.nvmlDeviceGetMemoryInfo = memory_v1;
    struct device_metric_row row = sample();
    assert_int_equal(row.memory_used, 300);
    assert_int_equal(row.memory_reserved, 50);
    library.nvmlDeviceGetMemoryInfo_v2 = memory_v2;
    row = sample();
    assert_int_equal(row.memory_used, 250);
    assert_int_equal(row.memory_reserved, 100);
}

TEST(rows_that_wait_for_a_reset)
{
    pending = 0;
    struct device_metric_row row = sample();
    assert_int_equal(row.remap_pending, 0);
    assert_int_equal(row.remap_failed, 0);
    assert_int_equal(row.remapped_uncorrected, 2);
    pending = 1;
    assert_true(sample().remap_pending == CELL_NULL); /* read once a minute */
    now += 60 * INT64_C(1000000000);
    assert_int_equal(sample().remap_pending, 1);
}

static int list_parts(struct device_instance *out)
{
    int count = 0;
    assert_int_equal(nvidia_devices.watch->instances(devices, 0, out, 7, &count), 0);
    return count;
}

/* Counters of a GPU instance are since the list before, and are read once for all its compute
 * instances; a part that is gone is forgotten. */
TEST(activity_of_parts)
{
    struct device_instance out[7];
    mig = 1;
    parts = 5;
    part_reads = 0;
    library.nvmlDeviceGetMemoryInfo = memory_v1;
    assert_int_equal(list_parts(out), 2);
    assert_true(out[0].sm_active == CELL_NULL && out[0].memory_reserved == 50);
    assert_int_equal(list_parts(out), 2);
    assert_int_equal(out[1].gpu_instance, 102);
    assert_int_equal(out[1].graphics_active, 7500);
    assert_int_equal(out[1].sm_active, 5000);
    assert_true(out[1].tensor_active == CELL_NULL && out[1].dram_active == CELL_NULL);
    assert_int_equal(part_reads, 2);
    assert_int_equal(gpm_samples, 4);
    parts = 1;
    assert_int_equal(list_parts(out), 1);
    assert_int_equal(gpm_samples, 2);
    parts = 5;
    assert_int_equal(list_parts(out), 2);
    assert_int_equal(out[0].sm_active, 5000);
    assert_true(out[1].sm_active == CELL_NULL); /* a new part with the same number */
    library.nvmlDeviceGetGpuInstanceId = same_part;
    part_reads = 0;
    assert_int_equal(list_parts(out), 2);
    assert_int_equal(out[1].sm_active, out[0].sm_active);
    assert_int_equal(part_reads, 1);
    gpm_result = NVML_E_UNKNOWN;
    assert_int_equal(list_parts(out), 2);
    assert_true(out[0].sm_active == CELL_NULL);
}

TEST(narrow_without_widen)
{
    nvidia_devices.close(devices);
    assert_int_equal(nvidia_devices.open(&devices, NULL), 0);
    sample();
    kib += 100;
    struct device_metric_row row = sample();
    assert_true(row.nvlink_tx == CELL_NULL && row.sm_active == CELL_NULL);
}

TEST(processes)
{
    struct device_process out[3];
    int count;
    compute[0] = (struct nvml_process){5, UINT64_MAX, UINT32_MAX, UINT32_MAX};
    compute[1] = (struct nvml_process){6, 4096, 1, 0};
    graphics[0] = (struct nvml_process){6, 4096, 1, 0};
    graphics[1] = (struct nvml_process){7, 1, UINT32_MAX, UINT32_MAX};
    compute_count = graphics_count = 2;
    uses[0] = (struct nvml_process_use){6, 100, 40, 3, 0, 101};
    uses[1] = (struct nvml_process_use){5, 90, 4000000, 0, 0, 0};
    use_count = 2;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count), 3);
    assert_int_equal(count, 3);
    assert_true(out[0].memory_used == CELL_NULL && out[0].gpu_instance == CELL_NULL);
    assert_true(out[0].sm_util == CELL_NULL); /* 4000000 % is no share */
    assert_int_equal(out[1].memory_used, 4096);
    assert_int_equal(out[1].gpu_instance, 1);
    assert_int_equal(out[1].sm_util, 40);
    assert_int_equal(out[1].encoder_util, 0);
    assert_true(out[1].decoder_util == CELL_NULL);
    assert_int_equal(out[2].pid, 7);
    assert_int_equal(asked_since, 0);
    use_count = 0;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 2, &count), 2);
    assert_int_equal(asked_since, 100);
    assert_int_equal(count, 3); /* one has no room */
    assert_true(out[1].sm_util == CELL_NULL);
    compute_result = NVML_E_GPU_IS_LOST;
    graphics_count = 0;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count), 0);
    library.nvmlDeviceGetGraphicsRunningProcesses_v3 = NULL;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count),
                     GPUFL_E_UNAVAILABLE);
    compute_result = NVML_E_NOT_SUPPORTED;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count),
                     GPUFL_E_NOT_BUILT);
}

/* Clients of MPS use the device; MPS's server, which the list of compute processes names in their
 * place, does not. A driver may name clients in both lists. */
TEST(clients_of_mps)
{
    struct device_process out[3];
    int count;
    library.nvmlDeviceGetMPSComputeRunningProcesses_v3 = get_clients;
    compute[0] = (struct nvml_process){5, 4096, UINT32_MAX, UINT32_MAX}; /* the server */
    clients[0] = (struct nvml_process){6, 4096, UINT32_MAX, UINT32_MAX};
    clients[1] = (struct nvml_process){7, 4096, UINT32_MAX, UINT32_MAX};
    compute_count = 1;
    assert_int_equal(sample().processes, 1); /* without a client it is like any process */
    client_count = 1;
    assert_int_equal(sample().processes, 1);
    client_count = 2;
    assert_int_equal(sample().processes, 2);
    compute[1] = clients[0];
    compute_count = 2;
    assert_int_equal(sample().processes, 2);
    compute[1].pid = 8; /* a process that is no client */
    assert_int_equal(sample().processes, 3);
    compute_count = 1;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count), 3);
    assert_int_equal(count, 3);
}

/* More processes than the first buffer has room for are all listed. If they are too many for any
 * buffer, they are counted, and none is listed. */
TEST(many_processes)
{
    enum { MANY = 1500 };
    static struct device_process out[MANY];
    int count;
    for (unsigned i = 0; i < MANY; i++)
        compute[i] = (struct nvml_process){1000 + i, 1, UINT32_MAX, UINT32_MAX};
    compute_count = MANY;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, MANY, &count), MANY);
    assert_int_equal(count, MANY);
    assert_int_equal(out[MANY - 1].pid, 1000 + MANY - 1);
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, 3, &count), 3);
    assert_int_equal(count, MANY);
    compute_count = 1 << 16;
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, out, MANY, &count), 0);
    assert_int_equal(count, 1 << 16);
}

TEST(instances)
{
    struct device_instance out[2];
    int count = 9;
    assert_int_equal(nvidia_devices.watch->instances(devices, 0, out, 2, &count), 0);
    assert_int_equal(count, 0); /* the GPU has no parts */
    mig = 1;
    parts = 0x1a; /* the numbers 1, 3 and 4: a number may be missing */
    assert_int_equal(nvidia_devices.watch->instances(devices, 0, out, 2, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(out[1].gpu_instance, 103);
    assert_true(out[1].compute_instance == CELL_NULL && out[1].memory_used == CELL_NULL);
}

TEST(events)
{
    struct device_event out;
    assert_int_equal(registered, NVML_EVENT_XID);
    event = (struct nvml_event){(nvml_device)(uintptr_t)1, NVML_EVENT_XID, 79, UINT32_MAX, 2};
    event_result = NVML_OK;
    assert_int_equal(nvidia_devices.watch->wait(devices, 1500000000, &out), 1);
    assert_int_equal(out.kind, DEVICE_EVENT_XID);
    assert_int_equal(out.index, 0);
    assert_int_equal(out.code, 79);
    assert_true(out.gpu_instance == CELL_NULL);
    assert_int_equal(out.compute_instance, 2);
    event.device = (nvml_device)(uintptr_t)77;
    event.type = NVML_EVENT_ECC_UNCORRECTED;
    assert_int_equal(nvidia_devices.watch->wait(devices, 1500000000, &out), 1);
    assert_int_equal(out.index, -1);
    assert_int_equal(out.kind, DEVICE_EVENT_ECC_UNCORRECTED);
    assert_true(out.code == CELL_NULL);
    event_result = NVML_E_TIMEOUT;
    assert_int_equal(nvidia_devices.watch->wait(devices, 1500000000, &out), 0);
    event_result = NVML_E_GPU_IS_LOST;
    assert_true(nvidia_devices.watch->wait(devices, 1500000000, &out) < 0);
}

TEST(a_library_without_any_of_it)
{
    struct device_process process;
    struct device_event out;
    struct device_instance part;
    int count;
    nvidia_devices.close(devices);
    library = (struct nvml){.nvmlDeviceGetCount_v2 = get_count,
                            .nvmlDeviceGetHandleByIndex_v2 = get_handle};
    assert_int_equal(nvidia_devices.open(&devices, NULL), 0);
    nvidia_devices.watch->widen(devices, true);
    struct device_metric_row row = sample();
    assert_true(row.sm_active == CELL_NULL && row.pcie_replays == CELL_NULL);
    assert_int_equal(nvidia_devices.watch->processes(devices, 0, &process, 1, &count),
                     GPUFL_E_NOT_BUILT);
    assert_int_equal(nvidia_devices.watch->instances(devices, 0, &part, 1, &count), 0);
    assert_int_equal(nvidia_devices.watch->wait(devices, 1, &out), GPUFL_E_NOT_BUILT);
    assert_int_equal(nvidia_devices.watch->listed(devices), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links, setup, teardown),
        cmocka_unit_test_setup_teardown(activity, setup, teardown),
        cmocka_unit_test_setup_teardown(reserved_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_wait_for_a_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(activity_of_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(narrow_without_widen, setup, teardown),
        cmocka_unit_test_setup_teardown(processes, setup, teardown),
        cmocka_unit_test_setup_teardown(clients_of_mps, setup, teardown),
        cmocka_unit_test_setup_teardown(many_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(instances, setup, teardown),
        cmocka_unit_test_setup_teardown(events, setup, teardown),
        cmocka_unit_test_setup_teardown(a_library_without_any_of_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
