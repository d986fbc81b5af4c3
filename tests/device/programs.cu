// programs.cu - CUDA programs that do known work, or end abnormally. run.py
// traces each and compares the session with the program's own account: one
// JSON object on stdout.
//
//   device_programs threads T N      T threads x N launches, a stream each
//   device_programs copies           copies and fills of every kind, known bytes
//   device_programs graphs           graphs: repeated, child graphs, destroyed, re-created
//   device_programs steady           50 us kernels until killed; prints
//                                    "<completed> <monotonic ns>"
//   device_programs fault            an illegal address, exit 3
//   device_programs exit             launches, then _exit(5)
//   device_programs abort            launches, then abort()
//   device_programs late             exit() while threads go on launching
//   device_programs churn            contexts begin and end while a thread launches in another
//   device_programs fork             fork before CUDA: parent and child launch, both wait
//   device_programs managed MIB      managed memory: written by the host, then by the device, then
//                                    read by the host
//   device_programs peers            copies between two devices and kernels on both; exit 7 if
//                                    there is 1 device
//   device_programs many             2 contexts, 300 streams in each, 10 launches in each stream
//   device_programs unload [STEPS]   code that is compiled, run and unloaded, three times, while a
//                                    thread counts to STEPS (0)
//   device_programs blocked STEPS    between two launches: sleeps, waits for another thread, and
//                                    computes; prints the seconds in each function
//   device_programs allocations      allocates and frees memory of the device, also in the order
//                                    of a stream

#include "bench/overhead/cuda_check.hpp"
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

__global__ void quick()
{
}

__global__ void spin(long long ns)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

__global__ void write_to(int *p)
{
    *p = 1;
}

int threads(int count, int n)
{
    std::vector<std::thread> all;
    for (int i = 0; i < count; i++)
        all.emplace_back([n] {
            cudaStream_t s;
            CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
            for (int k = 0; k < n; k++)
                quick<<<1, 32, 0, s>>>();
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(s));
            CHECK(cudaStreamDestroy(s));
        });
    for (std::thread &t : all)
        t.join();
    std::printf("{\"kernels\":%d}\n", count * n);
    return 0;
}

int copies()
{
    const size_t mib = 1 << 20;
    void *device, *other, *pinned, *pageable = std::malloc(8 * mib);
    CHECK(cudaMalloc(&device, 8 * mib));
    CHECK(cudaMalloc(&other, 8 * mib));
    CHECK(cudaMallocHost(&pinned, 8 * mib));
    std::memset(pageable, 1, 8 * mib);
    for (int i = 0; i < 3; i++)
        CHECK(cudaMemcpy(device, pinned, 4 * mib, cudaMemcpyHostToDevice));
    for (int i = 0; i < 5; i++)
        CHECK(cudaMemcpyAsync(pinned, device, 2 * mib, cudaMemcpyDeviceToHost, 0));
    for (int i = 0; i < 7; i++)
        CHECK(cudaMemcpyAsync(other, device, 8 * mib, cudaMemcpyDeviceToDevice, 0));
    for (int i = 0; i < 4; i++)
        CHECK(cudaMemsetAsync(device, 7, mib, 0));
    CHECK(cudaMemcpy(device, pageable, 1000, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"htod\":%zu,\"dtoh\":%zu,\"dtod\":%zu,\"memset\":%zu}\n", 3 * 4 * mib + 1000,
                5 * 2 * mib, 7 * 8 * mib, 4 * mib);
    return 0;
}

// A graph of n kernels, with a child graph of c kernels if c > 0.
cudaGraphExec_t make_graph(cudaStream_t s, int n, int c)
{
    cudaGraph_t graph, child;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < n; i++)
        quick<<<1, 1, 0, s>>>();
    CHECK(cudaStreamEndCapture(s, &graph));
    if (c > 0) {
        CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < c; i++)
            spin<<<1, 1, 0, s>>>(1000);
        CHECK(cudaStreamEndCapture(s, &child));
        cudaGraphNode_t node;
        CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
        CHECK(cudaGraphDestroy(child));
    }
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int graphs()
{
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    long long kernels = 0, launches = 0;
    for (int round = 0; round < 50; round++) {
        int n = 1 + round % 7, c = round % 3;
        cudaGraphExec_t exec = make_graph(s, n, c);
        for (int i = 0; i < 20; i++) {
            CHECK(cudaGraphLaunch(exec, s));
            kernels += n + c;
            launches++;
        }
        CHECK(cudaStreamSynchronize(s));
        CHECK(cudaGraphExecDestroy(exec));
    }
    for (int i = 0; i < 100; i++)
        quick<<<1, 1, 0, s>>>();
    CHECK(cudaStreamSynchronize(s));
    std::printf("{\"kernels\":%lld,\"graph_launches\":%lld,\"launches\":100}\n", kernels + 100,
                launches);
    return 0;
}

int steady()
{
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    for (long long n = 1;; n++) {
        spin<<<1, 1, 0, s>>>(50000);
        if (n % 10 == 0) {
            CHECK(cudaStreamSynchronize(s));
            std::printf("%lld %lld\n", n, (long long)now());
            std::fflush(stdout);
        }
    }
}

int fault()
{
    for (int i = 0; i < 100; i++)
        quick<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    usleep(600000); // work that ended half a second before a fault is on disk
    write_to<<<1, 1>>>((int *)8);
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("{\"error\":\"%s\"}\n", cudaGetErrorString(error));
    std::fflush(stdout);
    return error == cudaSuccess ? 1 : 3;
}

int late()
{
    for (int i = 0; i < 4; i++)
        std::thread([] {
            for (;;)
                quick<<<1, 1>>>();
        }).detach();
    int64_t begin = now();
    while (now() - begin < 500000000)
        quick<<<1, 1>>>();
    std::printf("{}\n");
    std::exit(0);
}

// Contexts are made and destroyed, and records are switched on and off with them, while another
// thread launches in a context of its own.
int churn()
{
    constexpr int CONTEXTS = 20;
    CUdevice device;
    CUcontext first, lasting;
    CUctxCreateParams parameters = {};
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate(&first, &parameters, 0, device);
    cuCtxCreate(&lasting, &parameters, 0, device);
    std::atomic<bool> done{false};
    long long kernels = 0;
    std::thread launcher([&] {
        cuCtxSetCurrent(lasting);
        for (; !done; kernels++)
            quick<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
    });
    for (int i = 0; i < CONTEXTS; i++) {
        if (i)
            cuCtxCreate(&first, &parameters, 0, device);
        cuCtxSetCurrent(first);
        quick<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
        cuCtxDestroy(first);
    }
    done = true;
    launcher.join();
    std::printf("{\"kernels\":%lld}\n", kernels + CONTEXTS);
    return 0;
}

int forked()
{
    pid_t child = fork();
    for (int i = 0; i < 1000; i++) {
        quick<<<1, 1>>>();
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    if (child == 0)
        std::exit(0);
    int status;
    waitpid(child, &status, 0);
    std::printf("{\"kernels\":2000,\"processes\":2,\"child_status\":%d}\n", status);
    return 0;
}

int many()
{
    CUcontext contexts[2];
    CUdevice device;
    CHECK(cudaFree(nullptr));
    cuDeviceGet(&device, 0);
    long long kernels = 0;
    for (int c = 0; c < 2; c++) {
        if (c == 0)
            cuCtxGetCurrent(&contexts[0]);
        else {
            CUctxCreateParams parameters = {};
            cuCtxCreate(&contexts[1], &parameters, 0, device);
        }
        cuCtxSetCurrent(contexts[c]);
        for (int i = 0; i < 300; i++) {
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            for (int k = 0; k < 10; k++, kernels++)
                quick<<<1 + i % 5, 32, 0, s>>>();
            CHECK(cudaStreamSynchronize(s));
            CHECK(cudaStreamDestroy(s));
        }
    }
    std::printf("{\"kernels\":%lld}\n", kernels);
    return 0;
}

// Each thread takes steps whose results the compiler cannot know, then writes its word: 4 sectors a
// warp.
const char *const stored = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry stored(.param .u64 to, .param .u32 steps) {
    .reg .pred none;
    .reg .u32 r<4>;
    .reg .u64 d<3>;
    ld.param.u64 d1, [to];
    ld.param.u32 r2, [steps];
    cvta.to.global.u64 d1, d1;
    mov.u32 r1, %tid.x;
    mov.u32 r3, r1;
again:
    setp.eq.u32 none, r2, 0;
    @none bra over;
    mad.lo.u32 r3, r3, 1664525, 1013904223;
    sub.u32 r2, r2, 1;
    bra again;
over:
    mul.wide.u32 d2, r1, 4;
    add.u64 d1, d1, d2;
    st.global.u32 [d1], r3;
    ret;
})";

int unload(unsigned steps)
{
    constexpr int rounds = 3, launches = 10, blocks = 3, warps = 2;
    int *to;
    CHECK(cudaMalloc(&to, 32 * warps * sizeof *to));
    void *arguments[] = {&to, &steps};
    for (int i = 0; i < rounds; i++) {
        CUmodule module;
        CUfunction function;
        if (cuModuleLoadData(&module, stored) || cuModuleGetFunction(&function, module, "stored"))
            return 1;
        for (int k = 0; k < launches; k++)
            cuLaunchKernel(function, blocks, 1, 1, 32 * warps, 1, 1, 0, nullptr, arguments,
                           nullptr);
        cuModuleUnload(module);
    }
    std::printf("{\"kernels\":%d,\"sectors\":%d}\n", rounds * launches,
                rounds * launches * blocks * warps * 4);
    return 0;
}

__global__ void increase(unsigned char *p, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        p[i]++;
}

int managed(int mib)
{
    size_t bytes = (size_t)mib << 20;
    unsigned char *p, sum = 0;
    CHECK(cudaMallocManaged(&p, bytes));
    std::memset(p, 1, bytes);
    increase<<<256, 256>>>(p, bytes);
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < bytes; i += 4096)
        sum += p[i];
    CHECK(cudaFree(p));
    std::printf("{\"bytes\":%zu,\"kernels\":1,\"sum\":%d}\n", bytes, sum);
    return 0;
}

// 10 allocations of 1 MiB, of which 3 are kept; then 5 of 2 MiB, all at once.
int allocations()
{
    constexpr int plain = 10, kept = 3, ordered = 5;
    constexpr size_t small = 1 << 20, large = 2 << 20;
    void *at[plain];
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    for (void *&p : at)
        CHECK(cudaMalloc(&p, small));
    for (int i = kept; i < plain; i++)
        CHECK(cudaFree(at[i]));
    for (int i = 0; i < ordered; i++)
        CHECK(cudaMallocAsync(&at[i], large, s));
    for (int i = 0; i < ordered; i++)
        CHECK(cudaFreeAsync(at[i], s));
    CHECK(cudaStreamSynchronize(s));
    std::printf("{\"allocations\":%d,\"allocated_bytes\":%zu,\"frees\":%d,\"freed_bytes\":%zu,"
                "\"peak_bytes\":%zu}\n",
                plain + ordered, plain * small + ordered * large, plain - kept + ordered,
                (plain - kept) * small + ordered * large, kept * small + ordered * large);
    return 0;
}

int peers()
{
    const size_t bytes = 4 << 20;
    int count = 0;
    void *at[2];
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2)
        return 7;
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&at[d], bytes));
        for (int i = 0; i < 100 * (d + 1); i++)
            quick<<<1, 32>>>();
        CHECK(cudaDeviceSynchronize());
    }
    // Once without direct access, so that copies go through the host, and once with it.
    for (int access = 0; access < 2; access++) {
        for (int i = 0; i < 5; i++)
            CHECK(cudaMemcpyPeer(at[1], 1, at[0], 0, bytes));
        for (int i = 0; i < 3; i++)
            CHECK(cudaMemcpyPeerAsync(at[0], 0, at[1], 1, bytes, 0));
        CHECK(cudaDeviceSynchronize());
        if (access == 0)
            for (int d = 0; d < 2; d++) {
                CHECK(cudaSetDevice(d));
                cudaDeviceEnablePeerAccess(1 - d, 0);
                cudaGetLastError();
            }
    }
    std::printf("{\"kernels\":300,\"devices\":[100,200],\"copies\":8,\"bytes\":%zu}\n", 8 * bytes);
    return 0;
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Gives an input 3 ms after it was asked for.
struct Input {
    std::mutex lock;
    std::condition_variable changed;
    bool asked = false, given = false, over = false;

    void give()
    {
        std::unique_lock<std::mutex> held(lock);
        for (;;) {
            changed.wait(held, [this] { return asked || over; });
            if (over)
                return;
            held.unlock();
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            held.lock();
            asked = false;
            given = true;
            changed.notify_all();
        }
    }
};

__attribute__((noinline)) double load_batch()
{
    double begin = now();
    usleep(6000);
    return now() - begin;
}

__attribute__((noinline)) double wait_for_input(Input &input)
{
    double begin = now();
    std::unique_lock<std::mutex> held(input.lock);
    input.asked = true;
    input.changed.notify_all();
    input.changed.wait(held, [&] { return input.given; });
    input.given = false;
    return now() - begin;
}

__attribute__((noinline)) double compute()
{
    double begin = now(), t;
    do
        t = now();
    while (t - begin < 0.003);
    return t - begin;
}

__attribute__((noinline)) void step()
{
    quick<<<1, 32>>>();
    CHECK(cudaGetLastError());
}

int blocked(int steps)
{
    Input input;
    std::thread giver([&] { input.give(); });
    double loads = 0, inputs = 0, computes = 0;
    step();
    for (int i = 0; i < steps; i++) {
        loads += load_batch();
        inputs += wait_for_input(input);
        computes += compute();
        step();
    }
    {
        std::lock_guard<std::mutex> held(input.lock);
        input.over = true;
        input.changed.notify_all();
    }
    giver.join();
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"kernels\":%d,\"load_batch\":%.6f,\"wait_for_input\":%.6f,\"compute\":%.6f}\n",
                steps + 1, loads, inputs, computes);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "fork")
        return forked();
    if (what == "churn")
        return churn();
    CHECK(cudaFree(nullptr));
    if (what == "threads" && argc > 3)
        return threads(std::atoi(argv[2]), std::atoi(argv[3]));
    if (what == "managed" && argc > 2)
        return managed(std::atoi(argv[2]));
    if (what == "peers")
        return peers();
    if (what == "blocked" && argc > 2)
        return blocked(std::atoi(argv[2]));
    if (what == "copies")
        return copies();
    if (what == "graphs")
        return graphs();
    if (what == "steady")
        return steady();
    if (what == "fault")
        return fault();
    if (what == "late")
        return late();
    if (what == "many")
        return many();
    if (what == "unload")
        return unload(argc > 2 ? (unsigned)std::atoi(argv[2]) : 0);
    if (what == "allocations")
        return allocations();
    if (what == "exit" || what == "abort") {
        for (int i = 0; i < 1000; i++)
            quick<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
        if (what == "abort")
            std::abort();
        _exit(5);
    }
    std::fprintf(
        stderr,
        "usage: device_programs threads T "
        "N|copies|graphs|steady|fault|exit|abort|late|fork|many|churn|unload [STEPS]|allocations|"
        "managed MIB|peers|blocked STEPS\n");
    return 2;
}
