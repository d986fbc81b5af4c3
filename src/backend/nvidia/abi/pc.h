/* pc.h - has our own declarations of CUPTI's PC Sampling API; cupti.h has the rest of CUPTI.
 *
 * This file has only facts that the library's binary interface fixes. The first member of a struct
 * is its size; the library fills no more than that. tests/unit/backend/abi/test_cupti.c
 * checks all of it against the vendor's headers if those are installed (ADR 0001). */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_PC_H
#define GPUFL_BACKEND_NVIDIA_ABI_PC_H

#include "backend/nvidia/abi/cupti.h"

enum pc_mode { PC_CONTINUOUS = 1, PC_SERIALIZED = 2 };

enum { PC_PARSED = 1 };                         /* the only format of data */
enum { PC_PERIOD_MIN = 5, PC_PERIOD_MAX = 31 }; /* a sample every 2^period cycles */
enum { PC_REASON_NAME = 128 };                  /* bytes of a stall reason's name */

enum pc_attribute {
    PC_ATTR_PERIOD = 1,
    PC_ATTR_REASONS = 2,
    PC_ATTR_SCRATCH_BYTES = 3,
    PC_ATTR_HARDWARE_BYTES = 4,
    PC_ATTR_MODE = 5,
    PC_ATTR_START_STOP = 6,
    PC_ATTR_FORMAT = 7,
    PC_ATTR_DATA = 8,
    PC_ATTR_WORKER_SLEEP_MS = 9,
};

struct CUPTI_RECORD pc_reason { /* of one instruction */
    uint32_t index;             /* the library's number of the reason */
    uint32_t samples;
};

struct CUPTI_RECORD pc_record {
    size_t size;
    uint64_t crc;      /* of the cubin */
    uint64_t offset;   /* in the function */
    uint32_t function; /* number of its symbol in the module */
    uint32_t padding;
    char *name;                /* of the function; shared, kept by the library's user for ever */
    size_t reason_count;       /* entries that are filled */
    struct pc_reason *reasons; /* ours: room for as many as there are stall reasons */
    uint32_t correlation;      /* serialized mode only */
};

struct CUPTI_RECORD pc_data {
    size_t size;
    size_t room;      /* records that fit */
    uint64_t total;   /* samples: of records, of other code, and dropped ones */
    uint64_t dropped; /* by the hardware */
    size_t count;     /* records filled */
    size_t remaining; /* records that wait */
    uint64_t range;
    struct pc_record *records; /* ours */
    uint64_t other;            /* samples of code that belongs to no kernel of the program */
    uint8_t full;              /* the hardware's buffer was */
};

struct pc_attribute_info {
    int attribute; /* enum pc_attribute */
    int status;    /* enum cupti_result, filled by the library */
    union {
        uint64_t room[3];
        uint32_t number; /* period, start-stop, worker's sleep */
        size_t bytes;
        int choice; /* mode, format */
        void *data;
        struct {
            size_t count;
            uint32_t *indices;
        } reasons;
    } value;
};

struct pc_configuration {
    size_t size;
    void *private_data; /* NULL */
    cuda_context context;
    size_t count;
    struct pc_attribute_info *attributes;
};

struct pc_context_params { /* enable, disable */
    size_t size;
    void *private_data;
    cuda_context context;
};

struct pc_data_params {
    size_t size;
    void *private_data;
    cuda_context context;
    void *data;
};

struct pc_count_params {
    size_t size;
    void *private_data;
    cuda_context context;
    size_t *count;
};

struct pc_reasons_params {
    size_t size;
    void *private_data;
    cuda_context context;
    size_t count;
    uint32_t *indices;
    char **names; /* each has PC_REASON_NAME bytes */
};

struct pc_crc_params {
    size_t size;
    size_t bytes;
    const void *cubin;
    uint64_t crc; /* out */
};

/* Lists x(required, result, name, arguments) */
#define CUPTI_PC_FUNCTIONS(X)                                                                      \
    X(true, int, cuptiPCSamplingEnable, (struct pc_context_params * p))                            \
    X(true, int, cuptiPCSamplingDisable, (struct pc_context_params * p))                           \
    X(true, int, cuptiPCSamplingSetConfigurationAttribute, (struct pc_configuration * p))          \
    X(true, int, cuptiPCSamplingGetConfigurationAttribute, (struct pc_configuration * p))          \
    X(true, int, cuptiPCSamplingGetData, (struct pc_data_params * p))                              \
    X(true, int, cuptiPCSamplingGetNumStallReasons, (struct pc_count_params * p))                  \
    X(true, int, cuptiPCSamplingGetStallReasons, (struct pc_reasons_params * p))                   \
    X(false, int, cuptiGetContextId, (cuda_context context, uint32_t * number))                    \
    X(false, int, cuptiGetCubinCrc, (struct pc_crc_params * p))

#endif
