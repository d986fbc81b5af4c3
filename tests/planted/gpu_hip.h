/* gpu_hip.h - has the calls of gpu.h as calls of HIP. They are macros, so that a call stays at its
 * own line. The kernels are those of the fake HIP (tests/fake/rocm), with the names of
 * kernels.ptx. */
#ifndef GPUFL_TESTS_PLANTED_GPU_HIP_H
#define GPUFL_TESTS_PLANTED_GPU_HIP_H

#include "tests/fake/rocm/hip.h"

#define cuStreamCreate(stream, flags)           hipStreamCreate((void **)(void *)(stream))
#define cuStreamSynchronize(stream)             hipStreamSynchronize(stream)
#define cuCtxSynchronize()                      hipDeviceSynchronize()
#define cuStreamWaitEvent(stream, event, flags) hipStreamWaitEvent((stream), (event), (flags))
#define cuEventCreate(event, flags)             hipEventCreateWithFlags((void **)(void *)(event), (flags))
#define cuEventRecord(event, stream)            hipEventRecord((event), (stream))
#define cuEventSynchronize(event)               hipEventSynchronize(event)
#define cuEventDestroy_v2(event)                hipEventDestroy(event)
#define cuMemAllocHost_v2(host, bytes)          hipHostMalloc((host), (bytes), 0)
#define cuMemFreeHost(host)                     hipHostFree(host)
#define cuMemAlloc_v2(address, bytes)           hipMalloc((void **)(void *)(address), bytes)
#define cuMemFree_v2(address)                   hipFree((void *)(uintptr_t)(address))
#define cuMemcpyHtoD_v2(to, from, bytes)                                                           \
    hipMemcpy((void *)(uintptr_t)(to), (from), (bytes), HIP_H2D)
#define cuMemcpyDtoH_v2(to, from, bytes)                                                           \
    hipMemcpy((to), (const void *)(uintptr_t)(from), (bytes), HIP_D2H)
#define cuMemcpyHtoDAsync_v2(to, from, bytes, stream)                                              \
    hipMemcpyAsync((void *)(uintptr_t)(to), (from), (bytes), HIP_H2D, (stream))

#define cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra)         \
    hipLaunchKernel((function), (struct dim3){(gx), (gy), (gz)}, (struct dim3){(bx), (by), (bz)},  \
                    (arguments), (shared), (stream))

#endif
