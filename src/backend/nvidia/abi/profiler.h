/* profiler.h - has our own declarations of CUPTI's interfaces to hardware counters; cupti.h has the
 * rest of CUPTI. These are the profiler host (which makes an image of what the hardware is to count
 * from names of metrics, and values from the counts), PM Sampling and the Range Profiler.
 *
 * This file has only facts that the library's binary interface fixes. The first member of a struct
 * is its size up to the last field, without the padding after it: PROFILER_SIZE. An
 * older library knows fewer fields, a newer one takes a missing field for 0.
 * tests/unit/backend/abi/test_profiler.cpp checks all of it against the vendor's headers (ADR
 * 0001). */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_PROFILER_H
#define GPUFL_BACKEND_NVIDIA_ABI_PROFILER_H

#include "backend/nvidia/abi/cupti.h"

#define PROFILER_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

enum profiler_type { PROFILER_RANGES = 0, PROFILER_PM_SAMPLING = 1 };

struct profiler_host_object; /* the library's */
struct pm_object;            /* the library's: sampling of one device */

/* ---- host ------------------------------------------------------------------------------ */

struct profiler_initialize_params {
    size_t size;
    void *private_data; /* NULL, everywhere */
};

struct profiler_chip_params {
    size_t size;
    void *private_data;
    size_t device;
    const char *chip; /* out */
};

struct profiler_host_params {
    size_t size;
    void *private_data;
    int type; /* enum profiler_type */
    const char *chip;
    const uint8_t *availability;         /* or NULL */
    struct profiler_host_object *object; /* out */
};

struct profiler_object_params { /* deinitialize */
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
};

enum profiler_metric {
    PROFILER_COUNTER,
    PROFILER_RATIO,
    PROFILER_THROUGHPUT,
    PROFILER_METRIC_KINDS
};

struct profiler_names_params {
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
    int kind;           /* enum profiler_metric */
    const char **names; /* out: the library's */
    size_t count;       /* out */
};

struct profiler_metrics_params {
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
    const char **names;
    size_t count;
};

struct profiler_config_size_params {
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
    size_t bytes; /* out */
};

struct profiler_config_params {
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
    size_t bytes;
    uint8_t *config;
};

struct profiler_passes_params {
    size_t size;
    void *private_data;
    size_t bytes;
    uint8_t *config;
    size_t passes; /* out */
};

struct profiler_evaluate_params {
    size_t size;
    void *private_data;
    struct profiler_host_object *object;
    const uint8_t *image;
    size_t bytes;
    size_t index; /* of the range or sample */
    const char **names;
    size_t count;
    double *values;
};

/* Lists x(required, result, name, arguments) */
#define CUPTI_PROFILER_FUNCTIONS(X)                                                                \
    X(true, int, cuptiProfilerInitialize, (struct profiler_initialize_params * p))                 \
    X(true, int, cuptiDeviceGetChipName, (struct profiler_chip_params * p))                        \
    X(true, int, cuptiProfilerHostInitialize, (struct profiler_host_params * p))                   \
    X(true, int, cuptiProfilerHostDeinitialize, (struct profiler_object_params * p))               \
    X(false, int, cuptiProfilerHostGetBaseMetrics, (struct profiler_names_params * p))             \
    X(true, int, cuptiProfilerHostConfigAddMetrics, (struct profiler_metrics_params * p))          \
    X(true, int, cuptiProfilerHostGetConfigImageSize, (struct profiler_config_size_params * p))    \
    X(true, int, cuptiProfilerHostGetConfigImage, (struct profiler_config_params * p))             \
    X(true, int, cuptiProfilerHostGetNumOfPasses, (struct profiler_passes_params * p))             \
    X(true, int, cuptiProfilerHostEvaluateToGpuValues, (struct profiler_evaluate_params * p))

/* ---- PM Sampling ----------------------------------------------------------------------- */

enum pm_trigger { PM_EVERY_CYCLES = 0, PM_EVERY_NS = 1 };
enum pm_stop { PM_STOP_OTHER = 0, PM_STOP_IMAGE_FULL = 1, PM_STOP_END = 2 };

struct pm_enable_params {
    size_t size;
    void *private_data;
    size_t device;
    struct pm_object *object; /* out */
};

struct pm_object_params { /* disable, start, stop */
    size_t size;
    void *private_data;
    struct pm_object *object;
};

struct pm_availability_params {
    size_t size;
    void *private_data;
    size_t device;
    size_t bytes;   /* in and out */
    uint8_t *image; /* NULL: asks for bytes */
};

struct pm_config_params {
    size_t size;
    void *private_data;
    struct pm_object *object;
    size_t bytes;
    const uint8_t *config;
    size_t hardware_bytes;
    uint64_t interval; /* ns or cycles */
    int trigger;       /* enum pm_trigger */
    /* CUDA 12.8 added a field here. If it is missing, the library takes it for 0: the oldest
     * records
       are kept. */
};

struct pm_image_size_params {
    size_t size;
    void *private_data;
    struct pm_object *object;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t bytes; /* out */
};

struct pm_image_params {
    size_t size;
    void *private_data;
    struct pm_object *object;
    size_t bytes;
    uint8_t *image;
};

struct pm_decode_params {
    size_t size;
    void *private_data;
    struct pm_object *object;
    uint8_t *image;
    size_t bytes;
    int stop;         /* out: enum pm_stop */
    uint8_t overflow; /* out: the hardware's buffer was full */
};

struct pm_info_params {
    size_t size;
    void *private_data;
    const uint8_t *image;
    size_t bytes;
    size_t room, populated, completed; /* out: samples */
};

struct pm_sample_params {
    size_t size;
    void *private_data;
    struct pm_object *object;
    const uint8_t *image;
    size_t bytes;
    size_t index;
    uint64_t start, end; /* out: ns of the device's clock */
};

#define CUPTI_PM_FUNCTIONS(X)                                                                      \
    X(true, int, cuptiPmSamplingGetCounterAvailability, (struct pm_availability_params * p))       \
    X(true, int, cuptiPmSamplingEnable, (struct pm_enable_params * p))                             \
    X(true, int, cuptiPmSamplingDisable, (struct pm_object_params * p))                            \
    X(true, int, cuptiPmSamplingSetConfig, (struct pm_config_params * p))                          \
    X(true, int, cuptiPmSamplingStart, (struct pm_object_params * p))                              \
    X(true, int, cuptiPmSamplingStop, (struct pm_object_params * p))                               \
    X(true, int, cuptiPmSamplingDecodeData, (struct pm_decode_params * p))                         \
    X(true, int, cuptiPmSamplingGetCounterDataSize, (struct pm_image_size_params * p))             \
    X(true, int, cuptiPmSamplingCounterDataImageInitialize, (struct pm_image_params * p))          \
    X(true, int, cuptiPmSamplingGetCounterDataInfo, (struct pm_info_params * p))                   \
    X(true, int, cuptiPmSamplingCounterDataGetSampleInfo, (struct pm_sample_params * p))

/* ---- ranges of a context --------------------------------------------------------------- */

struct range_object; /* the library's: ranges of one context */

enum range_kind { RANGE_KERNELS = 1, RANGE_USER = 2 };
enum range_replay { REPLAY_KERNEL = 2, REPLAY_USER = 3 };

struct range_enable_params {
    size_t size;
    void *private_data;
    cuda_context context;
    struct range_object *object; /* out */
};

struct range_object_params { /* disable, start, pop */
    size_t size;
    void *private_data;
    struct range_object *object;
};

struct range_config_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    size_t bytes;
    const uint8_t *config;
    size_t image_bytes;
    uint8_t *image;
    int kind;        /* enum range_kind */
    int replay;      /* enum range_replay */
    size_t ranges;   /* of a pass, at most */
    uint16_t levels; /* of nesting */
    uint16_t least_level;
    size_t pass;
    uint16_t level;
};

struct range_stop_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    size_t pass, level; /* out: what comes next */
    uint8_t done;       /* out: all passes were collected */
};

struct range_push_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    const char *name;
};

struct range_decode_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    size_t dropped; /* out */
};

struct range_image_size_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    const char **names;
    size_t count;
    size_t ranges;
    uint32_t nodes; /* of their tree */
    size_t bytes;   /* out */
};

struct range_image_params {
    size_t size;
    void *private_data;
    struct range_object *object;
    size_t bytes;
    uint8_t *image;
};

struct range_count_params {
    size_t size;
    void *private_data;
    const uint8_t *image;
    size_t bytes;
    size_t ranges; /* out */
};

struct range_info_params {
    size_t size;
    void *private_data;
    const uint8_t *image;
    size_t bytes;
    size_t index;
    const char *delimiter;
    const char *name; /* out */
};

#define CUPTI_RANGE_FUNCTIONS(X)                                                                   \
    X(true, int, cuptiRangeProfilerEnable, (struct range_enable_params * p))                       \
    X(true, int, cuptiRangeProfilerDisable, (struct range_object_params * p))                      \
    X(true, int, cuptiRangeProfilerSetConfig, (struct range_config_params * p))                    \
    X(true, int, cuptiRangeProfilerStart, (struct range_object_params * p))                        \
    X(true, int, cuptiRangeProfilerStop, (struct range_stop_params * p))                           \
    X(true, int, cuptiRangeProfilerPushRange, (struct range_push_params * p))                      \
    X(true, int, cuptiRangeProfilerPopRange, (struct range_object_params * p))                     \
    X(true, int, cuptiRangeProfilerDecodeData, (struct range_decode_params * p))                   \
    X(true, int, cuptiRangeProfilerGetCounterDataSize, (struct range_image_size_params * p))       \
    X(true, int, cuptiRangeProfilerCounterDataImageInitialize, (struct range_image_params * p))    \
    X(true, int, cuptiRangeProfilerGetCounterDataInfo, (struct range_count_params * p))            \
    X(true, int, cuptiRangeProfilerCounterDataGetRangeInfo, (struct range_info_params * p))

#endif
