/* cupti.h - has our own declarations of NVIDIA's CUPTI (libcupti.so), so that the build does not
 * need a CUDA toolkit.
 *
 * This file has only facts that the library's binary interface fixes: values, layouts and
 * signatures. tests/unit/backend/abi/test_cupti.c checks every one of them against the
 * vendor's headers wherever those are installed (ADR 0001).
 *
 * Activity records grow at their end from release to release, never in the
 * middle. A struct below holds the fields that are read; FILLED rows say from
 * which CUPTI_API_VERSION on a record has how many bytes, so that a reader takes
 * no more than the loaded library has filled. */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_CUPTI_H
#define GPUFL_BACKEND_NVIDIA_ABI_CUPTI_H

#include "backend/nvidia/abi/cuda.h"
#include "backend/nvidia/abi/cupti_calls.h"

#include <stddef.h>
#include <stdint.h>

/* ---- results --------------------------------------------------------------------------- */

/* Lists x(ours, value, the vendor's suffix) */
#define CUPTI_RESULTS(X)                                                                           \
    X(OK, 0, SUCCESS)                                                                              \
    X(E_INVALID_PARAMETER, 1, ERROR_INVALID_PARAMETER)                                             \
    X(E_INVALID_CONTEXT, 3, ERROR_INVALID_CONTEXT)                                                 \
    X(E_OUT_OF_MEMORY, 8, ERROR_OUT_OF_MEMORY)                                                     \
    X(E_HARDWARE, 9, ERROR_HARDWARE)                                                               \
    X(E_MAX_LIMIT_REACHED, 12, ERROR_MAX_LIMIT_REACHED)                                            \
    X(E_NOT_READY, 13, ERROR_NOT_READY)                                                            \
    X(E_NOT_COMPATIBLE, 14, ERROR_NOT_COMPATIBLE)                                                  \
    X(E_NOT_INITIALIZED, 15, ERROR_NOT_INITIALIZED)                                                \
    X(E_INVALID_KIND, 21, ERROR_INVALID_KIND)                                                      \
    X(E_HARDWARE_BUSY, 26, ERROR_HARDWARE_BUSY)                                                    \
    X(E_NOT_SUPPORTED, 27, ERROR_NOT_SUPPORTED)                                                    \
    X(E_VIRTUALIZED, 33, ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED)                                   \
    X(E_PRIVILEGES, 35, ERROR_INSUFFICIENT_PRIVILEGES)                                             \
    X(E_OLD_PROFILER, 36, ERROR_OLD_PROFILER_API_INITIALIZED)                                      \
    X(E_LEGACY_PROFILER, 38, ERROR_LEGACY_PROFILER_NOT_SUPPORTED)                                  \
    X(E_SUBSCRIBED, 39, ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)                                  \
    X(E_VIRTUALIZED_PRIVILEGES, 40, ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)              \
    X(E_CONFIDENTIAL, 41, ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED)                              \
    X(E_MIG, 43, ERROR_MIG_DEVICE_NOT_SUPPORTED)                                                   \
    X(E_WSL, 45, ERROR_WSL_DEVICE_NOT_SUPPORTED)                                                   \
    X(E_UNKNOWN, 999, ERROR_UNKNOWN)

enum cupti_result {
#define CUPTI_RESULT_ENUM(ours, value, theirs) CUPTI_##ours = value,
    CUPTI_RESULTS(CUPTI_RESULT_ENUM)
#undef CUPTI_RESULT_ENUM
};

/* ---- callbacks ------------------------------------------------------------------------- */

enum cupti_domain {
    CUPTI_DOMAIN_DRIVER = 1,   /* calls of the driver API */
    CUPTI_DOMAIN_RUNTIME = 2,  /* calls of the runtime API: never counted, the driver's are */
    CUPTI_DOMAIN_RESOURCE = 3, /* contexts, modules, graphs are made or destroyed */
    CUPTI_DOMAIN_STATE = 6,    /* of the library itself */
};

enum cupti_site { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };

/* Lists callback ids of the resource domain. Single ones are enabled, never the whole domain: one
 * of its callbacks comes with every launch. */
enum cupti_resource {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY = 2,
    CUPTI_RESOURCE_INIT_FINISHED = 5, /* cuInit is done */
    CUPTI_RESOURCE_MODULE_LOADED = 6,
    CUPTI_RESOURCE_MODULE_UNLOAD = 7,
    CUPTI_RESOURCE_GRAPHEXEC_CREATED = 18,
    CUPTI_RESOURCE_GRAPHEXEC_DESTROY = 19,
};

/* Lists callback ids of the domain of states. */
enum cupti_state { CUPTI_STATE_FATAL = 1 }; /* after which the library finalizes itself */

/* This is the data that a callback of the driver or runtime domain gets. */
struct cupti_callback {
    int site;             /* enum cupti_site */
    const char *function; /* name of the call */
    const void *params;   /* struct of its arguments */
    void *result;         /* at exit: int * of the driver's result */
    const char *symbol;   /* kernel name, in launch calls */
    cuda_context context;
    uint32_t context_uid;
    uint64_t *data;       /* 8 bytes that live from entry to exit of this call */
    uint32_t correlation; /* as in the activity records */
};

/* This is the data that a callback of the resource domain gets. */
struct cupti_resource_event {
    cuda_context context;
    void *handle; /* a stream, in events of streams */
    void *detail; /* struct cupti_graph_event and the like */
};

struct cupti_state_event {
    int result;          /* enum cupti_result */
    const char *message; /* NULL: none */
};

struct cupti_graph_event {
    cuda_graph graph, original_graph;
    cuda_node node, original_node;
    int node_type;
    cuda_node dependency;
    cuda_exec exec;
};

struct cupti_module_event {
    uint32_t module;
    size_t cubin_size;
    const char *cubin;
};

/* ---- activity records ------------------------------------------------------------------ */

/* Lists x(ours, value, the vendor's suffix) */
#define CUPTI_KINDS(X)                                                                             \
    X(MEMCPY, 1, MEMCPY)                                                                           \
    X(MEMSET, 2, MEMSET)                                                                           \
    X(KERNEL_SERIAL, 3, KERNEL) /* serializes: see sass/context.c, the same record */              \
    X(DRIVER, 4, DRIVER)                                                                           \
    X(RUNTIME, 5, RUNTIME)                                                                         \
    X(DEVICE, 8, DEVICE)                                                                           \
    X(KERNEL, 10, CONCURRENT_KERNEL)                                                               \
    X(OVERHEAD, 17, OVERHEAD)                                                                      \
    X(PEER, 22, MEMCPY2)                                                                           \
    X(MANAGED, 25, UNIFIED_MEMORY_COUNTER)                                                         \
    X(SYNC, 38, SYNCHRONIZATION)                                                                   \
    X(EXTERNAL, 39, EXTERNAL_CORRELATION)                                                          \
    X(MEMORY, 49, MEMORY2)                                                                         \
    X(GRAPH_TRACE, 51, GRAPH_TRACE)

enum cupti_kind {
#define CUPTI_KIND_ENUM(ours, value, theirs) CUPTI_KIND_##ours = value,
    CUPTI_KINDS(CUPTI_KIND_ENUM)
#undef CUPTI_KIND_ENUM
        CUPTI_KIND_LIMIT = 64, /* above every kind */
};

/* Means "does not apply", in 32-bit stream and context numbers. */
#define CUPTI_NONE UINT32_MAX

#define CUPTI_RECORD __attribute__((packed, aligned(8)))

struct CUPTI_RECORD cupti_record { /* how every record begins */
    int32_t kind;                  /* enum cupti_kind */
};

struct CUPTI_RECORD cupti_kernel {
    int32_t kind;
    uint8_t cache; /* low nibble: requested, high nibble: executed (CUfunc_cache) */
    uint8_t shared_config;
    uint16_t registers; /* per thread */
    int32_t global_cache_requested, global_cache_executed;
    uint64_t start, end; /* ns; both 0: not known */
    uint64_t completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread;
    uint32_t local_total; /* cut to 32 bits; see local_total64 */
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed; /* the last of 144 bytes */
    uint64_t graph_node;      /* 0: not of a graph */
    int32_t shared_limit;
    uint32_t graph; /* the last of 160 */
    void *access_policy;
    uint32_t channel;
    int32_t channel_type;
    uint32_t cluster[3];
    uint32_t cluster_policy;
    uint64_t local_total64; /* the last of 200 */
};

struct CUPTI_RECORD cupti_memcpy {
    int32_t kind;
    uint8_t copy_kind;
    uint8_t src, dst; /* kinds of memory */
    uint8_t flags;    /* CUPTI_ASYNC */
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation;
    uint32_t padding;
    void *reserved; /* the last of 64 bytes */
    uint64_t graph_node;
};

struct CUPTI_RECORD cupti_peer { /* a copy between devices */
    int32_t kind;
    uint8_t copy_kind;
    uint8_t src, dst;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context;
    uint32_t correlation;
    void *reserved; /* the last of 72 bytes */
    uint64_t graph_node;
};

struct CUPTI_RECORD cupti_memset {
    int32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved; /* the last of 64 bytes */
    uint64_t graph_node;
};

enum { CUPTI_ASYNC = 1 }; /* in flags of copies and fills */

struct CUPTI_RECORD cupti_overhead {
    int32_t kind;
    int32_t overhead; /* enum cupti_overhead_kind */
    int32_t object;   /* CUPTI_OBJECT_THREAD: process and thread are set */
    uint32_t process, thread, unused;
    uint64_t start, end;
};

enum { CUPTI_OBJECT_THREAD = 2 };

/* Lists x(value, our name in logs, the vendor's suffix) */
#define CUPTI_OVERHEADS(X)                                                                         \
    X(0, unknown, UNKNOWN)                                                                         \
    X(1, driver_compiler, DRIVER_COMPILER)                                                         \
    X(1 << 16, buffer_flush, CUPTI_BUFFER_FLUSH)                                                   \
    X(2 << 16, instrumentation, CUPTI_INSTRUMENTATION)                                             \
    X(3 << 16, resource, CUPTI_RESOURCE)                                                           \
    X(4 << 16, module_loading, RUNTIME_TRIGGERED_MODULE_LOADING)                                   \
    X(5 << 16, lazy_function_loading, LAZY_FUNCTION_LOADING)                                       \
    X(6 << 16, command_buffer_full, COMMAND_BUFFER_FULL)                                           \
    X(7 << 16, buffer_request, ACTIVITY_BUFFER_REQUEST)                                            \
    X(8 << 16, managed_memory_init, UVM_ACTIVITY_INIT)

struct CUPTI_RECORD cupti_api { /* a call of the driver or runtime API */
    int32_t kind;
    uint32_t id; /* as in callbacks */
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t result;
};

struct CUPTI_RECORD cupti_external {
    int32_t kind;
    int32_t external_kind; /* who pushed it: 1 unknown, 2 OpenACC, 3 to 5 custom */
    uint64_t external_id;
    uint32_t correlation;
    uint32_t reserved;
};

struct CUPTI_RECORD cupti_memory {
    int32_t kind;
    int32_t operation; /* 1 allocate, 2 free */
    int32_t memory;    /* kind of memory */
    uint32_t correlation;
    uint64_t address, bytes;
    uint64_t time;
    uint64_t pc;
    uint32_t process, device, context, stream;
};

struct cupti_graph_run { /* the vendor's is not packed */
    int32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved; /* the last of 48 bytes */
};

/* Lists x(ours, value, the vendor's suffix) */
#define CUPTI_MANAGED_KINDS(X)                                                                     \
    X(TO_DEVICE, 1, BYTES_TRANSFER_HTOD)                                                           \
    X(TO_HOST, 2, BYTES_TRANSFER_DTOH)                                                             \
    X(HOST_FAULT, 3, CPU_PAGE_FAULT_COUNT)                                                         \
    X(DEVICE_FAULT, 4, GPU_PAGE_FAULT)                                                             \
    X(THRASHING, 5, THRASHING)                                                                     \
    X(THROTTLING, 6, THROTTLING)                                                                   \
    X(MAPPED, 7, REMOTE_MAP)                                                                       \
    X(BETWEEN_DEVICES, 8, BYTES_TRANSFER_DTOD)

enum cupti_managed_kind {
#define CUPTI_MANAGED_ENUM(ours, value, theirs) CUPTI_MANAGED_##ours = value,
    CUPTI_MANAGED_KINDS(CUPTI_MANAGED_ENUM)
#undef CUPTI_MANAGED_ENUM
        CUPTI_MANAGED_LIMIT
};

struct CUPTI_RECORD cupti_managed {
    int32_t kind;
    int32_t what; /* enum cupti_managed_kind */
    uint64_t
        value; /* bytes; of a device's fault groups of faults; of the host's an address of code */
    uint64_t start, end;
    uint64_t address;
    uint32_t from, to; /* numbers of devices; the host's is not among them */
    uint32_t stream, process;
    uint32_t flags;
    uint32_t padding; /* the last of 64 bytes */
};

struct CUPTI_RECORD cupti_managed_config {
    int32_t scope; /* CUPTI_MANAGED_ALL_DEVICES */
    int32_t what;
    uint32_t device, on;
};

enum { CUPTI_MANAGED_ALL_DEVICES = 2 };

/* Lists the bytes that a library of at least this CUPTI_API_VERSION fills:
 * X(kind, version, bytes, the vendor's struct). Ascending by version. 13 is CUDA
 * 11.0, 19 is 12.0, 130000 is 13.0. */
#define CUPTI_FILLED(X)                                                                            \
    X(KERNEL, 10, 144, Kernel4)                                                                    \
    X(KERNEL, 13, 160, Kernel5)                                                                    \
    X(KERNEL, 15, 168, Kernel6)                                                                    \
    X(KERNEL, 17, 176, Kernel7)                                                                    \
    X(KERNEL, 18, 200, Kernel8)                                                                    \
    X(KERNEL, 19, 208, Kernel9)                                                                    \
    X(KERNEL, 130000, 216, Kernel10)                                                               \
    X(MEMCPY, 9, 64, Memcpy)                                                                       \
    X(MEMCPY, 13, 72, Memcpy3)                                                                     \
    X(MEMCPY, 14, 80, Memcpy4)                                                                     \
    X(MEMCPY, 17, 88, Memcpy5)                                                                     \
    X(MEMCPY, 26, 96, Memcpy6)                                                                     \
    X(PEER, 9, 72, MemcpyPtoP)                                                                     \
    X(PEER, 13, 80, MemcpyPtoP2)                                                                   \
    X(PEER, 14, 88, MemcpyPtoP3)                                                                   \
    X(PEER, 17, 96, MemcpyPtoP4)                                                                   \
    X(MEMSET, 9, 64, Memset)                                                                       \
    X(MEMSET, 13, 72, Memset2)                                                                     \
    X(MEMSET, 14, 80, Memset3)                                                                     \
    X(MEMSET, 17, 88, Memset4)                                                                     \
    X(MEMORY, 15, 112, Memory2)                                                                    \
    X(MEMORY, 17, 120, Memory3)                                                                    \
    X(MEMORY, 23, 128, Memory4)                                                                    \
    X(OVERHEAD, 4, 40, Overhead)                                                                   \
    X(OVERHEAD, 20, 48, Overhead2)                                                                 \
    X(OVERHEAD, 22, 56, Overhead3)                                                                 \
    X(GRAPH_TRACE, 15, 48, GraphTrace)                                                             \
    X(GRAPH_TRACE, 22, 56, GraphTrace2)                                                            \
    X(MANAGED, 9, 64, UnifiedMemoryCounter2)                                                       \
    X(MANAGED, 130000, 104, UnifiedMemoryCounter3)                                                 \
    X(EXTERNAL, 9, 24, ExternalCorrelation)                                                        \
    X(DRIVER, 5, 40, API)                                                                          \
    X(RUNTIME, 5, 40, API)

/* ---- functions ------------------------------------------------------------------------- */

typedef struct cupti_subscriber_handle *cupti_subscriber;

typedef void (*cupti_callback_fn)(void *user, int domain, uint32_t id, const void *data);
/* The function leaves *buffer NULL and *size 0 to refuse: the library then drops records. */
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete_fn)(cuda_context context, uint32_t stream, uint8_t *buffer,
                                  size_t size, size_t valid);
typedef uint64_t (*cupti_clock_fn)(void); /* ns */

enum { CUPTI_FLUSH_FORCED = 1 }; /* cuptiActivityFlushAll: also unfinished buffers */
enum { CUPTI_THREAD_ID_DEFAULT = 0, CUPTI_THREAD_ID_SYSTEM = 1 }; /* cuptiSetThreadIdType: gettid */
enum {
    CUPTI_ATTR_ZEROED_BUFFERS = 5,           /* uint8_t: our buffers are already zero */
    CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2, /* size_t: buffers of GPU memory, per context */
    CUPTI_ATTR_PER_THREAD_BUFFERS = 9
}; /* uint8_t; before the first kind is enabled */

/* Lists x(required, result, name, arguments) */
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(true, int, cuptiGetVersion, (uint32_t * version))                                            \
    X(true, int, cuptiGetResultString, (int result, const char **text))                            \
    X(true, int, cuptiSubscribe,                                                                   \
      (cupti_subscriber * subscriber, cupti_callback_fn callback, void *user))                     \
    X(true, int, cuptiUnsubscribe, (cupti_subscriber subscriber))                                  \
    X(true, int, cuptiEnableCallback,                                                              \
      (uint32_t on, cupti_subscriber subscriber, int domain, uint32_t id))                         \
    X(true, int, cuptiActivityEnable, (int kind))                                                  \
    X(true, int, cuptiActivityDisable, (int kind))                                                 \
    X(true, int, cuptiActivityRegisterCallbacks,                                                   \
      (cupti_request_fn request, cupti_complete_fn complete))                                      \
    X(true, int, cuptiActivityGetNextRecord,                                                       \
      (uint8_t * buffer, size_t valid, struct cupti_record * *record))                             \
    X(true, int, cuptiActivityGetNumDroppedRecords,                                                \
      (cuda_context context, uint32_t stream, size_t * dropped))                                   \
    X(true, int, cuptiActivityFlushAll, (uint32_t flags))                                          \
    X(false, int, cuptiActivityConfigureUnifiedMemoryCounter,                                      \
      (struct cupti_managed_config * configs, uint32_t count))                                     \
    X(false, int, cuptiActivityEnableDriverApi, (uint32_t id, uint8_t on))                         \
    X(false, int, cuptiActivityFlushPeriod, (uint32_t milliseconds))                               \
    X(false, int, cuptiActivityRegisterTimestampCallback, (cupti_clock_fn clock))                  \
    X(false, int, cuptiActivitySetAttribute, (int attribute, size_t *size, void *value))           \
    X(false, int, cuptiGetTimestamp, (uint64_t * ns))                                              \
    X(false, int, cuptiGetDeviceId, (cuda_context context, uint32_t * device))                     \
    X(false, int, cuptiGetStreamIdEx,                                                              \
      (cuda_context context, cuda_stream stream, uint8_t per_thread, uint32_t * number))           \
    X(false, int, cuptiSetThreadIdType, (int type))                                                \
    X(false, int, cuptiFinalize, (void))

#endif
