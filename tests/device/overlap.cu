// overlap.cu - launches that overlap, pause, or run on a part of the device. run.py traces each and
// compares the session with what the program says: one JSON object on stdout, times in ns of
// CLOCK_REALTIME.
//
//   device_overlap dependent N   N pairs of kernels; each second one may begin before the first
//                                has ended (programmatic dependent launch, from compute
//                                capability 9.0 on; without it exit 7)
//   device_overlap idle S N      N launches, S seconds without any, N launches more
//   device_overlap green N       N launches on each half of the device (green contexts; without
//                                them exit 7)

#include "bench/overhead/cuda_check.hpp"
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <time.h>
#include <unistd.h>

namespace
{

enum { NOT_HERE = 7 };

long long now()
{
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int say(long long begin, int kernels)
{
    std::printf("{\"kernels\":%d,\"begin\":%lld,\"end\":%lld}\n", kernels, begin, now());
    return 0;
}

__global__ void quick()
{
}

__global__ void spin(long long ns)
{
    long long begin, at;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));
    while (at - begin < ns);
}

// Lets the next kernel begin, and works on.
__global__ void first(long long ns)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    long long begin, at;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));
    while (at - begin < ns);
}

// Begins, and waits for the kernel before.
__global__ void second(long long ns)
{
    long long begin, at;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));
    while (at - begin < ns);
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

int dependent(int n)
{
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    if (prop.major < 9)
        return NOT_HERE;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(64);
    config.stream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    long long begin = now();
    for (int i = 0; i < n; i++) {
        first<<<8, 64, 0, s>>>(30000);
        CHECK(cudaLaunchKernelEx(&config, second, 20000ll));
    }
    CHECK(cudaStreamSynchronize(s));
    return say(begin, 2 * n);
}

int idle(int seconds, int n)
{
    long long begin = now();
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < n; i++)
            quick<<<1, 32>>>();
        CHECK(cudaDeviceSynchronize());
        if (half == 0)
            sleep((unsigned)seconds);
    }
    return say(begin, 2 * n);
}

int green(int n)
{
    CUdevice device;
    CUdevResource all, part[2], rest;
    unsigned count = 1;
    cuDeviceGet(&device, 0);
    if (cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        cuDevSmResourceSplitByCount(part, &count, &all, &rest, 0, all.sm.smCount / 2) !=
            CUDA_SUCCESS)
        return NOT_HERE;
    part[1] = rest;
    CUstream streams[2];
    for (int i = 0; i < 2; i++) {
        CUdevResourceDesc about;
        CUgreenCtx context;
        if (cuDevResourceGenerateDesc(&about, &part[i], 1) != CUDA_SUCCESS ||
            cuGreenCtxCreate(&context, about, device, CU_GREEN_CTX_DEFAULT_STREAM) !=
                CUDA_SUCCESS ||
            cuGreenCtxStreamCreate(&streams[i], context, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS)
            return NOT_HERE;
    }
    long long begin = now();
    for (int i = 0; i < n; i++)
        for (CUstream s : streams)
            spin<<<4, 64, 0, s>>>(5000);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return say(begin, 2 * n);
}

} // namespace

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    CHECK(cudaFree(nullptr));
    if (what == "dependent" && argc > 2)
        return dependent(std::atoi(argv[2]));
    if (what == "idle" && argc > 3)
        return idle(std::atoi(argv[2]), std::atoi(argv[3]));
    if (what == "green" && argc > 2)
        return green(std::atoi(argv[2]));
    std::fprintf(stderr, "usage: device_overlap dependent N|idle S N|green N\n");
    return 2;
}
