// graph.cu - replays a CUDA graph of empty kernels, at a given rate or as fast as the GPU executes
// it: a load under which tracers lose records. Prints one JSON object with what it launched and the
// memory it saw; the ledger of the session says whether all of it was recorded.
//
//   gpufl trace -- bench_graph --seconds 60 [--per-second 900000] [--nodes 100] [--kernels N]

#include "bench/overhead/cuda_check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

__global__ void node()
{
}

long status_kib(const char *key)
{
    FILE *f = std::fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (f && std::fgets(line, sizeof line, f))
        if (!std::strncmp(line, key, std::strlen(key)))
            kib = std::atol(line + std::strlen(key));
    if (f)
        std::fclose(f);
    return kib;
}

} // namespace

int main(int argc, char **argv)
{
    double seconds = 10, per_second = 0;
    int nodes = 100;
    int64_t limit = INT64_MAX;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--seconds"))
            seconds = std::atof(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--per-second"))
            per_second = std::atof(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--nodes"))
            nodes = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--kernels"))
            limit = std::atoll(argv[i + 1]);
    }
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++)
        node<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t after[8];
    for (cudaEvent_t &e : after)
        CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));

    size_t free_start, free_now, free_least = SIZE_MAX, total;
    CHECK(cudaMemGetInfo(&free_start, &total));
    long rss_start = status_kib("VmRSS:"), rss_peak = rss_start;
    int64_t begin = now(), launched = 0, kernels = 0;
    while (double(now() - begin) * 1e-9 < seconds && kernels < limit) {
        if (per_second > 0 && kernels > double(now() - begin) * 1e-9 * per_second)
            continue;
        // At most 8 replays ahead of the GPU, so that the queue stays short.
        cudaEvent_t &e = after[launched % 8];
        if (launched >= 8)
            CHECK(cudaEventSynchronize(e));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(e, stream));
        launched++;
        kernels += nodes;
        if (launched % 4096 == 0) {
            CHECK(cudaMemGetInfo(&free_now, &total));
            free_least = std::min(free_least, free_now);
            rss_peak = std::max(rss_peak, status_kib("VmRSS:"));
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    double elapsed = double(now() - begin) * 1e-9;
    CHECK(cudaMemGetInfo(&free_now, &total));
    free_least = std::min(free_least, free_now);
    std::printf("{\"mode\":\"graph\",\"graph_launches\":%lld,\"kernels\":%lld,\"seconds\":%.3f,"
                "\"per_second\":%.0f,\"gpu_memory_grown_mib\":%.1f,\"rss_start_kib\":%ld,\"rss_"
                "peak_kib\":%ld}\n",
                (long long)launched, (long long)kernels, elapsed, double(kernels) / elapsed,
                (double(free_start) - double(free_least)) / 1048576, rss_start, rss_peak);
    return 0;
}
