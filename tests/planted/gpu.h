/* gpu.h - has the functions of the driver that the planted programs need, C and C++.
 *
 * They are linked to libcuda.so.1 and run alike on the fake driver of tests/fake
 * and on a real one; with PLANTED_HIP they are programs of AMD's HIP (gpu_hip.h).
 * Calls that can wait are in the programs themselves, at most as macros, because a wait must be
 * found at its own line. Kernels are those of kernels.ptx, and an argument says how long they
 * run. */
#ifndef GPUFL_TESTS_PLANTED_GPU_H
#define GPUFL_TESTS_PLANTED_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_stream_handle *gpu_stream;
typedef struct gpu_event_handle *gpu_event;
typedef uint64_t gpu_memory;

#ifdef PLANTED_HIP
#include "gpu_hip.h"
#else
int cuStreamCreate(gpu_stream *stream, unsigned flags);
int cuStreamSynchronize(gpu_stream stream);
int cuStreamWaitEvent(gpu_stream stream, gpu_event event, unsigned flags);
int cuCtxSynchronize(void);
int cuEventCreate(gpu_event *event, unsigned flags);
int cuEventRecord(gpu_event event, gpu_stream stream);
int cuEventSynchronize(gpu_event event);
int cuEventDestroy_v2(gpu_event event);
int cuMemAlloc_v2(gpu_memory *address, size_t bytes);
int cuMemFree_v2(gpu_memory address);
int cuMemAllocHost_v2(void **host, size_t bytes);
int cuMemFreeHost(void *host);
int cuMemcpyHtoD_v2(gpu_memory to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, gpu_memory from, size_t bytes);
int cuMemcpyHtoDAsync_v2(gpu_memory to, const void *from, size_t bytes, gpu_stream stream);
int cuMemcpyDtoHAsync_v2(void *to, gpu_memory from, size_t bytes, gpu_stream stream);
int cuMemsetD8Async(gpu_memory to, unsigned char value, size_t bytes, gpu_stream stream);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, gpu_stream stream, void **arguments, void **extra);
#endif

/* The GPU is as much slower as a sanitizer makes the host, so that the same launches are late. */
#ifndef PLANTED_SLOWER
#define PLANTED_SLOWER 1
#endif

enum { US = 1000 * PLANTED_SLOWER, MS = 1000 * US, GPU_SMS = 132 };

/* Lists flags of streams and events: not ordered with the default stream; without times. */
enum { GPU_NON_BLOCKING = 1, GPU_NO_TIMING = 2 };

/* Initializes the driver. True: the program must run without its fault ("clean"). A failure ends
 * the program with exit code 9. */
bool gpu_open(int argc, char **argv);

/* Does the part of gpu_open that differs between vendors. */
void gpu_up(void);

/* Returns a kernel of kernels.ptx by its name, such as spin, hoard, greedy, spill. */
void *gpu_kernel(const char *name);

/* Computes on the host for that many ns. */
void gpu_host_work(int64_t ns);

/* Makes the context of this thread's calls. */
void gpu_thread(void);

void gpu_check(int result, const char *call);

/* Makes a driver call that must succeed. */
#define GPU(call) gpu_check((call), #call)

#define LAUNCH(kernel, blocks, threads, stream, ns)                                                \
    do {                                                                                           \
        int64_t launch_ns = (ns);                                                                  \
        void *launch_arguments[] = {&launch_ns};                                                   \
        GPU(cuLaunchKernel((kernel), (blocks), 1, 1, (threads), 1, 1, 0, (stream),                 \
                           launch_arguments, NULL));                                               \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
