/* test_devices.c - tests device metrics over a management library that answers as the test says:
 * values that a device does not report stay unknown, and reported values stay known. */
#include <string.h>

#include "backend/nvidia/devices.h"
#include "backend/nvidia/library/nvml.h"
#include "base/clock.h"
#include "tests/test.h"

/* ---- the library ----------------------------------------------------------------------- */

static struct nvml library;
static int ecc[2];    /* results by kind of error */
static int fields;    /* result of a generic query's fields */
static int reasons;   /* result of the newer call for clock reasons */
static int slow_pcie; /* calls of the slow function for PCIe */
static uint64_t bytes;
static int64_t now;

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

static int get_ecc(nvml_device d, int type, int counter, unsigned long long *count)
{
    (void)d, (void)counter;
    *count = 7;
    return ecc[type];
}

static int get_fields(nvml_device d, int count, struct nvml_field *f)
{
    (void)d;
    bytes += 1000;
    for (int i = 0; i < count; i++) {
        f[i].result = fields;
        f[i].type = NVML_VALUE_U64;
        f[i].value.u64 = bytes;
    }
    return NVML_OK;
}

static int get_pcie(nvml_device d, int direction, unsigned *kb)
{
    (void)d, (void)direction;
    slow_pcie++;
    *kb = 1;
    return NVML_OK;
}

static int get_new_reasons(nvml_device d, unsigned long long *bits)
{
    (void)d;
    *bits = 4;
    return reasons;
}

static int get_old_reasons(nvml_device d, unsigned long long *bits)
{
    (void)d;
    *bits = 8;
    return NVML_OK;
}

static int64_t test_clock(void)
{
    return now += 1000000;
}

static struct devices *devices;

static int setup(void **state)
{
    (void)state;
    memset(&library, 0, sizeof library);
    library.nvmlDeviceGetCount_v2 = get_count;
    library.nvmlDeviceGetHandleByIndex_v2 = get_handle;
    library.nvmlDeviceGetTotalEccErrors = get_ecc;
    library.nvmlDeviceGetFieldValues = get_fields;
    library.nvmlDeviceGetPcieThroughput = get_pcie;
    library.nvmlDeviceGetCurrentClocksEventReasons = get_new_reasons;
    library.nvmlDeviceGetCurrentClocksThrottleReasons = get_old_reasons;
    ecc[0] = ecc[1] = fields = reasons = NVML_OK;
    slow_pcie = 0;
    now = 1000000000;
    clock_set_source(test_clock, 0);
    return nvidia_devices.open(&devices, NULL);
}

static int teardown(void **state)
{
    (void)state;
    nvidia_devices.close(devices);
    clock_set_source(NULL, 0);
    return 0;
}

/* Takes a sample more than every period after the one before. */
static struct device_metric_row sample(void)
{
    struct device_metric_row row = {.time = 5, .device = 3};
    now += 2000000000;
    assert_int_equal(nvidia_devices.sample(devices, 0, &row), 0);
    assert_int_equal(row.time, 5);
    assert_int_equal(row.device, 3);
    return row;
}

/* ---- tests ----------------------------------------------------------------------------- */

/* A device may count only one kind of memory errors: that kind is read in every sample. */
TEST(one_kind_of_errors_is_enough)
{
    for (int missing = 0; missing < 2; missing++) {
        setup(NULL);
        ecc[missing] = NVML_E_NOT_SUPPORTED;
        for (int i = 0; i < 3; i++) {
            struct device_metric_row row = sample();
            int64_t counts[] = {row.ecc_corrected, row.ecc_uncorrected};
            assert_int_equal(counts[missing], CELL_NULL);
            assert_int_equal(counts[!missing], 7);
        }
        if (missing == 0)
            nvidia_devices.close(devices);
    }
}

/* A query that failed is tried again; one that is not supported is not. */
TEST(byte_counters_come_back)
{
    fields = NVML_E_TIMEOUT;
    struct device_metric_row row = sample();
    assert_int_equal(row.temperature_memory, CELL_NULL);
    assert_int_equal(slow_pcie, 2);
    fields = NVML_OK;
    row = sample();
    assert_true(row.pcie_rx > 0 && row.pcie_rx % 1024 != 0);
    assert_true(row.temperature_memory > 0);
    assert_int_equal(slow_pcie, 2);
    fields = NVML_E_NOT_SUPPORTED;
    row = sample();
    assert_int_equal(row.pcie_tx, 1024);
    fields = NVML_OK;
    row = sample();
    assert_int_equal(row.pcie_tx, 1024);
    assert_int_equal(row.temperature_memory, CELL_NULL);
}

/* A library may export the newer call although the kernel's driver does not know it. */
TEST(clock_reasons_by_their_older_name)
{
    assert_int_equal(sample().throttle, 4);
    reasons = NVML_E_FUNCTION_NOT_FOUND;
    assert_int_equal(sample().throttle, 8);
    library.nvmlDeviceGetCurrentClocksThrottleReasons = NULL;
    assert_int_equal(sample().throttle, CELL_NULL);
}

/* Values of functions that the library lacks are unknown, and the sample does not fail. */
TEST(a_library_without_optional_functions)
{
    memset(&library, 0, sizeof library);
    struct device_metric_row row = sample();
    const int64_t *cells = (const int64_t *)&row;
    for (int c = 0; c < COL_device_metric_COUNT; c++)
        if (c != COL_device_metric_time && c != COL_device_metric_device)
            assert_int_equal(cells[c], CELL_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_kind_of_errors_is_enough, NULL, teardown),
        cmocka_unit_test_setup_teardown(byte_counters_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(clock_reasons_by_their_older_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_library_without_optional_functions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
