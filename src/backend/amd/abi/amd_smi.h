/* amd_smi.h - has our own declarations of AMD SMI (libamd_smi.so), so that the build does not need
 * ROCm.
 *
 * A device is named by a handle. Only those fields of a structure are read whose place is known for
 * the loaded major version; calls get more room than any version writes (AMDSMI_ROOM).
 * tests/unit/backend/abi/test_amd_smi.c checks this file against AMD's header if that is
 * installed. */
#ifndef GPUFL_BACKEND_AMD_ABI_AMD_SMI_H
#define GPUFL_BACKEND_AMD_ABI_AMD_SMI_H

#include <stddef.h>
#include <stdint.h>

/* Lists x(ours, value, the vendor's suffix) */
#define AMDSMI_RESULTS(X)                                                                          \
    X(OK, 0, SUCCESS)                                                                              \
    X(E_INVALID, 1, INVAL)                                                                         \
    X(E_NOT_SUPPORTED, 2, NOT_SUPPORTED)                                                           \
    X(E_NOT_YET, 3, NOT_YET_IMPLEMENTED)                                                           \
    X(E_NO_PERMISSION, 10, NO_PERM)                                                                \
    X(E_FILE, 14, FILE_ERROR)                                                                      \
    X(E_RESOURCES, 15, OUT_OF_RESOURCES)                                                           \
    X(E_BUSY, 30, BUSY)                                                                            \
    X(E_NOT_FOUND, 31, NOT_FOUND)                                                                  \
    X(E_NOT_INIT, 32, NOT_INIT)                                                                    \
    X(E_DRIVER_NOT_LOADED, 34, DRIVER_NOT_LOADED)                                                  \
    X(E_NO_DATA, 40, NO_DATA)

enum amdsmi_result {
#define AMDSMI_RESULT_ENUM(ours, value, theirs) AMDSMI_##ours = value,
    AMDSMI_RESULTS(AMDSMI_RESULT_ENUM)
#undef AMDSMI_RESULT_ENUM
};

typedef void *amdsmi_handle;

enum { AMDSMI_ROOM = 16384 }; /* bytes for a structure */
enum { AMDSMI_GPUS = 2 };     /* flag of amdsmi_init */
enum { AMDSMI_IS_GPU = 1 };   /* of amdsmi_get_processor_type */
enum { AMDSMI_MEMORY_VRAM = 0 };
enum { AMDSMI_CLOCK_GFX = 0, AMDSMI_CLOCK_MEM = 4 };
enum { AMDSMI_SENSOR_EDGE = 0, AMDSMI_SENSOR_JUNCTION = 1, AMDSMI_SENSOR_MEMORY = 2 };
enum { AMDSMI_NOW = 0, AMDSMI_VOLTAGE_GFX = 0 };
enum { AMDSMI_UUID_SIZE = 38 };

struct amdsmi_activity { /* %; numbers with all bits set, here 16 or 32, are unknown */
    uint32_t gfx, umc, mm;
};

struct amdsmi_power_24 { /* W, mV; majors 23 and 24 */
    uint32_t now, average, mv_gfx, mv_soc, mv_mem, limit;
};

struct amdsmi_power_25 { /* majors 25 and 26 */
    uint64_t socket;     /* W */
    uint32_t now, average;
    uint64_t mv_gfx;
};

struct amdsmi_clock { /* MHz */
    uint32_t now, least, most;
};

struct amdsmi_errors {
    uint64_t corrected, uncorrected, deferred;
};

struct amdsmi_process_24 { /* majors 23 and 24 */
    char name[32];
    uint32_t pid;
    uint64_t memory; /* bytes */
    struct {
        uint64_t gfx, enc; /* ns */
        uint32_t reserved[12];
    } engines;
    struct {
        uint64_t gtt, cpu, vram; /* bytes */
        uint32_t reserved[10];
    } memories;
    char container[32];
    uint32_t reserved[4];
};

/* Lists x(required, name, arguments); each returns enum amdsmi_result. */
#define AMDSMI_FUNCTIONS(X)                                                                        \
    X(true, amdsmi_init, (uint64_t flags))                                                         \
    X(true, amdsmi_shut_down, (void))                                                              \
    X(true, amdsmi_get_socket_handles, (uint32_t * count, amdsmi_handle * sockets))                \
    X(true, amdsmi_get_processor_handles,                                                          \
      (amdsmi_handle socket, uint32_t * count, amdsmi_handle * processors))                        \
    X(true, amdsmi_get_processor_type, (amdsmi_handle device, int *type))                          \
    X(true, amdsmi_get_gpu_device_bdf, (amdsmi_handle device, uint64_t * place))                   \
    X(false, amdsmi_status_code_to_string, (int result, const char **text))                        \
    X(false, amdsmi_get_gpu_asic_info, (amdsmi_handle device, void *asic))                         \
    X(false, amdsmi_get_gpu_device_uuid, (amdsmi_handle device, unsigned *size, char *text))       \
    X(false, amdsmi_get_gpu_activity, (amdsmi_handle device, void *activity))                      \
    X(false, amdsmi_get_gpu_memory_total, (amdsmi_handle device, int type, uint64_t *bytes))       \
    X(false, amdsmi_get_gpu_memory_usage, (amdsmi_handle device, int type, uint64_t *bytes))       \
    X(false, amdsmi_get_temp_metric,                                                               \
      (amdsmi_handle device, int sensor, int metric, int64_t *degrees))                            \
    X(false, amdsmi_get_power_info, (amdsmi_handle device, void *power))                           \
    X(false, amdsmi_get_clock_info, (amdsmi_handle device, int clock, void *info))                 \
    X(false, amdsmi_get_gpu_fan_speed, (amdsmi_handle device, uint32_t sensor, int64_t * speed))   \
    X(false, amdsmi_get_gpu_fan_speed_max,                                                         \
      (amdsmi_handle device, uint32_t sensor, uint64_t * most))                                    \
    X(false, amdsmi_get_gpu_volt_metric,                                                           \
      (amdsmi_handle device, int sensor, int metric, int64_t *mv))                                 \
    X(false, amdsmi_get_energy_count,                                                              \
      (amdsmi_handle device, uint64_t * count, float *uj, uint64_t *time))                         \
    X(false, amdsmi_get_gpu_pci_replay_counter, (amdsmi_handle device, uint64_t * count))          \
    X(false, amdsmi_get_gpu_total_ecc_count, (amdsmi_handle device, void *errors))                 \
    X(false, amdsmi_get_gpu_process_list, (amdsmi_handle device, uint32_t * count, void *list))    \
    X(false, amdsmi_get_gpu_metrics_info, (amdsmi_handle device, void *metrics))                   \
    X(false, amdsmi_get_gpu_compute_partition, (amdsmi_handle device, char *text, uint32_t size))  \
    X(false, amdsmi_get_gpu_memory_partition, (amdsmi_handle device, char *text, uint32_t size))

#endif
