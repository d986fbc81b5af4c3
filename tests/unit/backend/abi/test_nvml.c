/* test_nvml.c - tests our declarations of NVML against nvml.h, if this machine has it; without it
 * the test is skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <stdio.h>

#ifdef GPUFL_HAVE_NVML_H
#include <nvml.h>
#endif

/* Older headers lack names that are checked here. */
#if defined(NVML_API_VERSION) && defined(NVML_FI_DEV_PCIE_COUNT_TX_BYTES)

#include "backend/nvidia/abi/nvml.h"

#define CHECK(ours, value, theirs) SAME(NVML_##ours, NVML_##theirs);
NVML_RESULTS(CHECK)
#undef CHECK

SAME(NVML_CLOCK_GFX, NVML_CLOCK_GRAPHICS);
SAME(NVML_CLOCK_OF_SM, NVML_CLOCK_SM);
SAME(NVML_CLOCK_OF_MEM, NVML_CLOCK_MEM);
SAME(NVML_PCIE_TX, NVML_PCIE_UTIL_TX_BYTES);
SAME(NVML_PCIE_RX, NVML_PCIE_UTIL_RX_BYTES);
SAME(NVML_ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME(NVML_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(NVML_ECC_SINCE_DRIVER_LOAD, NVML_VOLATILE_ECC);
SAME(NVML_SENSOR_GPU, NVML_TEMPERATURE_GPU);
SAME(NVML_FIELD_MEMORY_TEMPERATURE, NVML_FI_DEV_MEMORY_TEMP);
SAME(NVML_FIELD_PCIE_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES);
SAME(NVML_FIELD_PCIE_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES);
SAME(NVML_VALUE_DOUBLE, NVML_VALUE_TYPE_DOUBLE);
SAME(NVML_VALUE_U32, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(NVML_VALUE_ULONG, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(NVML_VALUE_U64, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(NVML_VALUE_I64, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME(NVML_VALUE_I32, NVML_VALUE_TYPE_SIGNED_INT);
SAME(NVML_VALUE_U16, NVML_VALUE_TYPE_UNSIGNED_SHORT);
SAME(NVML_MEMORY_V2, nvmlMemory_v2);

SAME(NVML_FIELD_NVLINK_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
SAME(NVML_FIELD_NVLINK_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
SAME(NVML_EVENT_ECC_CORRECTED, nvmlEventTypeSingleBitEccError);
SAME(NVML_EVENT_ECC_UNCORRECTED, nvmlEventTypeDoubleBitEccError);
SAME(NVML_EVENT_XID, nvmlEventTypeXidCriticalError);
SAME(NVML_EVENT_MIG_CHANGED, nvmlEventMigConfigChange);
SAME(NVML_GPM_SM_ACTIVE, NVML_GPM_METRIC_SM_UTIL);
SAME(NVML_GPM_SM_OCCUPANCY, NVML_GPM_METRIC_SM_OCCUPANCY);
SAME(NVML_GPM_TENSOR_ACTIVE, NVML_GPM_METRIC_ANY_TENSOR_UTIL);
SAME(NVML_GPM_DRAM_ACTIVE, NVML_GPM_METRIC_DRAM_BW_UTIL);
SAME(NVML_GPM_METRICS_VERSION, NVML_GPM_METRICS_GET_VERSION);
SAME(NVML_GPM_SUPPORT, NVML_GPM_SUPPORT_VERSION);

/* The bits of device_metric.throttle are the vendor's. */
SAME(1, nvmlClocksThrottleReasonGpuIdle);
SAME(2, nvmlClocksThrottleReasonApplicationsClocksSetting);
SAME(4, nvmlClocksThrottleReasonSwPowerCap);
SAME(8, nvmlClocksThrottleReasonHwSlowdown);
SAME(16, nvmlClocksThrottleReasonSyncBoost);
SAME(32, nvmlClocksThrottleReasonSwThermalSlowdown);
SAME(64, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(128, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME(256, nvmlClocksThrottleReasonDisplayClockSetting);

FIELD(nvml_utilization, gpu, nvmlUtilization_t, gpu);
FIELD(nvml_utilization, memory, nvmlUtilization_t, memory);
FIELD(nvml_memory, total, nvmlMemory_t, total);
FIELD(nvml_memory, free, nvmlMemory_t, free);
FIELD(nvml_memory, used, nvmlMemory_t, used);
SAME(sizeof(struct nvml_memory), sizeof(nvmlMemory_t));
FIELD(nvml_memory_v2, version, nvmlMemory_v2_t, version);
FIELD(nvml_memory_v2, total, nvmlMemory_v2_t, total);
FIELD(nvml_memory_v2, reserved, nvmlMemory_v2_t, reserved);
FIELD(nvml_memory_v2, used, nvmlMemory_v2_t, used);
SAME(sizeof(struct nvml_memory_v2), sizeof(nvmlMemory_v2_t));
FIELD(nvml_process, pid, nvmlProcessInfo_t, pid);
FIELD(nvml_process, memory, nvmlProcessInfo_t, usedGpuMemory);
FIELD(nvml_process, gpu_instance, nvmlProcessInfo_t, gpuInstanceId);
FIELD(nvml_process, compute_instance, nvmlProcessInfo_t, computeInstanceId);
SAME(sizeof(struct nvml_process), sizeof(nvmlProcessInfo_t));
FIELD(nvml_process_use, pid, nvmlProcessUtilizationSample_t, pid);
FIELD(nvml_process_use, time, nvmlProcessUtilizationSample_t, timeStamp);
FIELD(nvml_process_use, sm, nvmlProcessUtilizationSample_t, smUtil);
FIELD(nvml_process_use, memory, nvmlProcessUtilizationSample_t, memUtil);
FIELD(nvml_process_use, encoder, nvmlProcessUtilizationSample_t, encUtil);
FIELD(nvml_process_use, decoder, nvmlProcessUtilizationSample_t, decUtil);
SAME(sizeof(struct nvml_process_use), sizeof(nvmlProcessUtilizationSample_t));
FIELD(nvml_event, device, nvmlEventData_t, device);
FIELD(nvml_event, type, nvmlEventData_t, eventType);
FIELD(nvml_event, data, nvmlEventData_t, eventData);
FIELD(nvml_event, gpu_instance, nvmlEventData_t, gpuInstanceId);
FIELD(nvml_event, compute_instance, nvmlEventData_t, computeInstanceId);
SAME(sizeof(struct nvml_event), sizeof(nvmlEventData_t));
FIELD(nvml_gpm_metric, id, nvmlGpmMetric_t, metricId);
FIELD(nvml_gpm_metric, result, nvmlGpmMetric_t, nvmlReturn);
FIELD(nvml_gpm_metric, value, nvmlGpmMetric_t, value);
SAME(sizeof(struct nvml_gpm_metric), sizeof(nvmlGpmMetric_t));
FIELD(nvml_gpm_metrics, count, nvmlGpmMetricsGet_t, numMetrics);
FIELD(nvml_gpm_metrics, from, nvmlGpmMetricsGet_t, sample1);
FIELD(nvml_gpm_metrics, to, nvmlGpmMetricsGet_t, sample2);
FIELD(nvml_gpm_metrics, metrics, nvmlGpmMetricsGet_t, metrics);
FIELD(nvml_gpm_support, supported, nvmlGpmSupport_t, isSupportedDevice);
SAME(sizeof(struct nvml_gpm_support), sizeof(nvmlGpmSupport_t));
FIELD(nvml_pci, domain, nvmlPciInfo_t, domain);
FIELD(nvml_pci, bus, nvmlPciInfo_t, bus);
FIELD(nvml_pci, device, nvmlPciInfo_t, device);
FIELD(nvml_pci, bus_id, nvmlPciInfo_t, busId);
SAME(sizeof(struct nvml_pci), sizeof(nvmlPciInfo_t));
FIELD(nvml_field, id, nvmlFieldValue_t, fieldId);
FIELD(nvml_field, scope, nvmlFieldValue_t, scopeId);
FIELD(nvml_field, time, nvmlFieldValue_t, timestamp);
FIELD(nvml_field, type, nvmlFieldValue_t, valueType);
FIELD(nvml_field, result, nvmlFieldValue_t, nvmlReturn);
FIELD(nvml_field, value, nvmlFieldValue_t, value);
SAME(sizeof(struct nvml_field), sizeof(nvmlFieldValue_t));

#define SIGNATURE(f, theirs) _Static_assert(__builtin_types_compatible_p(__typeof__(f), theirs), #f)
SIGNATURE(nvmlInit_v2, nvmlReturn_t(void));
SIGNATURE(nvmlDeviceGetHandleByIndex_v2, nvmlReturn_t(unsigned, nvmlDevice_t *));
SIGNATURE(nvmlSystemGetDriverVersion, nvmlReturn_t(char *, unsigned));
SIGNATURE(nvmlSystemGetCudaDriverVersion_v2, nvmlReturn_t(int *));
SIGNATURE(nvmlDeviceGetName, nvmlReturn_t(nvmlDevice_t, char *, unsigned));
SIGNATURE(nvmlDeviceGetUUID, nvmlReturn_t(nvmlDevice_t, char *, unsigned));
SIGNATURE(nvmlDeviceGetPciInfo_v3, nvmlReturn_t(nvmlDevice_t, nvmlPciInfo_t *));
SIGNATURE(nvmlDeviceGetCudaComputeCapability, nvmlReturn_t(nvmlDevice_t, int *, int *));
SIGNATURE(nvmlDeviceGetMaxClockInfo, nvmlReturn_t(nvmlDevice_t, nvmlClockType_t, unsigned *));
SIGNATURE(nvmlDeviceGetEnforcedPowerLimit, nvmlReturn_t(nvmlDevice_t, unsigned *));
SIGNATURE(nvmlDeviceGetPowerManagementLimitConstraints,
          nvmlReturn_t(nvmlDevice_t, unsigned *, unsigned *));
SIGNATURE(nvmlDeviceGetMemoryInfo_v2, nvmlReturn_t(nvmlDevice_t, nvmlMemory_v2_t *));
SIGNATURE(nvmlDeviceGetUtilizationRates, nvmlReturn_t(nvmlDevice_t, nvmlUtilization_t *));
SIGNATURE(nvmlDeviceGetPowerUsage, nvmlReturn_t(nvmlDevice_t, unsigned *));
SIGNATURE(nvmlDeviceGetTotalEnergyConsumption, nvmlReturn_t(nvmlDevice_t, unsigned long long *));
SIGNATURE(nvmlDeviceGetClockInfo, nvmlReturn_t(nvmlDevice_t, nvmlClockType_t, unsigned *));
SIGNATURE(nvmlDeviceGetPcieThroughput,
          nvmlReturn_t(nvmlDevice_t, nvmlPcieUtilCounter_t, unsigned *));
SIGNATURE(nvmlDeviceGetFanSpeed, nvmlReturn_t(nvmlDevice_t, unsigned *));
SIGNATURE(nvmlDeviceGetTotalEccErrors, nvmlReturn_t(nvmlDevice_t, nvmlMemoryErrorType_t,
                                                    nvmlEccCounterType_t, unsigned long long *));
SIGNATURE(nvmlDeviceGetComputeRunningProcesses_v3,
          nvmlReturn_t(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *));
SIGNATURE(nvmlDeviceGetMPSComputeRunningProcesses_v3,
          nvmlReturn_t(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *));
SIGNATURE(nvmlDeviceGetFieldValues, nvmlReturn_t(nvmlDevice_t, int, nvmlFieldValue_t *));

/* The compiler has checked them. */
TEST(declarations_match)
{
    print_message("checked against nvml.h of NVML_API_VERSION %s\n", NVML_API_VERSION_STR);
    assert_int_equal(sizeof(nvmlReturn_t), sizeof(int));
}

#else

TEST(declarations_match)
{
    print_message("no nvml.h of CUDA 12.2 or later on this machine: declarations not checked\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
