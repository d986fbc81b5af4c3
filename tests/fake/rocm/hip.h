/* hip.h - has the functions of the fake libamdhip64.so.6 and of the fake roctx that programs call.
 * A kernel is named when it is launched: its function is a struct fake_kernel. */
#ifndef GPUFL_TESTS_FAKE_ROCM_HIP_H
#define GPUFL_TESTS_FAKE_ROCM_HIP_H

#include <stddef.h>
#include <stdint.h>

struct dim3 {
    uint32_t x, y, z;
};

enum { HIP_H2D = 1, HIP_D2H, HIP_D2D };

#ifdef __cplusplus
extern "C" {
#endif

int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipMalloc(void **out, size_t bytes);
int hipFree(void *p);
int hipStreamCreate(void **stream);
int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args,
                    size_t shared, void *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       void *stream);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipStreamSynchronize(void *stream);
int hipDeviceSynchronize(void);
int hipHostMalloc(void **out, size_t bytes, unsigned flags);
int hipHostFree(void *p);
int hipEventCreateWithFlags(void **event, unsigned flags);
int hipEventDestroy(void *event);
int hipEventRecord(void *event, void *stream);
int hipEventSynchronize(void *event);
int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
int hipGraphLaunch(void *exec, void *stream);

int hipGraphInstantiate(void **exec, void *graph, void **error, char *log, size_t size);
int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int hipGraphNodeSetEnabled(void *exec, void *node, unsigned enabled);
int hipGraphExecDestroy(void *exec);
int hipGraphGetNodes(void *graph, void **nodes, size_t *count);
int hipGraphNodeGetType(void *node, int *type);
int hipGraphChildGraphNodeGetGraph(void *node, void **graph);

/* Makes a graph of n kernels, the last of them in a child graph, and a fill. Can be launched as it
 * is, like one that was instantiated before anybody listened. */
void *fake_graph(const void *function, int n);

/* Returns kernels of the fake's one code object: 0 gemm, 1 relu. */
const void *fake_kernel(int which);

/* The kernels of the planted programs are in that code object, too, and run for as many ns as their
 * first argument says: spin, hoard, greedy, spill. NULL: no such kernel. */
const void *fake_kernel_named(const char *name);

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
