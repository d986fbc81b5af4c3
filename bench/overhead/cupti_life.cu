// cupti_life.cu - whether CUPTI can be attached and finalized in a running program: CUPTI alone,
// without gpufl's library. ADR 13 has the conclusions.
//
//   bench_cupti_life [--runs N] [--jobs J] [CASE...]      24 runs, 4 at a time, all cases
//
// Each run of a case is a process of its own. It ends well, or by a signal (a fault or an abort
// inside CUPTI), or it is killed after a minute (stuck). Waited: CUPTI waited for a kernel that
// ran. Failed: a call did not succeed, so that nothing is known. Prints one JSON object for each
// case.

#include "bench/overhead/cupti_attach.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace
{

constexpr int CONTEXTS = 10, FINALIZES = 60, PATIENCE_S = 60;
constexpr int WAITED = 4; // CUPTI waited for a kernel of another stream

// Each is launched once: the driver loads a kernel's code at its first launch.
constexpr int FIRSTS_EACH = 6, FIRSTS = FINALIZES * FIRSTS_EACH;
template <int I> __global__ void first()
{
}
template <int I> void launch_first(cudaStream_t s)
{
    first<I><<<1, 32, 0, s>>>();
}
using Launch = void (*)(cudaStream_t);
template <std::size_t... I>
constexpr std::array<Launch, sizeof...(I)> firsts_of(std::index_sequence<I...>)
{
    return {launch_first<I>...};
}
constexpr auto firsts = firsts_of(std::make_index_sequence<FIRSTS>());

// ---- while contexts are made -------------------------------------------------------------------

enum Coming {
    SUBSCRIBED_IN_MAKING,
    RECORDS_IN_MAKING,
    SUBSCRIBED_AFTER,
    AGAIN_AFTER,
    ENDS_AT_ENTRY
};

// Returns how long the driver takes to make a context, ms.
double context_ms(CUdevice device, CUcontext back)
{
    CUcontext c;
    int64_t begin = now();
    must(cuCtxCreate(&c, nullptr, 0, device), "cuCtxCreate");
    double ms = double(now() - begin) * 1e-6;
    must(cuCtxDestroy(c), "cuCtxDestroy");
    must(cuCtxSetCurrent(back), "cuCtxSetCurrent");
    return ms;
}

// Another thread makes and destroys a context; CUPTI is attached while the context is made, or
// after that.
void one_context(Coming coming, CUdevice device, double after_ms)
{
    std::atomic<int> state{0}; // 1: the context is being made; 2: it is made, and used
    std::atomic<bool> over{false};
    if (coming == RECORDS_IN_MAKING)
        subscribe();
    std::thread maker([&] {
        CUcontext c;
        state = 1;
        must(cuCtxCreate(&c, nullptr, 0, device), "cuCtxCreate");
        kernel<<<1, 32>>>();
        must_rt(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        state = 2;
        while (!over)
            pause_ms(0.1);
        must(cuCtxDestroy(c), "cuCtxDestroy");
    });
    while (!state)
        continue;
    pause_ms(after_ms);
    while (coming == SUBSCRIBED_AFTER && state < 2)
        pause_ms(0.1);
    if (coming != RECORDS_IN_MAKING)
        subscribe();
    record();
    while (state < 2)
        pause_ms(0.1);
    if (coming == AGAIN_AFTER) {
        detach(nullptr);
        subscribe();
        record();
    }
    if (coming == ENDS_AT_ENTRY) {
        stop_recording();
        wanted = AT_ENTRY_OF_DESTROY;
    }
    over = true;
    maker.join();
    if (coming != ENDS_AT_ENTRY)
        detach(nullptr);
}

void contexts(Coming coming, unsigned seed)
{
    CUdevice device;
    CUcontext own;
    std::minstd_rand random(seed);
    must_rt(cudaFree(nullptr), "cudaFree");
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuCtxGetCurrent(&own), "cuCtxGetCurrent");
    kernel<<<1, 32>>>();
    must_rt(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::uniform_real_distribution<double> within(0, context_ms(device, own));
    for (int i = 0; i < CONTEXTS; i++)
        one_context(coming, device, within(random));
}

// ---- while other threads call the driver -------------------------------------------------------

std::atomic<bool> over;

// Work that another thread repeats meanwhile. i: the number of the repetition.
using Work = void (*)(cudaStream_t stream, int i);

void launches(cudaStream_t stream, int)
{
    for (int i = 0; i < 20; i++)
        kernel<<<1, 32, 0, stream>>>();
    must_rt(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

// Launches some new kernels each time CUPTI is to be finalized.
void first_launches(cudaStream_t stream, int i)
{
    while (wanted == NOWHERE && !over)
        std::this_thread::yield();
    for (int k = 0; k < FIRSTS_EACH && !over; k++)
        firsts[i * FIRSTS_EACH + k](stream);
    must_rt(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    while (wanted != NOWHERE && !over)
        std::this_thread::yield();
}

void graphs(cudaStream_t stream, int)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    must_rt(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
    for (int i = 0; i < 5; i++)
        kernel<<<1, 32, 0, stream>>>();
    must_rt(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    must_rt(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    must_rt(cudaGraphDestroy(graph), "cudaGraphDestroy");
    for (int i = 0; i < 3; i++)
        must_rt(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    must_rt(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    must_rt(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
}

void streams(cudaStream_t, int)
{
    cudaStream_t s;
    must_rt(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    kernel<<<1, 32, 0, s>>>();
    must_rt(cudaStreamSynchronize(s), "cudaStreamSynchronize");
    must_rt(cudaStreamDestroy(s), "cudaStreamDestroy");
}

void events(cudaStream_t stream, int)
{
    cudaEvent_t e;
    must_rt(cudaEventCreate(&e), "cudaEventCreate");
    must_rt(cudaEventRecord(e, stream), "cudaEventRecord");
    must_rt(cudaEventSynchronize(e), "cudaEventSynchronize");
    must_rt(cudaEventDestroy(e), "cudaEventDestroy");
}

void memory(cudaStream_t stream, int)
{
    void *device, *pooled, *pinned;
    must_rt(cudaMalloc(&device, 1 << 20), "cudaMalloc");
    must_rt(cudaMallocHost(&pinned, 1 << 16), "cudaMallocHost");
    must_rt(cudaMallocAsync(&pooled, 1 << 16, stream), "cudaMallocAsync");
    must_rt(cudaMemcpyAsync(device, pinned, 1 << 16, cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
    must_rt(cudaMemsetAsync(pooled, 0, 1 << 16, stream), "cudaMemsetAsync");
    must_rt(cudaFreeAsync(pooled, stream), "cudaFreeAsync");
    must_rt(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    must_rt(cudaFreeHost(pinned), "cudaFreeHost");
    must_rt(cudaFree(device), "cudaFree");
}

void code(cudaStream_t, int)
{
    static const char ptx[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry e() { ret; }\n";
    CUmodule module;
    CUfunction function;
    must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    must(cuModuleGetFunction(&function, module, "e"), "cuModuleGetFunction");
    must(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
         "cuLaunchKernel");
    must(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    must(cuModuleUnload(module), "cuModuleUnload");
}

void during(Work work, unsigned seed, bool apart)
{
    std::minstd_rand random(seed);
    cudaStream_t stream;
    std::vector<std::thread> threads;
    must_rt(cudaFree(nullptr), "cudaFree");
    must_rt(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    std::atomic<int> ready{0};
    for (Work w : {work, Work(launches)})
        threads.emplace_back([w, &ready] {
            cudaStream_t s;
            must_rt(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking),
                    "cudaStreamCreateWithFlags");
            launches(s, 0);
            ready++;
            for (int i = 0; !over; i++)
                w(s, i);
        });
    while (ready < 2) // what threads create when they begin is not part of the case
        pause_ms(1);
    ends = true;
    for (int i = 0; i < FINALIZES; i++) {
        subscribe();
        record();
        launches(stream, i);
        pause_ms(random() % 8);
        if (apart)
            detach_separately();
        else
            detach(stream);
        pause_ms(random() % 5);
    }
    over = true;
    for (auto &t : threads)
        t.join();
}

// ---- while a kernel runs -----------------------------------------------------------------------

__global__ void spin(volatile int *reported)
{
    while (!*reported)
        continue;
}

constexpr int SPIN_MS = 1000;

void said(const char *what, int64_t since)
{
    std::fprintf(stderr, "%s: %.1f ms\n", what, double(now() - since) * 1e-6);
}

enum Running { SAME_CONTEXT, OWN_CONTEXT, GOING_APART };

// Runs the kernel twice, SPIN_MS each; turn is odd while it runs, and the caller makes it even.
void spin_twice(int how, int *reported, std::atomic<int> &turn)
{
    CUcontext context;
    cudaStream_t s;
    if (how == OWN_CONTEXT)
        must(cuCtxCreate(&context, nullptr, 0, 0), "cuCtxCreate");
    must_rt(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    launches(s, 0);
    for (int i = 1; i <= 2; i++) {
        *static_cast<volatile int *>(reported) = 0;
        spin<<<1, 1, 0, s>>>(reported);
        turn = 2 * i - 1;
        pause_ms(SPIN_MS);
        *static_cast<volatile int *>(reported) = 1;
        must_rt(cudaStreamSynchronize(s), "cudaStreamSynchronize");
        while (turn != 2 * i)
            pause_ms(1);
    }
}

// Launches and waits again and again; longest is the longest launch with its wait, ns.
void wait_meanwhile(std::atomic<int64_t> &longest)
{
    cudaStream_t s;
    must_rt(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    while (!over) {
        int64_t begin = now();
        kernel<<<1, 32, 0, s>>>();
        must_rt(cudaStreamSynchronize(s), "cudaStreamSynchronize");
        longest = std::max(longest.load(), now() - begin);
    }
}

// Attaches and finalizes CUPTI while a kernel runs that ends when a thread writes a flag. Also
// prints for how long that holds up a third thread.
void running(unsigned, int how)
{
    int *reported = nullptr;
    std::atomic<int> turn{0};
    std::atomic<int64_t> longest{0};
    cudaStream_t stream;
    ends = true;
    must_rt(cudaFree(nullptr), "cudaFree");
    must_rt(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must_rt(cudaHostAlloc(&reported, sizeof *reported, cudaHostAllocPortable), "cudaHostAlloc");
    launches(stream, 0);
    std::thread other([&] { spin_twice(how, reported, turn); });
    std::thread third([&] { wait_meanwhile(longest); });
    while (turn != 1)
        pause_ms(1);
    pause_ms(50);
    longest = 0;
    int64_t begin = now();
    subscribe();
    said("subscribed", begin);
    begin = now();
    record();
    said("records enabled", begin);
    begin = now();
    launches(stream, 0);
    said("launches and a wait", begin);
    std::fprintf(stderr, "another thread meanwhile, at most: %.1f ms\n", double(longest) * 1e-6);
    turn = 2;
    while (turn != 3)
        pause_ms(1);
    pause_ms(50);
    longest = 0;
    begin = now();
    if (how == GOING_APART)
        detach_separately();
    else
        detach(stream);
    said("finalized", begin);
    bool waited = now() - begin > SPIN_MS * 500000ll;
    std::fprintf(stderr, "another thread meanwhile, at most: %.1f ms\n", double(longest) * 1e-6);
    turn = 4;
    other.join();
    over = true;
    third.join();
    if (waited)
        std::_Exit(WAITED);
}

// ---- cases -------------------------------------------------------------------------------------

void in_contexts(unsigned seed, int coming)
{
    ends = true;
    contexts(Coming(coming), seed);
}

const Work works[] = {launches, first_launches, graphs, streams, events, memory, code};
enum Work_of_threads { LAUNCHES, FIRST_LAUNCHES, GRAPHS, STREAMS, EVENTS, MEMORY, CODE };

void during_work(unsigned seed, int work)
{
    during(works[work], seed, false);
}

void during_apart(unsigned seed, int work)
{
    during(works[work], seed, true);
}

void during_held(unsigned seed, int work)
{
    holds = true;
    during(works[work], seed, false);
}

const struct Case {
    const char *name, *what;
    void (*run)(unsigned seed, int which);
    int which;
} cases[] = {
    {"subscribed", "subscribed to within the making of each of 10 contexts", in_contexts,
     SUBSCRIBED_IN_MAKING},
    {"again", "as subscribed, then finalized and attached once more before the context's end",
     in_contexts, AGAIN_AFTER},
    {"records", "records enabled within the making of a context, subscribed to before", in_contexts,
     RECORDS_IN_MAKING},
    {"after", "attached after the making of a context", in_contexts, SUBSCRIBED_AFTER},
    {"entry", "finalized at the entry of the context's end", in_contexts, ENDS_AT_ENTRY},
    {"launches", "finalized 60 times while threads launch and wait", during_work, LAUNCHES},
    {"apart", "as launches, finalized by a thread that is inside no call", during_apart, LAUNCHES},
    {"apart-firsts", "as apart, while a thread launches kernels for the first time", during_apart,
     FIRST_LAUNCHES},
    {"apart-graphs", "as apart, while a thread makes graphs", during_apart, GRAPHS},
    {"held", "as launches, while callbacks of other threads are held up", during_held, LAUNCHES},
    {"firsts", "finalized 60 times while a thread launches kernels for the first time", during_work,
     FIRST_LAUNCHES},
    {"graphs", "finalized 60 times while a thread makes graphs, launches and destroys them",
     during_work, GRAPHS},
    {"streams", "finalized 60 times while a thread makes and destroys streams", during_work,
     STREAMS},
    {"events", "finalized 60 times while a thread makes and destroys events", during_work, EVENTS},
    {"memory", "finalized 60 times while a thread allocates memory, copies, and frees it",
     during_work, MEMORY},
    {"running", "finalized while a kernel of a second runs", running, SAME_CONTEXT},
    {"elsewhere", "as running, in another context", running, OWN_CONTEXT},
    {"running-apart", "as running, by a thread that is inside no call", running, GOING_APART},
    {"code", "finalized 60 times while a thread loads code, launches and unloads it", during_work,
     CODE},
};

struct Ends {
    int well, waited, faults, aborts, stuck, failed;
};

void count_end(Ends &e, int status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    e.stuck += signal == SIGALRM;
    e.aborts += signal == SIGABRT;
    e.faults += signal && signal != SIGALRM && signal != SIGABRT && signal != SIGKILL;
    e.well += !signal && WEXITSTATUS(status) == 0;
    e.waited += !signal && WEXITSTATUS(status) == WAITED;
    e.failed +=
        signal == SIGKILL || (!signal && WEXITSTATUS(status) && WEXITSTATUS(status) != WAITED);
}

// Forks a process for each run. This process never uses CUDA, so that each child is the first to
// use it.
Ends run_case(const Case &c, int runs, int jobs)
{
    Ends ended = {};
    int alive = 0, status;
    for (int i = 0; i < runs || alive;) {
        if (i < runs && alive < jobs) {
            pid_t child = fork();
            if (!child) {
                alarm(PATIENCE_S);
                open_cupti();
                c.run(unsigned(i + 1), c.which);
                std::_Exit(0);
            }
            if (child < 0) {
                std::perror("fork");
                std::exit(1);
            }
            alive++;
            i++;
        } else if (wait(&status) > 0) {
            count_end(ended, status);
            alive--;
        }
    }
    return ended;
}

const Case *case_of(const char *name)
{
    for (const Case &c : cases)
        if (!std::strcmp(name, c.name))
            return &c;
    std::fprintf(stderr, "no case %s; there are:\n", name);
    for (const Case &c : cases)
        std::fprintf(stderr, "  %-10s %s\n", c.name, c.what);
    std::exit(2);
}

} // namespace

int main(int argc, char **argv)
{
    int runs = 24, jobs = 4;
    std::vector<const Case *> chosen;
    for (int i = 1; i < argc; i++) {
        if (!std::strcmp(argv[i], "--runs") && i + 1 < argc)
            runs = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--jobs") && i + 1 < argc)
            jobs = std::max(1, std::atoi(argv[++i]));
        else
            chosen.push_back(case_of(argv[i]));
    }
    for (const Case &c : cases) {
        if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), &c) == chosen.end())
            continue;
        Ends e = run_case(c, runs, jobs);
        std::printf(
            "{\"case\":\"%s\",\"what\":\"%s\",\"runs\":%d,\"well\":%d,\"waited\":%d,\"faults\":%d,"
            "\"aborts\":%d,\"stuck\":%d,\"failed\":%d}\n",
            c.name, c.what, runs, e.well, e.waited, e.faults, e.aborts, e.stuck, e.failed);
        std::fflush(stdout);
    }
    return 0;
}
