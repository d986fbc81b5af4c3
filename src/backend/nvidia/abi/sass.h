/* sass.h - has our own declarations of CUPTI's SASS Metrics API; cupti.h has the rest of CUPTI.
 *
 * This file has only facts that the library's binary interface fixes. The first member of a
 * parameter struct is its size, as in profiler.h (PROFILER_SIZE).
 * tests/unit/backend/abi/test_cupti.c checks all of it against the vendor's headers if those
 * are installed (ADR 0001). */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_SASS_H
#define GPUFL_BACKEND_NVIDIA_ABI_SASS_H

#include "backend/nvidia/abi/pc.h"
#include "backend/nvidia/abi/profiler.h"

/* This is one value of a metric for the whole GPU; finer granularities are by multiprocessor or its
 * parts. */
enum { SASS_GRANULARITY_GPU = 0 };

struct sass_metric_details {
    uint64_t id;
    const char *name, *description;
};

struct sass_properties_params {
    size_t size;
    void *private_data;
    const char *chip, *name;
    struct sass_metric_details metric; /* out */
};

struct sass_metric_config {
    uint64_t id;
    uint8_t granularity;
};

struct sass_config_params {
    size_t size;
    void *private_data;
    size_t count;
    struct sass_metric_config *configs;
    uint32_t device; /* the driver's ordinal */
};

struct sass_unset_params {
    size_t size;
    void *private_data;
    uint32_t device;
};

struct sass_enable_params {
    size_t size;
    void *private_data;
    cuda_context context;
    uint8_t lazy; /* a kernel is instrumented at its first launch */
};

struct sass_disable_params {
    size_t size;
    void *private_data;
    cuda_context context;
    size_t dropped; /* out: values that were not taken in time */
};

struct sass_extent_params {
    size_t size;
    void *private_data;
    cuda_context context;
    size_t records;   /* out: instructions */
    size_t instances; /* out: of each metric */
};

struct sass_value {
    uint64_t id; /* of the metric */
    uint64_t value;
};

struct sass_record { /* of one instruction */
    size_t size;
    void *private_data;
    uint32_t crc;              /* of the cubin */
    uint32_t function;         /* number of its symbol in the module; CUDA 13.0 gives 0 */
    const char *name;          /* of the function */
    uint32_t offset;           /* in the function */
    struct sass_value *values; /* ours: room for metrics x instances */
};

struct sass_flush_params {
    size_t size;
    void *private_data;
    cuda_context context;
    size_t records, instances;
    struct sass_record *data; /* ours */
};

/* Lists x(required, result, name, arguments) */
#define CUPTI_SASS_FUNCTIONS(X)                                                                    \
    X(true, int, cuptiProfilerInitialize, (struct profiler_initialize_params * p))                 \
    X(true, int, cuptiDeviceGetChipName, (struct profiler_chip_params * p))                        \
    X(true, int, cuptiSassMetricsGetProperties, (struct sass_properties_params * p))               \
    X(true, int, cuptiSassMetricsSetConfig, (struct sass_config_params * p))                       \
    X(true, int, cuptiSassMetricsUnsetConfig, (struct sass_unset_params * p))                      \
    X(true, int, cuptiSassMetricsEnable, (struct sass_enable_params * p))                          \
    X(true, int, cuptiSassMetricsDisable, (struct sass_disable_params * p))                        \
    X(true, int, cuptiSassMetricsGetDataProperties, (struct sass_extent_params * p))               \
    X(true, int, cuptiSassMetricsFlushData, (struct sass_flush_params * p))                        \
    X(false, int, cuptiGetContextId, (cuda_context context, uint32_t * number))                    \
    X(false, int, cuptiGetCubinCrc, (struct pc_crc_params * p))

#endif
