/* cupti_calls.h - lists the callback ids of the driver domain, by what the calls do: X(name, id).
 * Ids are only ever added. Like cupti.h, which has the rest of CUPTI, this is checked by
 * tests/unit/backend/abi/test_cupti.c. */
#ifndef GPUFL_BACKEND_NVIDIA_ABI_CUPTI_CALLS_H
#define GPUFL_BACKEND_NVIDIA_ABI_CUPTI_CALLS_H

/* Lists calls that start one kernel (the multi-device form: one each). */
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

enum { CUPTI_HARMLESS_CALL = 4 }; /* cuDeviceGetCount: needs no context, and changes nothing */

/* Lists calls that start a graph. */
#define CUPTI_GRAPH_CALLS(X)                                                                       \
    X(cuGraphLaunch, 514)                                                                          \
    X(cuGraphLaunch_ptsz, 515)

/* Lists calls that copy or fill memory. */
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

/* Lists calls that wait, or make a stream wait. */
#define CUPTI_SYNC_CALLS(X)                                                                        \
    X(cuCtxSynchronize, 17)                                                                        \
    X(cuEventSynchronize, 121)                                                                     \
    X(cuStreamSynchronize, 126)                                                                    \
    X(cuStreamWaitEvent, 295)                                                                      \
    X(cuStreamWaitEvent_ptsz, 436)                                                                 \
    X(cuStreamSynchronize_ptsz, 440)                                                               \
    X(cuCtxSynchronize_v2, 800)

/* Lists calls that allocate and free memory of the device or pinned memory of the host. */
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

/* Lists calls that load or unload code. */
#define CUPTI_CODE_CALLS(X)                                                                        \
    X(cuModuleLoad, 18)                                                                            \
    X(cuModuleLoadData, 19)                                                                        \
    X(cuModuleLoadDataEx, 20)                                                                      \
    X(cuModuleLoadFatBinary, 21)                                                                   \
    X(cuModuleUnload, 22)                                                                          \
    X(cuLibraryLoadData, 678)                                                                      \
    X(cuLibraryLoadFromFile, 679)                                                                  \
    X(cuLibraryUnload, 680)

/* Calls, among all these, after which the program's earlier work is done, and calls that unload
 * code or destroy a context. */
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

/* Lists the calls that unload code. */
#define CUPTI_UNLOAD_CALLS(X)                                                                      \
    X(cuModuleUnload, 22)                                                                          \
    X(cuLibraryUnload, 680)

/* Lists calls that make a context or destroy one. */
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

/* Lists calls that make a stream or destroy one. */
#define CUPTI_STREAM_CALLS(X)                                                                      \
    X(cuStreamCreate, 124)                                                                         \
    X(cuStreamDestroy, 127)                                                                        \
    X(cuStreamDestroy_v2, 326)                                                                     \
    X(cuStreamCreateWithPriority, 367)                                                             \
    X(cuGreenCtxStreamCreate, 758)                                                                 \
    X(cuStreamCreateForCaptureToCig, 783)

/* Lists calls that make, change or destroy a graph, except its instantiation. */
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

/* Lists other calls that may wait for the device before they return. */
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

/* Lists calls that end such a capture. */
#define CUPTI_CAPTURE_END_CALLS(X)                                                                 \
    X(cuStreamEndCapture, 497)                                                                     \
    X(cuStreamEndCapture_ptsz, 498)

/* Lists calls that make an executable graph. */
#define CUPTI_INSTANTIATE_CALLS(X)                                                                 \
    X(cuGraphInstantiate, 513)                                                                     \
    X(cuGraphInstantiate_v2, 578)                                                                  \
    X(cuGraphInstantiateWithFlags, 643)                                                            \
    X(cuGraphInstantiateWithParams, 656)                                                           \
    X(cuGraphInstantiateWithParams_ptsz, 657)

/* Lists calls that destroy an executable graph, or switch one of its nodes on or off. */
#define CUPTI_EXEC_CALLS(X)                                                                        \
    X(cuGraphExecDestroy, 516)                                                                     \
    X(cuGraphNodeSetEnabled, 650)

#endif
