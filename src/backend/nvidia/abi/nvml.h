/* nvml.h - has our own declarations of NVIDIA's management library
 * (libnvidia-ml.so.1), so that the build does not need a CUDA toolkit.
 *
 * tests/unit/backend/abi/test_nvml.c checks this file against nvml.h if that is installed
 * (ADR 0001). All functions except those for initialization and enumeration are optional:
 * drivers differ in what they export, devices in what they answer. */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_NVML_H
#define GPUFL_BACKEND_NVIDIA_ABI_NVML_H

#include <stdint.h>

/* Lists x(ours, value, the vendor's suffix) */
#define NVML_RESULTS(X)                                                                            \
    X(OK, 0, SUCCESS)                                                                              \
    X(E_UNINITIALIZED, 1, ERROR_UNINITIALIZED)                                                     \
    X(E_NOT_SUPPORTED, 3, ERROR_NOT_SUPPORTED)                                                     \
    X(E_NO_PERMISSION, 4, ERROR_NO_PERMISSION)                                                     \
    X(E_SIZE, 7, ERROR_INSUFFICIENT_SIZE)                                                          \
    X(E_DRIVER_NOT_LOADED, 9, ERROR_DRIVER_NOT_LOADED)                                             \
    X(E_TIMEOUT, 10, ERROR_TIMEOUT)                                                                \
    X(E_FUNCTION_NOT_FOUND, 13, ERROR_FUNCTION_NOT_FOUND)                                          \
    X(E_GPU_IS_LOST, 15, ERROR_GPU_IS_LOST)                                                        \
    X(E_VERSION_MISMATCH, 18, ERROR_LIB_RM_VERSION_MISMATCH)                                       \
    X(E_UNKNOWN, 999, ERROR_UNKNOWN)

enum nvml_result {
#define NVML_RESULT_ENUM(ours, value, theirs) NVML_##ours = value,
    NVML_RESULTS(NVML_RESULT_ENUM)
#undef NVML_RESULT_ENUM
};

typedef struct nvml_device_handle *nvml_device;

enum nvml_clock { NVML_CLOCK_GFX = 0, NVML_CLOCK_OF_SM = 1, NVML_CLOCK_OF_MEM = 2 };
enum nvml_pcie { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 }; /* out of, into the GPU */
enum nvml_ecc { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_SINCE_DRIVER_LOAD = 0 }; /* the volatile counters */
enum { NVML_SENSOR_GPU = 0 };            /* of nvmlDeviceGetTemperature */

struct nvml_utilization { /* percent */
    unsigned gpu, memory;
};

struct nvml_memory { /* bytes; used includes what the driver reserves */
    unsigned long long total, free, used;
};

struct nvml_memory_v2 { /* used without what the driver reserves */
    unsigned version;   /* NVML_MEMORY_V2, set by the caller */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 (unsigned)(sizeof(struct nvml_memory_v2) | 2u << 24)

/* Is an entry of the lists of processes. Numbers that do not apply have all bits set. */
struct nvml_process {
    unsigned pid;
    unsigned long long memory; /* bytes */
    unsigned gpu_instance, compute_instance;
};

struct nvml_process_use { /* percent, as of time */
    unsigned pid;
    unsigned long long time; /* us since the epoch */
    unsigned sm, memory, encoder, decoder;
};

typedef struct nvml_event_set_handle *nvml_event_set;

enum { /* bits of nvml_event.type */
       NVML_EVENT_ECC_CORRECTED = 0x1,
       NVML_EVENT_ECC_UNCORRECTED = 0x2,
       NVML_EVENT_XID = 0x8,
       NVML_EVENT_MIG_CHANGED = 0x100,
};

struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data: the XID */
    unsigned gpu_instance, compute_instance;
};

/* Hardware counters are read as differences between two samples (GPM). The library reads only as
 * many metrics as `count` says, so fewer of them than in the vendor's header may follow it. */
typedef struct nvml_gpm_sample_handle *nvml_gpm_sample;

enum nvml_gpm_id {
    NVML_GPM_GRAPHICS_ACTIVE = 1,
    NVML_GPM_SM_ACTIVE = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_TENSOR_ACTIVE = 5,
    NVML_GPM_DRAM_ACTIVE = 10,
};

struct nvml_gpm_metric {
    unsigned id;  /* enum nvml_gpm_id, set by the caller */
    int result;   /* enum nvml_result, of this metric alone */
    double value; /* percent */
    struct {
        char *short_name, *long_name, *unit;
    } info;
};

enum { NVML_GPM_METRICS = 5 };

struct nvml_gpm_metrics {
    unsigned version; /* NVML_GPM_METRICS_VERSION, set by the caller, as all but the answers */
    unsigned count;
    nvml_gpm_sample from, to;
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS];
};
enum { NVML_GPM_METRICS_VERSION = 1, NVML_GPM_SUPPORT = 1 };

struct nvml_gpm_support {
    unsigned version; /* NVML_GPM_SUPPORT, set by the caller */
    unsigned supported;
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

/* Lists fields of the generic query. */
enum nvml_field_id {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_NVLINK_TX = 138, /* counters of KiB, all links of the device */
    NVML_FIELD_NVLINK_RX = 139,
    NVML_FIELD_PCIE_TX_BYTES = 197, /* counters, from newer drivers on */
    NVML_FIELD_PCIE_RX_BYTES = 198,
};

enum nvml_value_type {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_U32 = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_U64 = 3,
    NVML_VALUE_I64 = 4,
    NVML_VALUE_I32 = 5,
    NVML_VALUE_U16 = 6,
};

union nvml_value {
    double f64;
    int i32;
    unsigned u32;
    unsigned long ulong;
    unsigned long long u64;
    long long i64;
    unsigned short u16;
};

struct nvml_field {
    unsigned id;       /* enum nvml_field_id, set by the caller */
    unsigned scope;    /* 0 */
    long long time;    /* us since the epoch */
    long long latency; /* us */
    int type;          /* enum nvml_value_type */
    int result;        /* enum nvml_result, of this field alone */
    union nvml_value value;
};

/* Lists x(required, result, name, arguments). */
#define NVML_FUNCTIONS(X)                                                                          \
    X(true, int, nvmlInit_v2, (void))                                                              \
    X(true, int, nvmlShutdown, (void))                                                             \
    X(true, const char *, nvmlErrorString, (int result))                                           \
    X(true, int, nvmlDeviceGetCount_v2, (unsigned *count))                                         \
    X(true, int, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_device *device))             \
    X(false, int, nvmlSystemGetDriverVersion, (char *text, unsigned size))                         \
    X(false, int, nvmlSystemGetNVMLVersion, (char *text, unsigned size))                           \
    X(false, int, nvmlSystemGetCudaDriverVersion_v2, (int *version))                               \
    X(false, int, nvmlDeviceGetName, (nvml_device device, char *text, unsigned size))              \
    X(false, int, nvmlDeviceGetUUID, (nvml_device device, char *text, unsigned size))              \
    X(false, int, nvmlDeviceGetPciInfo_v3, (nvml_device device, struct nvml_pci * pci))            \
    X(false, int, nvmlDeviceGetCudaComputeCapability,                                              \
      (nvml_device device, int *major, int *minor))                                                \
    X(false, int, nvmlDeviceGetNumGpuCores, (nvml_device device, unsigned *cores))                 \
    X(false, int, nvmlDeviceGetMaxClockInfo, (nvml_device device, int clock, unsigned *mhz))       \
    X(false, int, nvmlDeviceGetEnforcedPowerLimit, (nvml_device device, unsigned *milliwatts))     \
    X(false, int, nvmlDeviceGetPowerManagementLimitConstraints,                                    \
      (nvml_device device, unsigned *least, unsigned *most))                                       \
    X(false, int, nvmlDeviceGetMemoryInfo, (nvml_device device, struct nvml_memory * memory))      \
    X(false, int, nvmlDeviceGetMemoryInfo_v2,                                                      \
      (nvml_device device, struct nvml_memory_v2 * memory))                                        \
    X(false, int, nvmlDeviceGetUtilizationRates,                                                   \
      (nvml_device device, struct nvml_utilization * utilization))                                 \
    X(false, int, nvmlDeviceGetPowerUsage, (nvml_device device, unsigned *mw))                     \
    X(false, int, nvmlDeviceGetTotalEnergyConsumption,                                             \
      (nvml_device device, unsigned long long *mj))                                                \
    X(false, int, nvmlDeviceGetTemperature, (nvml_device device, int sensor, unsigned *celsius))   \
    X(false, int, nvmlDeviceGetClockInfo, (nvml_device device, int clock, unsigned *mhz))          \
    X(false, int, nvmlDeviceGetPcieThroughput,                                                     \
      (nvml_device device, int direction, unsigned *kb_per_s))                                     \
    X(false, int, nvmlDeviceGetCurrentClocksEventReasons,                                          \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(false, int, nvmlDeviceGetCurrentClocksThrottleReasons,                                       \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(false, int, nvmlDeviceGetFanSpeed, (nvml_device device, unsigned *percent))                  \
    X(false, int, nvmlDeviceGetTotalEccErrors,                                                     \
      (nvml_device device, int type, int counter, unsigned long long *count))                      \
    X(false, int, nvmlDeviceGetComputeRunningProcesses_v3,                                         \
      (nvml_device device, unsigned *count, struct nvml_process *infos))                           \
    X(false, int, nvmlDeviceGetMPSComputeRunningProcesses_v3,                                      \
      (nvml_device device, unsigned *count, struct nvml_process *infos))                           \
    X(false, int, nvmlDeviceGetGraphicsRunningProcesses_v3,                                        \
      (nvml_device device, unsigned *count, struct nvml_process *infos))                           \
    X(false, int, nvmlDeviceGetProcessUtilization,                                                 \
      (nvml_device device, struct nvml_process_use * uses, unsigned *count,                        \
       unsigned long long seen))                                                                   \
    X(false, int, nvmlDeviceGetPcieReplayCounter, (nvml_device device, unsigned *count))           \
    X(false, int, nvmlDeviceGetEncoderUtilization,                                                 \
      (nvml_device device, unsigned *percent, unsigned *us))                                       \
    X(false, int, nvmlDeviceGetDecoderUtilization,                                                 \
      (nvml_device device, unsigned *percent, unsigned *us))                                       \
    X(false, int, nvmlDeviceGetRemappedRows,                                                       \
      (nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,          \
       unsigned *failed))                                                                          \
    X(false, int, nvmlEventSetCreate, (nvml_event_set * set))                                      \
    X(false, int, nvmlEventSetFree, (nvml_event_set set))                                          \
    X(false, int, nvmlDeviceGetSupportedEventTypes,                                                \
      (nvml_device device, unsigned long long *types))                                             \
    X(false, int, nvmlDeviceRegisterEvents,                                                        \
      (nvml_device device, unsigned long long types, nvml_event_set set))                          \
    X(false, int, nvmlEventSetWait_v2,                                                             \
      (nvml_event_set set, struct nvml_event * event, unsigned ms))                                \
    X(false, int, nvmlDeviceGetMigMode,                                                            \
      (nvml_device device, unsigned *current, unsigned *pending))                                  \
    X(false, int, nvmlDeviceGetMaxMigDeviceCount, (nvml_device device, unsigned *count))           \
    X(false, int, nvmlDeviceGetMigDeviceHandleByIndex,                                             \
      (nvml_device device, unsigned index, nvml_device *part))                                     \
    X(false, int, nvmlDeviceGetGpuInstanceId, (nvml_device part, unsigned *id))                    \
    X(false, int, nvmlDeviceGetComputeInstanceId, (nvml_device part, unsigned *id))                \
    X(false, int, nvmlGpmQueryDeviceSupport,                                                       \
      (nvml_device device, struct nvml_gpm_support * support))                                     \
    X(false, int, nvmlGpmSampleAlloc, (nvml_gpm_sample * sample))                                  \
    X(false, int, nvmlGpmSampleFree, (nvml_gpm_sample sample))                                     \
    X(false, int, nvmlGpmSampleGet, (nvml_device device, nvml_gpm_sample sample))                  \
    X(false, int, nvmlGpmMigSampleGet,                                                             \
      (nvml_device device, unsigned gpu_instance, nvml_gpm_sample sample))                         \
    X(false, int, nvmlGpmMetricsGet, (struct nvml_gpm_metrics * metrics))                          \
    X(false, int, nvmlDeviceGetFieldValues,                                                        \
      (nvml_device device, int count, struct nvml_field *fields))

#endif
