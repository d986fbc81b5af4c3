/* cuda_calls.h - declares the calls of the fake driver (libcuda.so.1) that programs of tests make:
 * calls of CUDA, and calls with which a program directs the fake. */
#ifndef GPUFL_TESTS_FAKE_CUDA_CALLS_H
#define GPUFL_TESTS_FAKE_CUDA_CALLS_H

#include "backend/nvidia/abi/cuda.h"

#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuStreamCreate(cuda_stream *stream, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cuda_stream stream, void **arguments,
                   void **extra);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_stream stream);
int cuMemcpyPeerAsync(uint64_t to, void *at, uint64_t from, void *of, size_t n, cuda_stream stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_stream stream);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, cuda_stream stream);
int cuStreamSynchronize(cuda_stream stream);
int cuCtxSynchronize(void);
int cuGraphCreate(cuda_graph *graph, unsigned flags);
int cuGraphInstantiateWithFlags(cuda_exec *exec, cuda_graph graph, unsigned long long flags);
int cuGraphLaunch(cuda_exec exec, cuda_stream stream);
int cuGraphExecDestroy(cuda_exec exec);
int cuCtxCreate_v2(cuda_context *context, unsigned flags, int device);
int cuCtxDestroy_v2(cuda_context context);
int cuDevicePrimaryCtxReset_v2(int device);
int cuCtxGetCurrent(cuda_context *context);
int cuCtxSetCurrent(cuda_context context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleUnload(void *module);
int cuDevicePrimaryCtxRetain(cuda_context *context, int device);
int cuStreamBeginCapture_v2(cuda_stream stream, int mode);
int cuStreamEndCapture(cuda_stream stream, cuda_graph *graph);

void fake_graph_add(cuda_graph graph, int n, int64_t duration, cuda_graph child);
void fake_managed(int kind, uint64_t value);
void fake_cuda_await_stuck(void);
void fake_cuda_release_held(void);
void fake_cuda_contexts(uint64_t out[3]);

#endif
