// stalls.cu - kernels that each wait for one known thing, which the engines
// must recognise (run.py). All of them fill the device, so that a kernel's share of
// the samples is its share of the multiprocessors' cycles.
//
//   device_stalls [--ms T] [--rounds R] [--devices D] [KIND...]
//
// Runs each kind for about T ms (300), all of them R times (1), on D devices (1) concurrently, with
// a thread for each device. The sum of the devices is printed; exit 7 if there are fewer.
//
// Prints one JSON object with, for each kind, its kernel, launches, warps of a launch, steps of a
// warp, GPU time in ms by events, the cycles of a multiprocessor meanwhile (the device lowers its
// clock if it has to), and how often the cycles were read, one launch each time.

#include "bench/overhead/cuda_check.hpp"

#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int THREADS = 256, CHAIN = 1 << 24, MULTIPROCESSORS = 1024;

// The blocks that one multiprocessor works on in turn. If the power limit lowers the clocks of
// multiprocessors unequally, those of a higher clock take more blocks, and all end together.
constexpr int WAVES = 16;

// A chain of loads, each of which has to wait for the one before it.
__global__ void memory_latency(const unsigned *next, unsigned *out, int steps)
{
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 64u % CHAIN;
    for (int i = 0; i < steps; i++)
        at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// One warp works, the other ones wait for it.
__global__ void barrier(float *out, int steps)
{
    float x = threadIdx.x;
    for (int i = 0; i < steps; i++) {
        if (threadIdx.x < 32)
            for (int k = 0; k < 64; k++)
                x = sqrtf(x + k);
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Every thread of a warp takes its own branch.
__global__ void divergence(float *out, int steps)
{
    float x = threadIdx.x;
    for (int i = 0; i < steps; i++)
        switch ((threadIdx.x + i) % 32) {
#define WAY(n)                                                                                     \
    case n:                                                                                        \
        x = x * 1.0001f + sinf(x + n);                                                             \
        break;
#define WAYS(n) WAY(n) WAY(n + 1) WAY(n + 2) WAY(n + 3)
            WAYS(0) WAYS(4) WAYS(8) WAYS(12) WAYS(16) WAYS(20) WAYS(24) WAYS(28)
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Neighbouring threads read 32 sectors where 4 are enough.
__global__ void uncoalesced(const float *in, float *out, int steps)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < steps; i++)
        sum += in[(t * 32u + i * 7919u) % CHAIN];
    out[t] = sum;
}

// All threads of a warp want the same bank of shared memory.
__global__ void bank_conflicts(float *out, int steps)
{
    __shared__ float tile[32 * 33 * 8];
    float sum = 0;
    for (unsigned i = threadIdx.x; i < sizeof tile / sizeof *tile; i += blockDim.x)
        tile[i] = i;
    __syncthreads();
    for (int i = 0; i < steps; i++)
        sum += tile[(threadIdx.x % 32 * 32 + i) % (sizeof tile / sizeof *tile)];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// More numbers are in use than there are registers: the array is in local memory.
__global__ void __launch_bounds__(THREADS, 4) spills(float *out, int steps)
{
    float x[96];
#pragma unroll
    for (int k = 0; k < 96; k++)
        x[k] = threadIdx.x + k;
    for (int i = 0; i < steps; i++) {
#pragma unroll
        for (int k = 0; k < 96; k++)
            x[k] = x[k] * 1.0001f + x[(k * 37 + 11) % 96];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++)
        sum += x[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Matrix products of values in registers alone.
__global__ void tensor_pipe(float *out, int steps)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    wmma::fill_fragment(a, __float2half(0.5f));
    wmma::fill_fragment(b, __float2half(0.25f));
    for (auto &f : c)
        wmma::fill_fragment(f, 0.0f);
    for (int i = 0; i < steps; i++)
        for (auto &f : c)
            wmma::mma_sync(f, a, b, f);
    float sum = 0;
    for (auto &f : c)
        for (int i = 0; i < f.num_elements; i++)
            sum += f.x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

struct Memory {
    unsigned *next;
    float *in, *out;
    unsigned long long *clocks;
    int blocks;
};

struct Kind {
    const char *name, *kernel;
    int warps; // of a launch, for each of Memory's blocks
    int steps; // for some milliseconds a launch
    void (*launch)(const Memory &m, int steps);
};

const Kind kinds[] = {
    {"memory_latency", "memory_latency", 2, 4000,
     [](const Memory &m, int n) {
         memory_latency<<<m.blocks, 64>>>(m.next, (unsigned *)m.out, n);
     }},
    {"barrier", "barrier", 8, 2000,
     [](const Memory &m, int n) { barrier<<<m.blocks, THREADS>>>(m.out, n); }},
    {"divergence", "divergence", 8, 400,
     [](const Memory &m, int n) { divergence<<<m.blocks, THREADS>>>(m.out, n); }},
    {"uncoalesced", "uncoalesced", 8, 2000,
     [](const Memory &m, int n) { uncoalesced<<<m.blocks, THREADS>>>(m.in, m.out, n); }},
    {"bank_conflicts", "bank_conflicts", 8, 20000,
     [](const Memory &m, int n) { bank_conflicts<<<m.blocks, THREADS>>>(m.out, n); }},
    {"spills", "spills", 32, 1000,
     [](const Memory &m, int n) { spills<<<m.blocks * 4, THREADS>>>(m.out, n); }},
    {"tensor_pipe", "tensor_pipe", 8 * WAVES, 20000 / WAVES,
     [](const Memory &m, int n) { tensor_pipe<<<m.blocks * WAVES, THREADS>>>(m.out, n); }},
};

// The clock of each multiprocessor, by its number.
__global__ void read_clocks(unsigned long long *clocks)
{
    unsigned number;
    asm("mov.u32 %0, %%smid;" : "=r"(number));
    if (number < MULTIPROCESSORS)
        clocks[number] = clock64();
}

struct Taken {
    double ms, cycles, least,
        most; // cycles of a multiprocessor: the mean, and of those at the ends
};

// Adds the cycles between two readings.
void cycles_between(const unsigned long long *clocks, Taken *out)
{
    std::vector<unsigned long long> both(2 * MULTIPROCESSORS);
    std::vector<double> all;
    CHECK(cudaMemcpy(both.data(), clocks, both.size() * sizeof both[0], cudaMemcpyDeviceToHost));
    for (int i = 0; i < MULTIPROCESSORS; i++)
        if (both[i] && both[i + MULTIPROCESSORS] > both[i])
            all.push_back(double(both[i + MULTIPROCESSORS] - both[i]));
    if (all.empty())
        return;
    out->least = *std::min_element(all.begin(), all.end());
    out->most = *std::max_element(all.begin(), all.end());
    out->cycles = std::accumulate(all.begin(), all.end(), 0.0) / double(all.size());
}

Taken timed(const Kind &k, const Memory &m, int launches)
{
    cudaEvent_t begin, end;
    float ms;
    CHECK(cudaMemset(m.clocks, 0, 2 * MULTIPROCESSORS * sizeof *m.clocks));
    read_clocks<<<m.blocks, 32>>>(m.clocks);
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    for (int i = 0; i < launches; i++)
        k.launch(m, k.steps);
    CHECK(cudaEventRecord(end));
    read_clocks<<<m.blocks, 32>>>(m.clocks + MULTIPROCESSORS);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGetLastError());
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    Taken taken = {ms, 0, 0, 0};
    cycles_between(m.clocks, &taken);
    return taken;
}

__global__ void chain(unsigned *next)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = (i * 1664525u + 1013904223u) % CHAIN; // of full period
}

Memory memory(int device)
{
    Memory m;
    int multiprocessors;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    m.blocks = multiprocessors * 4;
    CHECK(cudaMalloc(&m.next, CHAIN * sizeof *m.next));
    CHECK(cudaMalloc(&m.in, CHAIN * sizeof *m.in));
    CHECK(cudaMalloc(&m.out, (size_t)m.blocks * WAVES * THREADS * sizeof *m.out));
    CHECK(cudaMalloc(&m.clocks, 2 * MULTIPROCESSORS * sizeof *m.clocks));
    CHECK(cudaMemset(m.in, 0, CHAIN * sizeof *m.in));
    chain<<<CHAIN / THREADS, THREADS>>>(m.next);
    CHECK(cudaDeviceSynchronize());
    return m;
}

struct Total {
    const Kind *kind;
    int launches;
    Taken taken;
};

void run(Total &t, const Memory &m, double ms)
{
    Taken one = timed(*t.kind, m, 1);
    int launches = 1 + (int)(ms / one.ms);
    Taken all = timed(*t.kind, m, launches);
    t.launches += launches + 1;
    t.taken.ms += one.ms + all.ms;
    t.taken.cycles += one.cycles + all.cycles;
    t.taken.least += one.least + all.least;
    t.taken.most += one.most + all.most;
}

void run_all(int device, std::vector<Total> &totals, double ms, int rounds, int *blocks)
{
    CHECK(cudaSetDevice(device));
    Memory m = memory(device);
    for (int r = 0; r < rounds; r++)
        for (Total &t : totals)
            run(t, m, ms);
    *blocks = m.blocks;
}

// All devices are of one kind, so that a launch has equally many warps on each.
void run_on(int devices, std::vector<Total> &totals, double ms, int rounds, int *blocks)
{
    std::vector<std::vector<Total>> each(devices, totals);
    std::vector<int> blocks_of(devices);
    std::vector<std::thread> threads;
    for (int d = 1; d < devices; d++)
        threads.emplace_back(run_all, d, std::ref(each[d]), ms, rounds, &blocks_of[d]);
    run_all(0, each[0], ms, rounds, &blocks_of[0]);
    for (std::thread &t : threads)
        t.join();
    *blocks = blocks_of[0];
    for (size_t i = 0; i < totals.size(); i++)
        for (const std::vector<Total> &of : each) {
            totals[i].launches += of[i].launches;
            totals[i].taken.ms += of[i].taken.ms;
            totals[i].taken.cycles += of[i].taken.cycles;
            totals[i].taken.least += of[i].taken.least;
            totals[i].taken.most += of[i].taken.most;
        }
}

} // namespace

int main(int argc, char **argv)
{
    double ms = 300;
    int rounds = 1, devices = 1, there = 0, blocks = 0;
    std::vector<std::string> wanted;
    for (int i = 1; i < argc; i++) {
        if (!std::strcmp(argv[i], "--ms") && i + 1 < argc)
            ms = std::atof(argv[++i]);
        else if (!std::strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--devices") && i + 1 < argc)
            devices = std::atoi(argv[++i]);
        else
            wanted.push_back(argv[i]);
    }
    CHECK(cudaGetDeviceCount(&there));
    if (there < devices)
        return 7;
    std::vector<Total> totals;
    for (const Kind &k : kinds)
        if (wanted.empty() || std::count(wanted.begin(), wanted.end(), k.name))
            totals.push_back({&k, 0, {0, 0, 0, 0}});
    run_on(devices, totals, ms, rounds, &blocks);
    const char *separator = "{";
    for (const Total &t : totals) {
        std::printf("%s\"%s\":{\"kernel\":\"%s\",\"launches\":%d,\"warps\":%d,\"steps\":%d,"
                    "\"ms\":%.3f,\"cycles\":%.0f,\"cycles_least\":%.0f,"
                    "\"cycles_most\":%.0f,\"clock_reads\":%d}",
                    separator, t.kind->name, t.kind->kernel, t.launches, blocks * t.kind->warps,
                    t.kind->steps, t.taken.ms, t.taken.cycles, t.taken.least, t.taken.most,
                    4 * rounds * devices);
        separator = ",";
    }
    std::printf("}\n");
    return 0;
}
