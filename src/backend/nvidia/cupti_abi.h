/* cupti_abi.h - what we need to know of NVIDIA's CUPTI (libcupti.so), in our own
 * words, so that nothing here needs a CUDA toolkit to build.
 *
 * Only facts that the library's binary interface fixes: values, layouts and
 * signatures. tests/unit/test_abi_cupti.c checks every one of them against the
 * vendor's headers wherever those are installed (ADR 0001).
 *
 * Activity records grow at their end from release to release, never in the
 * middle. A struct below holds the fields that are read; FILLED rows say from
 * which CUPTI_API_VERSION on a record has how many bytes, so that a reader takes
 * no more than the loaded library has filled. */
#ifndef GPUFL_BACKEND_NVIDIA_CUPTI_ABI_H
#define GPUFL_BACKEND_NVIDIA_CUPTI_ABI_H

#include "backend/nvidia/cuda_abi.h"

#include <stddef.h>
#include <stdint.h>

/* ---- results --------------------------------------------------------------------------- */

/* X(ours, value, the vendor's suffix) */
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
    CUPTI_DOMAIN_RESOURCE = 3, /* contexts, modules, graphs come and go */
};

enum cupti_site { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };

/* Callback ids of the resource domain. Single ones are enabled, never the whole
 * domain: one of its callbacks comes with every launch. */
enum cupti_resource {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY = 2,
    CUPTI_RESOURCE_INIT_FINISHED = 5, /* cuInit is done */
    CUPTI_RESOURCE_MODULE_LOADED = 6,
    CUPTI_RESOURCE_MODULE_UNLOAD = 7,
    CUPTI_RESOURCE_GRAPHEXEC_CREATED = 18,
    CUPTI_RESOURCE_GRAPHEXEC_DESTROY = 19,
};

/* What a callback of the driver or runtime domain is shown. */
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

/* What a callback of the resource domain is shown. */
struct cupti_resource_event {
    cuda_context context;
    void *handle; /* a stream, where one is meant */
    void *detail; /* struct cupti_graph_event and the like */
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

/* Callback ids of the driver domain: X(name, id). Ids are only ever added. */

/* Calls that start one kernel (the multi-device form: one each). */
#define CUPTI_KERNEL_CALLS(X)                                                                      \
    X(cuLaunch, 115)                                                                               \
    X(cuLaunchGrid, 116)                                                                           \
    X(cuLaunchGridAsync, 117)                                                                      \
    X(cuLaunchKernel, 307)                                                                         \
    X(cuLaunchKernel_ptsz, 442)                                                                    \
    X(cuLaunchCooperativeKernel, 477)                                                              \
    X(cuLaunchCooperativeKernel_ptsz, 478)                                                         \
    X(cuLaunchCooperativeKernelMultiDevice, 480)                                                   \
    X(cuLaunchKernelEx, 652)                                                                       \
    X(cuLaunchKernelEx_ptsz, 653)

enum { CUPTI_USUAL_LAUNCH = 307 }; /* cuLaunchKernel */

/* Calls that start a graph. */
#define CUPTI_GRAPH_CALLS(X)                                                                       \
    X(cuGraphLaunch, 514)                                                                          \
    X(cuGraphLaunch_ptsz, 515)

/* Calls that copy or fill memory. */
#define CUPTI_COPY_CALLS(X)                                                                        \
    X(cuMemcpyHtoD, 43)                                                                            \
    X(cu64MemcpyHtoD, 44)                                                                          \
    X(cuMemcpyDtoH, 45)                                                                            \
    X(cu64MemcpyDtoH, 46)                                                                          \
    X(cuMemcpyDtoD, 47)                                                                            \
    X(cu64MemcpyDtoD, 48)                                                                          \
    X(cuMemcpyDtoA, 49)                                                                            \
    X(cu64MemcpyDtoA, 50)                                                                          \
    X(cuMemcpyAtoD, 51)                                                                            \
    X(cu64MemcpyAtoD, 52)                                                                          \
    X(cuMemcpyHtoA, 53)                                                                            \
    X(cuMemcpyAtoH, 54)                                                                            \
    X(cuMemcpyAtoA, 55)                                                                            \
    X(cuMemcpy2D, 56)                                                                              \
    X(cuMemcpy2DUnaligned, 57)                                                                     \
    X(cuMemcpy3D, 58)                                                                              \
    X(cu64Memcpy3D, 59)                                                                            \
    X(cuMemcpyHtoDAsync, 60)                                                                       \
    X(cu64MemcpyHtoDAsync, 61)                                                                     \
    X(cuMemcpyDtoHAsync, 62)                                                                       \
    X(cu64MemcpyDtoHAsync, 63)                                                                     \
    X(cuMemcpyDtoDAsync, 64)                                                                       \
    X(cu64MemcpyDtoDAsync, 65)                                                                     \
    X(cuMemcpyHtoAAsync, 66)                                                                       \
    X(cuMemcpyAtoHAsync, 67)                                                                       \
    X(cuMemcpy2DAsync, 68)                                                                         \
    X(cuMemcpy3DAsync, 69)                                                                         \
    X(cu64Memcpy3DAsync, 70)                                                                       \
    X(cuMemsetD8, 71)                                                                              \
    X(cu64MemsetD8, 72)                                                                            \
    X(cuMemsetD16, 73)                                                                             \
    X(cu64MemsetD16, 74)                                                                           \
    X(cuMemsetD32, 75)                                                                             \
    X(cu64MemsetD32, 76)                                                                           \
    X(cuMemsetD2D8, 77)                                                                            \
    X(cu64MemsetD2D8, 78)                                                                          \
    X(cuMemsetD2D16, 79)                                                                           \
    X(cu64MemsetD2D16, 80)                                                                         \
    X(cuMemsetD2D32, 81)                                                                           \
    X(cu64MemsetD2D32, 82)                                                                         \
    X(cuMemsetD8Async, 216)                                                                        \
    X(cu64MemsetD8Async, 217)                                                                      \
    X(cuMemsetD16Async, 218)                                                                       \
    X(cu64MemsetD16Async, 219)                                                                     \
    X(cuMemsetD32Async, 220)                                                                       \
    X(cu64MemsetD32Async, 221)                                                                     \
    X(cuMemsetD2D8Async, 222)                                                                      \
    X(cu64MemsetD2D8Async, 223)                                                                    \
    X(cuMemsetD2D16Async, 224)                                                                     \
    X(cu64MemsetD2D16Async, 225)                                                                   \
    X(cuMemsetD2D32Async, 226)                                                                     \
    X(cu64MemsetD2D32Async, 227)                                                                   \
    X(cu64Memcpy2D, 232)                                                                           \
    X(cu64Memcpy2DUnaligned, 233)                                                                  \
    X(cu64Memcpy2DAsync, 234)                                                                      \
    X(cuMemcpy_v2, 248)                                                                            \
    X(cuMemsetD8_v2, 249)                                                                          \
    X(cuMemsetD16_v2, 250)                                                                         \
    X(cuMemsetD32_v2, 251)                                                                         \
    X(cuMemsetD2D8_v2, 252)                                                                        \
    X(cuMemsetD2D16_v2, 253)                                                                       \
    X(cuMemsetD2D32_v2, 254)                                                                       \
    X(cuMemcpyHtoD_v2, 276)                                                                        \
    X(cuMemcpyHtoDAsync_v2, 277)                                                                   \
    X(cuMemcpyDtoH_v2, 278)                                                                        \
    X(cuMemcpyDtoHAsync_v2, 279)                                                                   \
    X(cuMemcpyDtoD_v2, 280)                                                                        \
    X(cuMemcpyDtoDAsync_v2, 281)                                                                   \
    X(cuMemcpyAtoH_v2, 282)                                                                        \
    X(cuMemcpyAtoHAsync_v2, 283)                                                                   \
    X(cuMemcpyAtoD_v2, 284)                                                                        \
    X(cuMemcpyDtoA_v2, 285)                                                                        \
    X(cuMemcpyAtoA_v2, 286)                                                                        \
    X(cuMemcpy2D_v2, 287)                                                                          \
    X(cuMemcpy2DUnaligned_v2, 288)                                                                 \
    X(cuMemcpy2DAsync_v2, 289)                                                                     \
    X(cuMemcpy3D_v2, 290)                                                                          \
    X(cuMemcpy3DAsync_v2, 291)                                                                     \
    X(cuMemcpyHtoA_v2, 292)                                                                        \
    X(cuMemcpyHtoAAsync_v2, 293)                                                                   \
    X(cuMemcpy, 305)                                                                               \
    X(cuMemcpyAsync, 306)                                                                          \
    X(cuMemcpyPeer, 318)                                                                           \
    X(cuMemcpyPeerAsync, 319)                                                                      \
    X(cuMemcpy3DPeer, 320)                                                                         \
    X(cuMemcpy3DPeerAsync, 321)                                                                    \
    X(cuMemcpyHtoD_v2_ptds, 397)                                                                   \
    X(cuMemcpyDtoH_v2_ptds, 398)                                                                   \
    X(cuMemcpyDtoD_v2_ptds, 399)                                                                   \
    X(cuMemcpyDtoA_v2_ptds, 400)                                                                   \
    X(cuMemcpyAtoD_v2_ptds, 401)                                                                   \
    X(cuMemcpyHtoA_v2_ptds, 402)                                                                   \
    X(cuMemcpyAtoH_v2_ptds, 403)                                                                   \
    X(cuMemcpyAtoA_v2_ptds, 404)                                                                   \
    X(cuMemcpy2D_v2_ptds, 405)                                                                     \
    X(cuMemcpy2DUnaligned_v2_ptds, 406)                                                            \
    X(cuMemcpy3D_v2_ptds, 407)                                                                     \
    X(cuMemcpy_ptds, 408)                                                                          \
    X(cuMemcpyPeer_ptds, 409)                                                                      \
    X(cuMemcpy3DPeer_ptds, 410)                                                                    \
    X(cuMemsetD8_v2_ptds, 411)                                                                     \
    X(cuMemsetD16_v2_ptds, 412)                                                                    \
    X(cuMemsetD32_v2_ptds, 413)                                                                    \
    X(cuMemsetD2D8_v2_ptds, 414)                                                                   \
    X(cuMemsetD2D16_v2_ptds, 415)                                                                  \
    X(cuMemsetD2D32_v2_ptds, 416)                                                                  \
    X(cuMemcpyAsync_ptsz, 418)                                                                     \
    X(cuMemcpyHtoAAsync_v2_ptsz, 419)                                                              \
    X(cuMemcpyAtoHAsync_v2_ptsz, 420)                                                              \
    X(cuMemcpyHtoDAsync_v2_ptsz, 421)                                                              \
    X(cuMemcpyDtoHAsync_v2_ptsz, 422)                                                              \
    X(cuMemcpyDtoDAsync_v2_ptsz, 423)                                                              \
    X(cuMemcpy2DAsync_v2_ptsz, 424)                                                                \
    X(cuMemcpy3DAsync_v2_ptsz, 425)                                                                \
    X(cuMemcpyPeerAsync_ptsz, 426)                                                                 \
    X(cuMemcpy3DPeerAsync_ptsz, 427)                                                               \
    X(cuMemsetD8Async_ptsz, 428)                                                                   \
    X(cuMemsetD16Async_ptsz, 429)                                                                  \
    X(cuMemsetD32Async_ptsz, 430)                                                                  \
    X(cuMemsetD2D8Async_ptsz, 431)                                                                 \
    X(cuMemsetD2D16Async_ptsz, 432)                                                                \
    X(cuMemsetD2D32Async_ptsz, 433)                                                                \
    X(cuMemcpyBatchAsync, 776)                                                                     \
    X(cuMemcpyBatchAsync_ptsz, 777)                                                                \
    X(cuMemcpy3DBatchAsync, 778)                                                                   \
    X(cuMemcpy3DBatchAsync_ptsz, 779)                                                              \
    X(cuMemcpyBatchAsync_v2, 796)                                                                  \
    X(cuMemcpyBatchAsync_v2_ptsz, 797)                                                             \
    X(cuMemcpy3DBatchAsync_v2, 798)                                                                \
    X(cuMemcpy3DBatchAsync_v2_ptsz, 799)

/* Calls that wait, or make a stream wait. */
#define CUPTI_SYNC_CALLS(X)                                                                        \
    X(cuCtxSynchronize, 17)                                                                        \
    X(cuEventSynchronize, 121)                                                                     \
    X(cuStreamSynchronize, 126)                                                                    \
    X(cuStreamWaitEvent, 295)                                                                      \
    X(cuStreamWaitEvent_ptsz, 436)                                                                 \
    X(cuStreamSynchronize_ptsz, 440)                                                               \
    X(cuCtxSynchronize_v2, 800)

/* Calls that allocate and free memory of the device or pinned memory of the host. */
#define CUPTI_MEMORY_CALLS(X)                                                                      \
    X(cuMemAlloc, 29)                                                                              \
    X(cuMemAllocPitch, 31)                                                                         \
    X(cuMemFree, 33)                                                                               \
    X(cuMemAllocHost, 37)                                                                          \
    X(cuMemFreeHost, 38)                                                                           \
    X(cuMemHostAlloc, 39)                                                                          \
    X(cuMemAlloc_v2, 243)                                                                          \
    X(cuMemAllocPitch_v2, 244)                                                                     \
    X(cuMemFree_v2, 245)                                                                           \
    X(cuMemHostAlloc_v2, 271)                                                                      \
    X(cuMemAllocHost_v2, 294)                                                                      \
    X(cuMemAllocManaged, 371)                                                                      \
    X(cuMemAllocAsync, 598)                                                                        \
    X(cuMemAllocAsync_ptsz, 599)                                                                   \
    X(cuMemFreeAsync, 600)                                                                         \
    X(cuMemFreeAsync_ptsz, 601)                                                                    \
    X(cuMemAllocFromPoolAsync, 611)                                                                \
    X(cuMemAllocFromPoolAsync_ptsz, 612)

/* Calls that bring code to the device or take it away. */
#define CUPTI_CODE_CALLS(X)                                                                        \
    X(cuModuleLoad, 18)                                                                            \
    X(cuModuleLoadData, 19)                                                                        \
    X(cuModuleLoadDataEx, 20)                                                                      \
    X(cuModuleLoadFatBinary, 21)                                                                   \
    X(cuModuleUnload, 22)                                                                          \
    X(cuLibraryLoadData, 678)                                                                      \
    X(cuLibraryLoadFromFile, 679)                                                                  \
    X(cuLibraryUnload, 680)

/* Of all these, calls after which what the program had asked for is done, and calls that take code away
 * or a context. */
#define CUPTI_DONE_CALLS(X)                                                                        \
    X(cuCtxSynchronize, 17)                                                                        \
    X(cuEventSynchronize, 121)                                                                     \
    X(cuStreamSynchronize, 126)                                                                    \
    X(cuStreamSynchronize_ptsz, 440)                                                               \
    X(cuCtxSynchronize_v2, 800)

#define CUPTI_ENDING_CALLS(X)                                                                      \
    X(cuCtxDestroy, 11)                                                                            \
    X(cuModuleUnload, 22)                                                                          \
    X(cuCtxDestroy_v2, 322)                                                                        \
    X(cuDevicePrimaryCtxRelease, 387)                                                              \
    X(cuDevicePrimaryCtxReset, 389)                                                                \
    X(cuDevicePrimaryCtxRelease_v2, 544)                                                           \
    X(cuDevicePrimaryCtxReset_v2, 545)                                                             \
    X(cuLibraryUnload, 680)

/* Calls that make a context or destroy one. */
#define CUPTI_CONTEXT_CALLS(X)                                                                     \
    X(cuCtxCreate, 10)                                                                             \
    X(cuCtxDestroy, 11)                                                                            \
    X(cuCtxDetach, 13)                                                                             \
    X(cuCtxCreate_v2, 235)                                                                         \
    X(cuCtxDestroy_v2, 322)                                                                        \
    X(cuDevicePrimaryCtxRetain, 386)                                                               \
    X(cuDevicePrimaryCtxRelease, 387)                                                              \
    X(cuDevicePrimaryCtxReset, 389)                                                                \
    X(cuDevicePrimaryCtxRelease_v2, 544)                                                           \
    X(cuDevicePrimaryCtxReset_v2, 545)                                                             \
    X(cuCtxCreate_v3, 645)                                                                         \
    X(cuGreenCtxCreate, 743)                                                                       \
    X(cuGreenCtxDestroy, 744)                                                                      \
    X(cuCtxFromGreenCtx, 753)                                                                      \
    X(cuCtxCreate_v4, 757)

/* Calls that make a stream or destroy one. */
#define CUPTI_STREAM_CALLS(X)                                                                      \
    X(cuStreamCreate, 124)                                                                         \
    X(cuStreamDestroy, 127)                                                                        \
    X(cuStreamDestroy_v2, 326)                                                                     \
    X(cuStreamCreateWithPriority, 367)                                                             \
    X(cuGreenCtxStreamCreate, 758)                                                                 \
    X(cuStreamCreateForCaptureToCig, 783)

/* Calls that make, change or destroy a graph, but for its instantiation. */
#define CUPTI_GRAPH_OBJECT_CALLS(X)                                                                \
    X(cuGraphCreate, 501)                                                                          \
    X(cuGraphAddKernelNode, 502)                                                                   \
    X(cuGraphAddMemcpyNode, 504)                                                                   \
    X(cuGraphAddMemsetNode, 506)                                                                   \
    X(cuGraphExecDestroy, 516)                                                                     \
    X(cuGraphDestroy, 517)                                                                         \
    X(cuGraphDestroyNode, 522)                                                                     \
    X(cuGraphClone, 523)                                                                           \
    X(cuGraphAddChildGraphNode, 525)                                                               \
    X(cuGraphAddEmptyNode, 526)                                                                    \
    X(cuGraphAddHostNode, 530)                                                                     \
    X(cuGraphExecUpdate, 561)                                                                      \
    X(cuGraphAddEventRecordNode, 589)                                                              \
    X(cuGraphAddEventWaitNode, 590)                                                                \
    X(cuGraphAddExternalSemaphoresSignalNode, 618)                                                 \
    X(cuGraphAddExternalSemaphoresWaitNode, 621)                                                   \
    X(cuGraphAddMemAllocNode, 638)                                                                 \
    X(cuGraphAddMemFreeNode, 639)                                                                  \
    X(cuGraphAddBatchMemOpNode, 669)                                                               \
    X(cuGraphAddKernelNode_v2, 689)                                                                \
    X(cuGraphExecUpdate_v2, 696)                                                                   \
    X(cuGraphAddNode, 712)                                                                         \
    X(cuGraphConditionalHandleCreate, 722)                                                         \
    X(cuGraphAddNode_v2, 723)

/* Other calls that may wait for the device before they return. */
#define CUPTI_MAY_WAIT_CALLS(X)                                                                    \
    X(cuCtxDestroy, 11)                                                                            \
    X(cuEventDestroy, 122)                                                                         \
    X(cuStreamDestroy, 127)                                                                        \
    X(cuMemHostRegister, 301)                                                                      \
    X(cuMemHostUnregister, 302)                                                                    \
    X(cuCtxDestroy_v2, 322)                                                                        \
    X(cuEventDestroy_v2, 325)                                                                      \
    X(cuStreamDestroy_v2, 326)                                                                     \
    X(cuMemHostRegister_v2, 379)

/* Calls after which launches into a stream are recorded into a graph instead of run. */
#define CUPTI_CAPTURE_BEGIN_CALLS(X)                                                               \
    X(cuStreamBeginCapture, 495)                                                                   \
    X(cuStreamBeginCapture_ptsz, 496)                                                              \
    X(cuStreamBeginCapture_v2, 539)                                                                \
    X(cuStreamBeginCapture_v2_ptsz, 540)                                                           \
    X(cuStreamBeginCaptureToGraph, 720)                                                            \
    X(cuStreamBeginCaptureToGraph_ptsz, 721)

/* Calls that end this. */
#define CUPTI_CAPTURE_END_CALLS(X)                                                                 \
    X(cuStreamEndCapture, 497)                                                                     \
    X(cuStreamEndCapture_ptsz, 498)

/* Calls that make an executable graph. */
#define CUPTI_INSTANTIATE_CALLS(X)                                                                 \
    X(cuGraphInstantiate, 513)                                                                     \
    X(cuGraphInstantiate_v2, 578)                                                                  \
    X(cuGraphInstantiateWithFlags, 643)                                                            \
    X(cuGraphInstantiateWithParams, 656)                                                           \
    X(cuGraphInstantiateWithParams_ptsz, 657)

/* Calls that end one, or switch a node of it on or off. */
#define CUPTI_EXEC_CALLS(X)                                                                        \
    X(cuGraphExecDestroy, 516)                                                                     \
    X(cuGraphNodeSetEnabled, 650)

/* ---- activity records ------------------------------------------------------------------ */

/* X(ours, value, the vendor's suffix) */
#define CUPTI_KINDS(X)                                                                             \
    X(MEMCPY, 1, MEMCPY)                                                                           \
    X(MEMSET, 2, MEMSET)                                                                           \
    X(KERNEL_SERIAL, 3, KERNEL) /* serializes: see sass_context.c, the same record */              \
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

/* "Does not apply", in 32-bit stream and context numbers. */
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

/* X(value, our name in logs, the vendor's suffix) */
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

/* X(ours, value, the vendor's suffix) */
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
    uint32_t from, to; /* numbers of devices; the host's is none of them */
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

/* Bytes that a library of at least this CUPTI_API_VERSION fills:
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
/* Leave *buffer NULL and *size 0 to refuse: the library then drops records. */
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete_fn)(cuda_context context, uint32_t stream, uint8_t *buffer,
                                  size_t size, size_t valid);
typedef uint64_t (*cupti_clock_fn)(void); /* ns */

enum { CUPTI_FLUSH_FORCED = 1 };     /* cuptiActivityFlushAll: also unfinished buffers */
enum { CUPTI_THREAD_ID_SYSTEM = 1 }; /* cuptiSetThreadIdType: gettid */
enum {
    CUPTI_ATTR_ZEROED_BUFFERS = 5,           /* uint8_t: our buffers are already zero */
    CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2, /* size_t: buffers of GPU memory, per context */
    CUPTI_ATTR_PER_THREAD_BUFFERS = 9
}; /* uint8_t; before the first kind is enabled */

/* X(required, result, name, arguments) */
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
