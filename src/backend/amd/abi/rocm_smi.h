/* rocm_smi.h - has our own declarations of ROCm SMI (librocm_smi64.so), so that the build does not
 * need ROCm.
 *
 * tests/unit/backend/abi/test_rocm_smi.c checks this file against rocm_smi.h if that is installed.
 * A device is named by its index. All functions except those for initialization and the number of
 * devices are optional: releases differ in what they export, devices in what they answer. */
#ifndef GPUFL_BACKEND_AMD_ABI_ROCM_SMI_H
#define GPUFL_BACKEND_AMD_ABI_ROCM_SMI_H

#include <stdbool.h>
#include <stdint.h>

/* Lists x(ours, value, the vendor's suffix) */
#define RSMI_RESULTS(X)                                                                            \
    X(OK, 0, SUCCESS)                                                                              \
    X(E_INVALID, 1, INVALID_ARGS)                                                                  \
    X(E_NOT_SUPPORTED, 2, NOT_SUPPORTED)                                                           \
    X(E_FILE, 3, FILE_ERROR)                                                                       \
    X(E_PERMISSION, 4, PERMISSION)                                                                 \
    X(E_INIT, 8, INIT_ERROR)                                                                       \
    X(E_NOT_YET, 9, NOT_YET_IMPLEMENTED)                                                           \
    X(E_NOT_FOUND, 10, NOT_FOUND)                                                                  \
    X(E_SIZE, 11, INSUFFICIENT_SIZE)                                                               \
    X(E_NO_DATA, 14, NO_DATA)                                                                      \
    X(E_BUSY, 16, BUSY)

enum rsmi_result {
#define RSMI_RESULT_ENUM(ours, value, theirs) RSMI_##ours = value,
    RSMI_RESULTS(RSMI_RESULT_ENUM)
#undef RSMI_RESULT_ENUM
};

/* Makes the library's locks local to the process. Otherwise they lie in /dev/shm, where a killed
 * process keeps them locked. Known from ROCm 6.2 on, and ignored before. */
#define RSMI_INIT_OWN_LOCKS UINT64_C(0x400000000000000)

enum { RSMI_MEMORY_VRAM = 0 };
enum { RSMI_CLOCK_GFX = 0, RSMI_CLOCK_MEM = 4 };
enum { RSMI_SENSOR_EDGE = 0, RSMI_SENSOR_JUNCTION = 1, RSMI_SENSOR_MEMORY = 2 };
enum { RSMI_NOW = 0 };         /* of a temperature or voltage: the current one */
enum { RSMI_VOLTAGE_GFX = 0 }; /* of rsmi_dev_volt_metric_get */
enum { RSMI_BLOCK_FIRST = 1, RSMI_BLOCK_LAST = 0x2000 }; /* units with ECC, a bit each */

/* Holds the frequencies of a clock, Hz. There are two layouts: a library that exports
 * rsmi_dev_power_get (from ROCm 6.0 on) has the newer one. */
struct rsmi_frequencies_5 {
    uint32_t count, current;
    uint64_t hz[32];
};
struct rsmi_frequencies_6 {
    bool has_deep_sleep;
    uint32_t count, current;
    uint64_t hz[33];
};

struct rsmi_errors {
    uint64_t corrected, uncorrected;
};

struct rsmi_process { /* numbers with all bits set are unknown */
    uint32_t pid, pasid;
    uint64_t vram;  /* bytes */
    uint64_t sdma;  /* us */
    uint32_t units; /* %: compute units in use */
};

/* Lists x(required, name, arguments); each returns enum rsmi_result. */
#define RSMI_FUNCTIONS(X)                                                                          \
    X(true, rsmi_init, (uint64_t flags))                                                           \
    X(true, rsmi_shut_down, (void))                                                                \
    X(true, rsmi_num_monitor_devices, (uint32_t * count))                                          \
    X(true, rsmi_dev_pci_id_get, (uint32_t device, uint64_t * place))                              \
    X(false, rsmi_status_string, (int result, const char **text))                                  \
    X(false, rsmi_dev_name_get, (uint32_t device, char *text, size_t size))                        \
    X(false, rsmi_dev_unique_id_get, (uint32_t device, uint64_t * id))                             \
    X(false, rsmi_dev_busy_percent_get, (uint32_t device, uint32_t * percent))                     \
    X(false, rsmi_dev_memory_busy_percent_get, (uint32_t device, uint32_t * percent))              \
    X(false, rsmi_dev_memory_total_get, (uint32_t device, int type, uint64_t *bytes))              \
    X(false, rsmi_dev_memory_usage_get, (uint32_t device, int type, uint64_t *bytes))              \
    X(false, rsmi_dev_temp_metric_get,                                                             \
      (uint32_t device, uint32_t sensor, int metric, int64_t *millidegrees))                       \
    X(false, rsmi_dev_power_get, (uint32_t device, uint64_t * uw, int *type))                      \
    X(false, rsmi_dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t * uw))            \
    X(false, rsmi_dev_power_cap_get, (uint32_t device, uint32_t sensor, uint64_t * uw))            \
    X(false, rsmi_dev_power_cap_range_get,                                                         \
      (uint32_t device, uint32_t sensor, uint64_t * most, uint64_t * least))                       \
    X(false, rsmi_dev_gpu_clk_freq_get, (uint32_t device, int clock, void *frequencies))           \
    X(false, rsmi_dev_fan_speed_get, (uint32_t device, uint32_t sensor, int64_t * speed))          \
    X(false, rsmi_dev_fan_speed_max_get, (uint32_t device, uint32_t sensor, uint64_t * most))      \
    X(false, rsmi_dev_volt_metric_get, (uint32_t device, int sensor, int metric, int64_t *mv))     \
    X(false, rsmi_dev_energy_count_get,                                                            \
      (uint32_t device, uint64_t * count, float *uj, uint64_t *time))                              \
    X(false, rsmi_dev_pci_replay_counter_get, (uint32_t device, uint64_t * count))                 \
    X(false, rsmi_dev_ecc_enabled_get, (uint32_t device, uint64_t * blocks))                       \
    X(false, rsmi_dev_ecc_count_get, (uint32_t device, int block, struct rsmi_errors *errors))     \
    X(false, rsmi_compute_process_info_get, (struct rsmi_process * all, uint32_t * count))         \
    X(false, rsmi_compute_process_gpus_get, (uint32_t pid, uint32_t * devices, uint32_t * count))  \
    X(false, rsmi_compute_process_info_by_device_get,                                              \
      (uint32_t pid, uint32_t device, struct rsmi_process * process))                              \
    X(false, rsmi_dev_gpu_metrics_info_get, (uint32_t device, void *metrics))                      \
    X(false, rsmi_dev_compute_partition_get, (uint32_t device, char *text, uint32_t size))         \
    X(false, rsmi_dev_memory_partition_get, (uint32_t device, char *text, uint32_t size))

#endif
