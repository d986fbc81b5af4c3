/* cuda.h - has our own declarations of NVIDIA's driver API (libcuda.so.1), so that the build does
 * not need a CUDA toolkit.
 *
 * This file has only facts that the driver's binary interface fixes: values, layouts and
 * signatures. tests/unit/backend/abi/test_cupti.c checks every one of them against the
 * vendor's headers wherever those are installed (ADR 0001). */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_CUDA_H
#define GPUFL_BACKEND_NVIDIA_ABI_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Lists the results; they are an int in the interface. */
enum {
    CUDA_OK = 0,
    CUDA_E_NOT_INITIALIZED = 3,
    CUDA_E_DEINITIALIZED = 4,
    CUDA_E_NO_DEVICE = 100,
};

/* Lists the results of a context in which a kernel has faulted: X(name, value). */
#define CUDA_FAULTS(X)                                                                             \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                              \
    X(CUDA_ERROR_ASSERT, 710)                                                                      \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                        \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                         \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                          \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                       \
    X(CUDA_ERROR_INVALID_PC, 718)                                                                  \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)

/* Opaque handles are plain pointers in the interface. */
typedef struct cuda_context_handle *cuda_context;
typedef struct cuda_stream_handle *cuda_stream;
typedef struct cuda_graph_handle *cuda_graph;
typedef struct cuda_exec_handle *cuda_exec;
typedef struct cuda_node_handle *cuda_node;

/* This is the calling thread's default stream, spelled out; NULL means it in _ptsz calls only. */
#define CUDA_PER_THREAD_STREAM ((cuda_stream)(uintptr_t)2)

/* Lists the device attributes that are read: X(ours, value, the vendor's suffix). */
#define CUDA_ATTRIBUTES(X)                                                                         \
    X(SHARED_PER_BLOCK, 8, MAX_SHARED_MEMORY_PER_BLOCK)                                            \
    X(WARP_SIZE, 10, WARP_SIZE)                                                                    \
    X(REGS_PER_BLOCK, 12, MAX_REGISTERS_PER_BLOCK)                                                 \
    X(CLOCK_KHZ, 13, CLOCK_RATE)                                                                   \
    X(SM_COUNT, 16, MULTIPROCESSOR_COUNT)                                                          \
    X(PCI_BUS, 33, PCI_BUS_ID)                                                                     \
    X(PCI_DEVICE, 34, PCI_DEVICE_ID)                                                               \
    X(MEMORY_CLOCK_KHZ, 36, MEMORY_CLOCK_RATE)                                                     \
    X(L2_SIZE, 38, L2_CACHE_SIZE)                                                                  \
    X(THREADS_PER_SM, 39, MAX_THREADS_PER_MULTIPROCESSOR)                                          \
    X(PCI_DOMAIN, 50, PCI_DOMAIN_ID)                                                               \
    X(COMPUTE_MAJOR, 75, COMPUTE_CAPABILITY_MAJOR)                                                 \
    X(COMPUTE_MINOR, 76, COMPUTE_CAPABILITY_MINOR)                                                 \
    X(SHARED_PER_SM, 81, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                     \
    X(REGS_PER_SM, 82, MAX_REGISTERS_PER_MULTIPROCESSOR)                                           \
    X(SHARED_PER_BLOCK_OPTIN, 97, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                               \
    X(BLOCKS_PER_SM, 106, MAX_BLOCKS_PER_MULTIPROCESSOR)                                           \
    X(SHARED_RESERVED_PER_BLOCK, 111, RESERVED_SHARED_MEMORY_PER_BLOCK)

enum cuda_attribute {
#define CUDA_ATTRIBUTE_ENUM(ours, value, theirs) CUDA_ATTR_##ours = value,
    CUDA_ATTRIBUTES(CUDA_ATTRIBUTE_ENUM)
#undef CUDA_ATTRIBUTE_ENUM
};

/* Lists kinds of graph nodes that matter for counting kernels. */
enum cuda_node_type {
    CUDA_NODE_KERNEL = 0,
    CUDA_NODE_GRAPH = 4,        /* a child graph, by value */
    CUDA_NODE_CONDITIONAL = 13, /* runs its body 0 to n times: not countable */
};

/* Names the attribute of a function for the bytes of local memory of a thread. */
enum { CUDA_FUNCTION_LOCAL_SIZE = 3 };

/* This is the state of a stream: anything but 0 means that calls are recorded, not run. */
enum { CUDA_CAPTURE_NONE = 0 };

struct cuda_uuid {
    unsigned char bytes[16];
};

/* Holds the parameters of driver calls as the profiling library passes them to its callbacks: a
 * struct of the call's arguments. */
struct cuda_launch_params { /* cuLaunchKernel and the cooperative form */
    void *function;
    unsigned grid[3], block[3];
    unsigned shared;
    cuda_stream stream;
    void **arguments;
};

struct cuda_launch_config { /* the prefix of what cuLaunchKernelEx takes */
    unsigned grid[3], block[3];
    unsigned shared;
    cuda_stream stream;
};

struct cuda_launch_ex_params { /* cuLaunchKernelEx */
    const struct cuda_launch_config *config;
    void *function;
};

struct cuda_launch_grid_async_params { /* cuLaunchGridAsync, legacy */
    void *function;
    int width, height;
    cuda_stream stream;
};

struct cuda_multi_device_params { /* cuLaunchCooperativeKernelMultiDevice */
    const void *list;
    unsigned devices; /* a kernel each */
};

struct cuda_graph_launch_params { /* cuGraphLaunch */
    cuda_exec exec;
    cuda_stream stream;
};

struct cuda_graph_instantiate_params { /* the prefix that every form shares */
    cuda_exec *exec;                   /* out */
    cuda_graph graph;
};

struct cuda_graph_exec_params { /* the prefix of calls that change or destroy one */
    cuda_exec exec;
};

/* Lists the functions: X(required, result, name, arguments). The names are the exported ones. */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(true, int, cuDriverGetVersion, (int *version))                                               \
    X(true, int, cuCtxGetCurrent, (cuda_context * context))                                        \
    X(true, int, cuDeviceGetCount, (int *count))                                                   \
    X(true, int, cuDeviceGet, (int *device, int ordinal))                                          \
    X(true, int, cuDeviceGetAttribute, (int *value, int attribute, int device))                    \
    X(true, int, cuDeviceGetName, (char *name, int size, int device))                              \
    X(true, int, cuDeviceTotalMem_v2, (size_t * bytes, int device))                                \
    X(false, int, cuCtxGetApiVersion, (cuda_context context, unsigned *version))                   \
    X(false, int, cuDeviceGetUuid, (struct cuda_uuid * uuid, int device))                          \
    X(false, int, cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))          \
    X(false, int, cuStreamIsCapturing, (cuda_stream stream, int *state))                           \
    X(false, int, cuFuncGetAttribute, (int *value, int attribute, void *function))                 \
    X(false, int, cuKernelGetFunction, (void **function, void *kernel))                            \
    X(false, int, cuGraphGetNodes, (cuda_graph graph, cuda_node * nodes, size_t * count))          \
    X(false, int, cuGraphNodeGetType, (cuda_node node, int *type))                                 \
    X(false, int, cuGraphChildGraphNodeGetGraph, (cuda_node node, cuda_graph * graph))

#endif
