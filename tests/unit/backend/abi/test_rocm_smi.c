/* test_rocm_smi.c - tests our declarations of ROCm SMI against rocm_smi.h, if this machine has it,
 * and against the library itself: its functions, and its answers without a GPU. Without them the
 * test is skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GPUFL_HAVE_ROCM_SMI_H
#include <rocm_smi/rocm_smi.h>

#include "backend/amd/abi/gpu_metrics.h"
#include "backend/amd/devices.h"
#include "backend/amd/library/driver.h"
#include "backend/amd/library/rocm_smi.h"

#define CHECK(ours, value, theirs) SAME(RSMI_##ours, RSMI_STATUS_##theirs);
RSMI_RESULTS(CHECK)
#undef CHECK

SAME(RSMI_MEMORY_VRAM, RSMI_MEM_TYPE_VRAM);
SAME(RSMI_CLOCK_GFX, RSMI_CLK_TYPE_SYS);
SAME(RSMI_CLOCK_MEM, RSMI_CLK_TYPE_MEM);
SAME(RSMI_SENSOR_EDGE, RSMI_TEMP_TYPE_EDGE);
SAME(RSMI_SENSOR_JUNCTION, RSMI_TEMP_TYPE_JUNCTION);
SAME(RSMI_SENSOR_MEMORY, RSMI_TEMP_TYPE_MEMORY);
SAME(RSMI_NOW, RSMI_TEMP_CURRENT);
SAME(RSMI_NOW, RSMI_VOLT_CURRENT);
SAME(RSMI_VOLTAGE_GFX, RSMI_VOLT_TYPE_VDDGFX);
SAME(RSMI_BLOCK_FIRST, RSMI_GPU_BLOCK_FIRST);

#if RSMI_MAX_NUM_FREQUENCIES == 32
#define FREQUENCIES rsmi_frequencies_5
#else
#define FREQUENCIES rsmi_frequencies_6
#endif
FIELD(FREQUENCIES, count, rsmi_frequencies_t, num_supported);
FIELD(FREQUENCIES, current, rsmi_frequencies_t, current);
FIELD(FREQUENCIES, hz, rsmi_frequencies_t, frequency);
SAME(sizeof(struct FREQUENCIES), sizeof(rsmi_frequencies_t));

FIELD(rsmi_errors, corrected, rsmi_error_count_t, correctable_err);
FIELD(rsmi_errors, uncorrected, rsmi_error_count_t, uncorrectable_err);
SAME(sizeof(struct rsmi_errors), sizeof(rsmi_error_count_t));
FIELD(rsmi_process, pid, rsmi_process_info_t, process_id);
FIELD(rsmi_process, pasid, rsmi_process_info_t, pasid);
FIELD(rsmi_process, vram, rsmi_process_info_t, vram_usage);
FIELD(rsmi_process, sdma, rsmi_process_info_t, sdma_usage);
FIELD(rsmi_process, units, rsmi_process_info_t, cu_occupancy);
SAME(sizeof(struct rsmi_process), sizeof(rsmi_process_info_t));

FIELD(gpu_metrics, edge, rsmi_gpu_metrics_t, temperature_edge);
FIELD(gpu_metrics, hotspot, rsmi_gpu_metrics_t, temperature_hotspot);
FIELD(gpu_metrics, mem, rsmi_gpu_metrics_t, temperature_mem);
FIELD(gpu_metrics, gfx_busy, rsmi_gpu_metrics_t, average_gfx_activity);
FIELD(gpu_metrics, umc_busy, rsmi_gpu_metrics_t, average_umc_activity);
FIELD(gpu_metrics, power_average, rsmi_gpu_metrics_t, average_socket_power);
FIELD(gpu_metrics, energy, rsmi_gpu_metrics_t, energy_accumulator);
FIELD(gpu_metrics, clock_gfx, rsmi_gpu_metrics_t, current_gfxclk);
FIELD(gpu_metrics, clock_mem, rsmi_gpu_metrics_t, current_uclk);
FIELD(gpu_metrics, throttle_raw, rsmi_gpu_metrics_t, throttle_status);
FIELD(gpu_metrics, fan, rsmi_gpu_metrics_t, current_fan_speed);
static_assert(sizeof(rsmi_gpu_metrics_t) <= GPU_METRICS_ROOM, "room for what the library writes");

/* Fields that ROCm 6 added. */
#if RSMI_MAX_NUM_FREQUENCIES != 32
FIELD(gpu_metrics, mv_gfx, rsmi_gpu_metrics_t, voltage_gfx);
FIELD(gpu_metrics, throttle, rsmi_gpu_metrics_t, indep_throttle_status);
FIELD(gpu_metrics, power, rsmi_gpu_metrics_t, current_socket_power);
FIELD(gpu_metrics, pcie_now, rsmi_gpu_metrics_t, pcie_bandwidth_inst);
FIELD(gpu_metrics, pcie_replays, rsmi_gpu_metrics_t, pcie_replay_count_acc);
FIELD(gpu_metrics, clocks_gfx, rsmi_gpu_metrics_t, current_gfxclks);
FIELD(gpu_metrics, firmware_clock, rsmi_gpu_metrics_t, firmware_timestamp);
FIELD(gpu_metrics, xgmi_read, rsmi_gpu_metrics_t, xgmi_read_data_acc);
FIELD(gpu_metrics, xgmi_write, rsmi_gpu_metrics_t, xgmi_write_data_acc);
#endif

/* Fields that ROCm 6.3 added. */
#ifdef RSMI_MAX_NUM_XCC
SAME(RSMI_INIT_OWN_LOCKS, RSMI_INIT_FLAG_THRAD_ONLY_MUTEX);
FIELD(gpu_metrics, held_prochot, rsmi_gpu_metrics_t, prochot_residency_acc);
FIELD(gpu_metrics, held_power, rsmi_gpu_metrics_t, ppt_residency_acc);
FIELD(gpu_metrics, held_socket, rsmi_gpu_metrics_t, socket_thm_residency_acc);
FIELD(gpu_metrics, held_regulator, rsmi_gpu_metrics_t, vr_thm_residency_acc);
FIELD(gpu_metrics, held_hbm, rsmi_gpu_metrics_t, hbm_thm_residency_acc);
#endif

TEST(declarations_are_the_header_s)
{
    /* The compiler has checked them. */
}

/* Debian 12's library, not a fake, has all required functions and at least 20 of the optional
 * ones. */
TEST(the_library_has_the_functions)
{
    static const struct {
        const char *name;
        bool required;
    } names[] = {
#define NAME(required, name, arguments) {#name, required},
        RSMI_FUNCTIONS(NAME)
#undef NAME
    };
    void *handle = dlopen(GPUFL_ROCM_SMI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int optional = 0;
    assert_non_null(handle);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool has = dlsym(handle, names[i].name) != NULL;
        if (names[i].required && !has)
            fail_msg("%s is missing", names[i].name);
        optional += !names[i].required && has;
    }
    assert_true(optional >= 20);
}

/* Without a GPU, the packaged library returns the result that we take for "no GPU". */
TEST(the_library_without_a_gpu)
{
    struct devices *d;
    struct err e = {0};
    if (amd_driver_loaded())
        skip();
    setenv(AMD_SMI_PATH, GPUFL_ROCM_SMI_LIBRARY, 1);
    assert_int_equal(amd_devices.open(&d, &e), GPUFL_E_UNAVAILABLE);
    assert_int_equal(e.code, GPUFL_E_UNAVAILABLE);
    if (!strstr(e.text, "ROCm SMI finds no GPU"))
        fail_msg("%s", e.text);
    assert_true(rsmi_library.major > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_are_the_header_s),
        cmocka_unit_test(the_library_has_the_functions),
        cmocka_unit_test(the_library_without_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

TEST(there_is_no_header)
{
    printf("rocm_smi.h is not installed (Debian: librocm-smi-dev)\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_no_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
