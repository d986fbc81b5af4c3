// occupancy.cu - gpufl's theoretical occupancy against the runtime's own answer:
// 1000 random launch configurations over kernels of different register counts
// and static shared memory. Exit 0 when all agree.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <random>

extern "C" {
#include "capture/records/occupancy.h"
}

namespace
{

template <int Registers, int Shared> __global__ void __maxnreg__(Registers) work(float *out, int n)
{
    __shared__ float local[Shared / 4 + 1];
    float v[64];
    for (int i = 0; i < 64; i++)
        v[i] = out[(i * 37 + threadIdx.x) % n];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 64; i++)
            v[i] = v[i] * v[(i + 7) % 64] + k;
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += v[i];
    local[threadIdx.x % (Shared / 4 + 1)] = sum;
    __syncthreads();
    out[threadIdx.x] = local[(threadIdx.x * 3) % (Shared / 4 + 1)];
}

using Kernel = void (*)(float *, int);
const Kernel kernels[] = {work<24, 0>,    work<32, 1000>,  work<40, 4096>,   work<56, 128>,
                          work<64, 9000>, work<96, 0>,     work<128, 20000>, work<168, 512>,
                          work<200, 0>,   work<255, 40000>};

int attribute(cudaDeviceAttr a)
{
    int value = 0;
    cudaDeviceGetAttribute(&value, a, 0);
    return value;
}

occupancy_in device()
{
    occupancy_in d = {};
    d.compute_major = attribute(cudaDevAttrComputeCapabilityMajor);
    d.compute_minor = attribute(cudaDevAttrComputeCapabilityMinor);
    d.warp_size = attribute(cudaDevAttrWarpSize);
    d.max_threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    d.max_blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    d.regs_per_sm = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    d.regs_per_block = attribute(cudaDevAttrMaxRegistersPerBlock);
    d.shared_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    d.shared_per_block_optin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    d.shared_reserved_per_block = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    return d;
}

} // namespace

int main()
{
    if (cudaFree(nullptr) != cudaSuccess) {
        std::printf("occupancy: skipped, no GPU\n");
        return 77;
    }
    std::mt19937 random(7);
    int checked = 0, different = 0;
    while (checked < 1000) {
        const Kernel kernel = kernels[random() % (sizeof kernels / sizeof *kernels)];
        cudaFuncAttributes f;
        cudaFuncGetAttributes(&f, kernel);
        int optin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
        int threads = 1 + int(random() % f.maxThreadsPerBlock);
        int dynamic = random() % 3 ? int(random() % (optin - f.sharedSizeBytes)) : 0;
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             optin - int(f.sharedSizeBytes));
        int expected = 0;
        if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&expected, kernel, threads, dynamic) !=
            cudaSuccess) {
            cudaGetLastError();
            continue;
        }
        occupancy_in in = device();
        in.threads = threads;
        in.registers = f.numRegs;
        in.shared = int64_t(f.sharedSizeBytes) + dynamic;
        occupancy_units units = {};
        vendors[0]->occupancy(in.compute_major, in.compute_minor, &units);
        occupancy_out ours = {};
        checked++;
        if ((!occupancy_compute(&in, &units, &ours) || ours.blocks != expected) && different++ < 10)
            std::printf("threads %d registers %d static %zu dynamic %d: runtime %d, ours %d\n",
                        threads, f.numRegs, f.sharedSizeBytes, dynamic, expected, int(ours.blocks));
    }
    std::printf("occupancy: %d configurations, %d different\n", checked, different);
    return different != 0;
}
