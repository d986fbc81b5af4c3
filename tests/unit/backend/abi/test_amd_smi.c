/* test_amd_smi.c - tests our declarations of AMD SMI against amdsmi.h, if this machine has it;
 * without it the test is skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <stdio.h>

#ifdef GPUFL_HAVE_AMD_SMI_H
#include <amd_smi/amdsmi.h>

#include "backend/amd/abi/amd_smi.h"
#include "backend/amd/abi/gpu_metrics.h"

#define CHECK(ours, value, theirs) SAME(AMDSMI_##ours, AMDSMI_STATUS_##theirs);
AMDSMI_RESULTS(CHECK)
#undef CHECK

SAME(AMDSMI_GPUS, AMDSMI_INIT_AMD_GPUS);
SAME(AMDSMI_MEMORY_VRAM, AMDSMI_MEM_TYPE_VRAM);
SAME(AMDSMI_NOW, AMDSMI_TEMP_CURRENT);
SAME(AMDSMI_VOLTAGE_GFX, AMDSMI_VOLT_TYPE_VDDGFX);
SAME(AMDSMI_UUID_SIZE, AMDSMI_GPU_UUID_SIZE);

FIELD(amdsmi_activity, gfx, amdsmi_engine_usage_t, gfx_activity);
FIELD(amdsmi_activity, umc, amdsmi_engine_usage_t, umc_activity);
FIELD(amdsmi_activity, mm, amdsmi_engine_usage_t, mm_activity);
FIELD(amdsmi_errors, corrected, amdsmi_error_count_t, correctable_count);
FIELD(amdsmi_errors, uncorrected, amdsmi_error_count_t, uncorrectable_count);

/* These names came with ROCm 6.2; their numbers did not change. */
#if !defined(AMDSMI_LIB_VERSION_YEAR) || AMDSMI_LIB_VERSION_MAJOR >= 6
SAME(AMDSMI_IS_GPU, AMDSMI_PROCESSOR_TYPE_AMD_GPU);
FIELD(amdsmi_clock, now, amdsmi_clk_info_t, clk);
FIELD(amdsmi_clock, least, amdsmi_clk_info_t, min_clk);
FIELD(amdsmi_clock, most, amdsmi_clk_info_t, max_clk);
SAME(AMDSMI_CLOCK_GFX, AMDSMI_CLK_TYPE_GFX);
SAME(AMDSMI_SENSOR_EDGE, AMDSMI_TEMPERATURE_TYPE_EDGE);
SAME(AMDSMI_SENSOR_JUNCTION, AMDSMI_TEMPERATURE_TYPE_JUNCTION);
SAME(AMDSMI_SENSOR_MEMORY, AMDSMI_TEMPERATURE_TYPE_VRAM);
SAME(AMDSMI_CLOCK_MEM, AMDSMI_CLK_TYPE_MEM);
#endif

/* Majors 23 and 24 have a year in their version. */
#ifdef AMDSMI_LIB_VERSION_YEAR
FIELD(amdsmi_power_24, now, amdsmi_power_info_t, current_socket_power);
FIELD(amdsmi_power_24, average, amdsmi_power_info_t, average_socket_power);
FIELD(amdsmi_power_24, mv_gfx, amdsmi_power_info_t, gfx_voltage);
FIELD(amdsmi_power_24, limit, amdsmi_power_info_t, power_limit);
FIELD(amdsmi_process_24, pid, amdsmi_proc_info_t, pid);
FIELD(amdsmi_process_24, memory, amdsmi_proc_info_t, mem);
FIELD(amdsmi_process_24, memories.vram, amdsmi_proc_info_t, memory_usage.vram_mem);
SAME(sizeof(struct amdsmi_process_24), sizeof(amdsmi_proc_info_t));
#else
FIELD(amdsmi_power_25, socket, amdsmi_power_info_t, socket_power);
FIELD(amdsmi_power_25, now, amdsmi_power_info_t, current_socket_power);
FIELD(amdsmi_power_25, average, amdsmi_power_info_t, average_socket_power);
FIELD(amdsmi_power_25, mv_gfx, amdsmi_power_info_t, gfx_voltage);
FIELD(gpu_metrics, held_power, amdsmi_gpu_metrics_t, ppt_residency_acc);
FIELD(gpu_metrics, held_hbm, amdsmi_gpu_metrics_t, hbm_thm_residency_acc);
#endif

FIELD(gpu_metrics, edge, amdsmi_gpu_metrics_t, temperature_edge);
FIELD(gpu_metrics, hotspot, amdsmi_gpu_metrics_t, temperature_hotspot);
FIELD(gpu_metrics, gfx_busy, amdsmi_gpu_metrics_t, average_gfx_activity);
FIELD(gpu_metrics, power_average, amdsmi_gpu_metrics_t, average_socket_power);
FIELD(gpu_metrics, clock_gfx, amdsmi_gpu_metrics_t, current_gfxclk);
FIELD(gpu_metrics, clock_mem, amdsmi_gpu_metrics_t, current_uclk);
FIELD(gpu_metrics, mv_gfx, amdsmi_gpu_metrics_t, voltage_gfx);
FIELD(gpu_metrics, throttle, amdsmi_gpu_metrics_t, indep_throttle_status);
FIELD(gpu_metrics, power, amdsmi_gpu_metrics_t, current_socket_power);
FIELD(gpu_metrics, pcie_now, amdsmi_gpu_metrics_t, pcie_bandwidth_inst);
FIELD(gpu_metrics, pcie_replays, amdsmi_gpu_metrics_t, pcie_replay_count_acc);
FIELD(gpu_metrics, clocks_gfx, amdsmi_gpu_metrics_t, current_gfxclks);
FIELD(gpu_metrics, firmware_clock, amdsmi_gpu_metrics_t, firmware_timestamp);
FIELD(gpu_metrics, xgmi_read, amdsmi_gpu_metrics_t, xgmi_read_data_acc);
FIELD(gpu_metrics, xgmi_write, amdsmi_gpu_metrics_t, xgmi_write_data_acc);
static_assert(sizeof(amdsmi_gpu_metrics_t) <= GPU_METRICS_ROOM, "room for what the library writes");
static_assert(sizeof(amdsmi_asic_info_t) <= AMDSMI_ROOM, "the same");
static_assert(offsetof(amdsmi_asic_info_t, market_name) == 0, "the name comes first");

TEST(declarations_match)
{
    /* The compiler has checked them. */
}

#else

TEST(declarations_match)
{
    printf("amdsmi.h is not installed\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
