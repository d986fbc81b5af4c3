// context.cu - CUDA programs that describe their work with ranges and ids, or open
// windows of capture themselves. run.py traces each and compares the session with the
// program's own account: one JSON object on stdout.
//
//   device_context ranges           NVTX ranges through NVIDIA's own client
//   device_context pushed           operation ids pushed to CUPTI, as frameworks do
//   device_context windows N KIND [MS [S]]   N windows, each with launches and a graph; launches
//                                   for MS (15) after each window and for S seconds (0) before the
//                                   first. KIND: plain, threads (two more launch on and on), all
//                                   (one of them in a second context), own (each in its own), churn
//                                   (contexts and graphs are made and destroyed in the windows)
//   device_context running N KIND [S]   N windows while kernels run that take a second each; KIND:
//                                   same (in this context), own (in another). Prints how long the
//                                   thread that opens the windows was held up

#include "bench/overhead/cuda_check.hpp"
#include <cuda.h>
#include <gpufl/gpufl.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;

__global__ void marked()
{
}

// Kernels of threads that have a context of their own.
__global__ void theirs()
{
}

__global__ void spin(volatile int *reported)
{
    while (!*reported)
        continue;
}

__global__ void other()
{
}

__global__ void node()
{
}

constexpr int in_window = 10, graph_nodes = 5;
std::atomic<bool> over;
std::atomic<int> ready; // threads that have made what they launch on
std::atomic<long> others;

double us_since(Clock::time_point begin)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

int ranges()
{
    CHECK(cudaFree(nullptr)); // the session begins with the driver
    nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
    nvtxEventAttributes_t e = {};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = nvtxDomainRegisterStringA(domain, "batch");
    nvtxRangePushA("step");
    marked<<<1, 32>>>();
    nvtxDomainRangePushEx(domain, &e);
    marked<<<1, 32>>>();
    marked<<<1, 32>>>();
    nvtxRangePushW(L"gr\u00f6\u00dfe");
    marked<<<1, 32>>>();
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxRangeId_t range = nvtxRangeStartA("range");
    marked<<<1, 32>>>();
    std::thread([range] { nvtxRangeEnd(range); }).join();
    marked<<<1, 32>>>();
    nvtxRangePop();
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"step\":2,\"batch\":2,\"wide\":1,\"range\":1}\n");
    return 0;
}

int pushed()
{
    CHECK(cudaFree(nullptr));
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    auto push =
        cupti ? (int (*)(int, std::uint64_t))dlsym(cupti, "cuptiActivityPushExternalCorrelationId")
              : nullptr;
    auto pop =
        cupti ? (int (*)(int, std::uint64_t *))dlsym(cupti, "cuptiActivityPopExternalCorrelationId")
              : nullptr;
    if (!push || !pop)
        return 4;
    for (std::uint64_t i = 0; i < 100; i++) {
        push(3, 1000 + i);
        marked<<<1, 32>>>();
        push(3, UINT64_MAX);
        marked<<<1, 32>>>();
        pop(3, nullptr);
        pop(3, nullptr);
        marked<<<1, 32>>>();
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"kernels\":300,\"with_id\":200,\"ids\":101}\n");
    return 0;
}

// Kernels that run for the first time after a window, one after the other.
template <int I> __global__ void late()
{
}

using Launch = void (*)();
template <int I> void launch_late()
{
    late<I><<<1, 32>>>();
}
const Launch lates[] = {launch_late<0>, launch_late<1>, launch_late<2>,
                        launch_late<3>, launch_late<4>, launch_late<5>};
constexpr int LATES = 6;

CUcontext own_context()
{
    CUcontext context = nullptr;
    if (cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS)
        std::exit(5);
    return context;
}

void launch_on(bool own)
{
    CUcontext context = own ? own_context() : nullptr;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const auto launch = [own, stream] {
        if (own)
            theirs<<<1, 32, 0, stream>>>();
        else
            other<<<1, 32, 0, stream>>>();
    };
    launch(); // the first launch in a context loads the code
    CHECK(cudaStreamSynchronize(stream));
    ready++;
    while (!over) {
        launch();
        if (++others % 64 == 0)
            CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    if (context)
        cuCtxDestroy(context);
}

// A context a turn, and launches in it.
void make_contexts()
{
    while (!over) {
        CUcontext context = own_context();
        other<<<1, 32>>>();
        CHECK(cudaStreamSynchronize(nullptr));
        others++;
        cuCtxDestroy(context);
    }
}

// The time of a launch, in us: the least of some rounds.
double cost()
{
    double least = 1e9;
    for (int round = 0; round < 20; round++) {
        auto begin = Clock::now();
        for (int i = 0; i < 1000; i++)
            other<<<1, 32>>>();
        double us = us_since(begin) / 1000;
        least = us < least ? us : least;
        CHECK(cudaDeviceSynchronize());
    }
    return least;
}

cudaGraphExec_t make_graph()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < graph_nodes; i++)
        node<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return exec;
}

// Launches for pause_ms after a window, and the kernels of `lates` for the first time, *known of
// which have run already. Returns the slowest launch, us.
double launch_outside(double pause_ms, int *known)
{
    double slowest = 0;
    for (auto begin = Clock::now(); us_since(begin) < pause_ms * 1e3;) {
        auto one = Clock::now();
        other<<<1, 32>>>();
        slowest = std::max(slowest, us_since(one));
        CHECK(cudaStreamSynchronize(nullptr));
        if (*known < LATES && us_since(begin) > pause_ms * 1e3 * *known / LATES)
            lates[(*known)++]();
    }
    return slowest;
}

void launch_for(double us)
{
    for (auto begin = Clock::now(); us_since(begin) < us;) {
        other<<<1, 32>>>();
        CHECK(cudaStreamSynchronize(nullptr));
    }
}

int windows(int count, const char *kind, double pause_ms, double settle_s)
{
    auto first = Clock::now();
    CHECK(cudaFree(nullptr));
    double before = cost(), open_us = 0, close_us = 0, slowest = 0;
    bool all = !std::strcmp(kind, "all"), own = !std::strcmp(kind, "own");
    bool churn = !std::strcmp(kind, "churn");
    std::vector<std::thread> threads;
    for (int i = 0; std::strcmp(kind, "plain") && i < 2; i++) {
        if (churn)
            threads.emplace_back(make_contexts);
        else
            threads.emplace_back(launch_on, own || (all && i == 1));
    }
    cudaGraphExec_t exec = make_graph();
    while (!churn && ready < (int)threads.size())
        std::this_thread::yield();
    // CUPTI is detached after ten times the longest pause between calls that make something.
    launch_for(std::max(settle_s * 1e6, 11 * us_since(first)));
    first = Clock::now();
    int done = 0, known = 0, in_windows = 0;
    for (; done < count && us_since(first) < 60e6; done++) {
        auto begin = Clock::now();
        if (int rc = gpufl_window_open("cycle")) {
            std::printf("{\"failed\":\"%s\"}\n", gpufl_error_text(rc));
            return 6;
        }
        open_us += us_since(begin);
        for (int i = 0; i < in_window; i++)
            marked<<<1, 32>>>();
        for (int i = 0; i < known; i++)
            lates[i]();
        in_windows += known;
        CHECK(cudaGraphLaunch(exec, nullptr));
        CHECK(cudaStreamSynchronize(nullptr));
        begin = Clock::now();
        gpufl_window_close("cycle");
        close_us += us_since(begin);
        slowest = std::max(slowest, launch_outside(pause_ms, &known));
        if (churn && done % 10 == 9) {
            CHECK(cudaGraphExecDestroy(exec));
            exec = make_graph();
        }
    }
    double seconds = us_since(first) / 1e6;
    over = true;
    for (auto &t : threads)
        t.join();
    double after = cost();
    gpufl_window_open("cost");
    double inside = cost();
    gpufl_window_close("cost");
    std::printf("{\"cycles\":%d,\"marked\":%d,\"late\":%d,\"nodes\":%d,\"others\":%ld,\"seconds\":%"
                ".1f,\"open_"
                "us\":%.0f,"
                "\"close_us\":%.0f,\"slowest_launch_us\":%.0f,\"before_us\":%.3f,\"inside_us\":%."
                "3f,\"after_us\":%.3f}\n",
                done, done * in_window, in_windows, done * graph_nodes, others.load(), seconds,
                open_us / done, close_us / done, slowest, before, inside, after);
    return 0;
}

// Launches a kernel that ends when this thread tells it to.
void spin_on(bool own, int *reported)
{
    CUcontext context = own ? own_context() : nullptr;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (!over) {
        *static_cast<volatile int *>(reported) = 0;
        spin<<<1, 1, 0, stream>>>(reported);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        *static_cast<volatile int *>(reported) = 1;
        CHECK(cudaStreamSynchronize(stream));
    }
    if (context)
        cuCtxDestroy(context);
}

void note_longest(double &longest, Clock::time_point since)
{
    double us = us_since(since);
    longest = us > longest ? us : longest;
}

int running(int count, bool own, double settle_s)
{
    int *reported = nullptr;
    cudaStream_t stream;
    double open_us = 0, inside_us = 0, close_us = 0, outside_us = 0;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaHostAlloc(&reported, sizeof *reported, cudaHostAllocPortable));
    marked<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    std::thread thread(spin_on, own, reported);
    for (auto first = Clock::now(); us_since(first) < settle_s * 1e6;) {
        auto one = Clock::now();
        other<<<1, 32, 0, stream>>>();
        CHECK(cudaStreamSynchronize(stream));
        note_longest(outside_us, one);
    }
    double settling_us = outside_us;
    outside_us = 0;
    for (int i = 0; i < count; i++) {
        auto begin = Clock::now();
        if (int rc = gpufl_window_open("cycle")) {
            std::printf("{\"failed\":\"%s\"}\n", gpufl_error_text(rc));
            return 6;
        }
        note_longest(open_us, begin);
        begin = Clock::now();
        for (int k = 0; k < in_window; k++)
            marked<<<1, 32, 0, stream>>>();
        CHECK(cudaStreamSynchronize(stream));
        note_longest(inside_us, begin);
        begin = Clock::now();
        gpufl_window_close("cycle");
        note_longest(close_us, begin);
        for (begin = Clock::now(); us_since(begin) < 150e3;) {
            auto one = Clock::now();
            other<<<1, 32, 0, stream>>>();
            CHECK(cudaStreamSynchronize(stream));
            note_longest(outside_us, one);
        }
    }
    over = true;
    thread.join();
    std::printf(
        "{\"cycles\":%d,\"marked\":%d,\"settling_ms\":%.1f,\"open_ms\":%.1f,\"inside_ms\":%.1f,"
        "\"close_ms\":%.1f,\"outside_ms\":%.1f}\n",
        count, count * in_window, settling_us / 1e3, open_us / 1e3, inside_us / 1e3, close_us / 1e3,
        outside_us / 1e3);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!std::strcmp(what, "ranges"))
        return ranges();
    if (!std::strcmp(what, "pushed"))
        return pushed();
    if (!std::strcmp(what, "running") && argc > 3)
        return running(std::atoi(argv[2]), !std::strcmp(argv[3], "own"),
                       argc > 4 ? std::atof(argv[4]) : 0);
    if (!std::strcmp(what, "windows") && argc > 3)
        return windows(std::atoi(argv[2]), argv[3], argc > 4 ? std::atof(argv[4]) : 15,
                       argc > 5 ? std::atof(argv[5]) : 0);
    return 2;
}
