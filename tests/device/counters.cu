// counters.cu - phases that each use one part of the device, in a scope of their own: sampled
// hardware counters must distinguish them (run.py).
//
//   device_counters [--ms T] [--threads N] [--mixed 1] [--bench 1]
//
// Each phase takes about T ms (300). N threads (0) launch empty kernels concurrently, from before
// the session's begin to after its end. Prints one JSON object: the begin and end of each phase in
// ns of the monotonic clock.
//
// mixed: instead of phases, for T ms one thread launches kernels that add 1 to a number, one
// launches graphs that do, and one copies a number to the device and back. Prints how often each
// did so, and the resulting number: kernels that are repeated must change nothing.
//
// bench: instead of phases, two scopes that copy once and two that repeat the copy.

#include <gpufl/gpufl.hpp>

#include "bench/overhead/cuda_check.hpp"

#include <cuda_fp16.h>
#include <mma.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace
{

constexpr size_t BYTES = size_t(1) << 30;
constexpr int THREADS = 256, BEGIN_MS = 1000, SESSIONS = 5;

__global__ void empty()
{
}

__global__ void copy(float4 *to, const float4 *from, size_t n)
{
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += step)
        to[i] = from[i];
}

__global__ void arithmetic(float *out, int steps)
{
    float x = threadIdx.x;
    for (int i = 0; i < steps; i++)
        x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void tensor(float *out, int steps)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    wmma::fill_fragment(a, __float2half(0.5f));
    wmma::fill_fragment(b, __float2half(0.25f));
    for (auto &part : c)
        wmma::fill_fragment(part, 0);
    for (int i = 0; i < steps; i++)
        for (auto &part : c)
            wmma::mma_sync(part, a, b, part);
    size_t warp = (blockIdx.x * size_t(blockDim.x) + threadIdx.x) / 32;
    for (auto &part : c)
        wmma::store_matrix_sync(out + warp * 256, part, 16, wmma::mem_row_major);
}

__global__ void add(unsigned *number)
{
    atomicAdd(number, 1);
}

struct Device {
    float4 *from, *to;
    float *out;
    int blocks;
};

/* Two batches are queued at any time, so that the device has work even while this thread has no
 * core. */
template <typename Work> void phase(const char *name, int ms, int batch, bool last, Work work)
{
    cudaEvent_t done[2];
    for (auto &event : done)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    int64_t begin = now();
    uint64_t scope = gpufl_scope_begin(name, "");
    for (int i = 0; now() - begin < int64_t(ms) * 1000000; i++) {
        for (int k = 0; k < batch; k++)
            work();
        CHECK(cudaEventRecord(done[i % 2]));
        CHECK(cudaEventSynchronize(done[(i + 1) % 2])); /* a no-op if not recorded yet */
    }
    CHECK(cudaDeviceSynchronize());
    gpufl_scope_end(scope);
    std::printf("\"%s\":[%lld,%lld]%s", name, (long long)begin, (long long)now(), last ? "" : ",");
    for (auto &event : done)
        CHECK(cudaEventDestroy(event));
}

void all(const Device &d, int ms)
{
    std::printf("{");
    phase("begin", BEGIN_MS, 1, false, [] { usleep(5000); }); /* it takes a while to begin */
    phase("idle", ms, 1, false, [] { usleep(5000); });
    phase("copy", ms, 20, false,
          [&] { copy<<<d.blocks * 4, THREADS>>>(d.to, d.from, BYTES / sizeof(float4)); });
    phase("arithmetic", ms, 8, false,
          [&] { arithmetic<<<d.blocks * 8, THREADS>>>(d.out, 200000); });
    phase("tensor", ms, 4, true, [&] { tensor<<<d.blocks * 4, THREADS>>>(d.out, 20000); });
    std::printf("}\n");
}

void graphs(const std::atomic<bool> &stop, unsigned *number, unsigned *launched)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add<<<1, 1, 0, stream>>>(number);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (; !stop; ++*launched) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        usleep(500);
    }
}

void copies(const std::atomic<bool> &stop, unsigned *number, unsigned *made, unsigned *lost)
{
    cudaStream_t stream;
    unsigned *host;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, 2 * sizeof *host));
    for (; !stop; ++*made) {
        host[0] = *made + 1;
        CHECK(cudaMemcpyAsync(number, &host[0], sizeof *host, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        usleep(500);
        CHECK(cudaMemcpyAsync(&host[1], number, sizeof *host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        *lost += host[1] != host[0];
    }
}

void mixed(int ms)
{
    unsigned *numbers, now_are[3], launched[3] = {}, lost = 0;
    CHECK(cudaMalloc(&numbers, sizeof now_are));
    CHECK(cudaMemset(numbers, 0, sizeof now_are));
    std::atomic<bool> stop{false};
    std::thread graph_thread(graphs, std::cref(stop), &numbers[1], &launched[1]);
    std::thread copy_thread(copies, std::cref(stop), &numbers[2], &launched[2], &lost);
    for (int64_t begin = now(); now() - begin < int64_t(ms) * 1000000; launched[0]++) {
        add<<<1, 1>>>(&numbers[0]);
        CHECK(cudaStreamSynchronize(nullptr));
    }
    stop = true;
    graph_thread.join();
    copy_thread.join();
    CHECK(cudaMemcpy(now_are, numbers, sizeof now_are, cudaMemcpyDeviceToHost));
    std::printf("{\"kernels\":[%u,%u],\"graphs\":[%u,%u],\"copies\":%u,\"copies_lost\":%u}\n",
                launched[0], now_are[0], launched[1], now_are[1], launched[2], lost);
}

void bench(const Device &d)
{
    auto work = [&] {
        copy<<<d.blocks * 4, THREADS>>>(d.to, d.from, BYTES / sizeof(float4));
        CHECK(cudaDeviceSynchronize());
    };
    for (int i = 0; i < 2; i++) {
        GFL_SCOPE("once")
        {
            work();
        }
        GFL_BENCH("bench", gpufl::ScopeMeta{}.setRepeat(5).setWarmup(1))
        {
            work();
        };
    }
}

} // namespace

int main(int argc, char **argv)
{
    int ms = 300, others = 0, mixes = 0, benches = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--ms"))
            ms = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--threads"))
            others = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--mixed"))
            mixes = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--bench"))
            benches = std::atoi(argv[i + 1]);
    }
    if (mixes) {
        mixed(ms);
        return 0;
    }
    Device d = {};
    CHECK(cudaDeviceGetAttribute(&d.blocks, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaMalloc(&d.from, BYTES));
    CHECK(cudaMalloc(&d.to, BYTES));
    CHECK(cudaMalloc(&d.out, size_t(d.blocks) * 8 * THREADS * 8 * sizeof(float)));
    if (benches) {
        bench(d);
        return 0;
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < others; i++)
        threads.emplace_back([&] {
            while (!stop) {
                for (int k = 0; k < 100; k++)
                    empty<<<1, 1>>>();
                CHECK(cudaStreamSynchronize(nullptr));
            }
        });
    if (others) { /* sessions begin and end while they launch */
        gpufl_options o;
        gpufl_options_init(&o, sizeof o);
        o.app_name = "device_counters";
        o.profiling_engine = GPUFL_ENGINE_PM_SAMPLING;
        for (int i = 0; i < SESSIONS; i++) {
            if (gpufl_init(&o) != 0)
                return 1;
            usleep(unsigned(ms) * 1000);
            gpufl_shutdown();
        }
        std::printf("{\"sessions\":%d}\n", SESSIONS);
    } else {
        all(d, ms);
    }
    stop = true;
    for (auto &t : threads)
        t.join();
    return 0;
}
