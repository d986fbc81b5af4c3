// cupti_life.cu - what CUPTI survives where it is attached to, and finalized, in a program that goes
// on: CUPTI alone, with no library of ours. What came of it is ADR 13.
//
//   bench_cupti_life [--runs N] [--jobs J] [CASE...]      24 runs, 4 at a time, all cases
//
// Each run of a case is a process of its own: it ends well, by a signal (a fault or an abort inside
// CUPTI), or is ended after a minute. Prints one JSON object a case.

#include "backend/nvidia/cupti_abi.h"
#include "bench/overhead/cuda_check.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace
{

constexpr int CONTEXTS = 10, FINALIZES = 60, PATIENCE_S = 60;
constexpr int FAILED = 3; // exit code: a call that must succeed did not

__global__ void kernel()
{
}

// Each is launched once: a program's code is loaded kernel by kernel, where that is first launched.
constexpr int FIRSTS = 400;
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

void pause_ms(double ms)
{
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

// What the driver's API answers.
void must(CUresult result, const char *doing)
{
    if (result == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "%s: error %d of the driver\n", doing, result);
    std::_Exit(FAILED);
}

// ---- CUPTI -----------------------------------------------------------------------------------

struct Cupti {
#define MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*cuptiEnableDomain)(uint32_t on, cupti_subscriber subscriber, int domain);
} cupti;

void open_cupti()
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::_Exit(FAILED);
    }
#define MEMBER(required, result, name, arguments)                                                  \
    *reinterpret_cast<void **>(&cupti.name) = dlsym(library, #name);
    CUPTI_FUNCTIONS(MEMBER)
    MEMBER(true, int, cuptiEnableDomain, )
#undef MEMBER
}

void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(64, *size));
    *records = 0;
}

void give(cuda_context, uint32_t, uint8_t *buffer, size_t, size_t)
{
    std::free(buffer);
}

enum Where { NOWHERE, AT_EXIT, AT_ENTRY_OF_DESTROY };

cupti_subscriber subscriber;
std::atomic<int> wanted{NOWHERE}; // where CUPTI is to be finalized
std::atomic<bool> holds, held;    // others are kept waiting in callbacks meanwhile; now
std::atomic<int> inside;          // of a call, others' threads; of this attachment
std::atomic<unsigned> attachment;
thread_local bool ends; // the thread at whose exits it is done
thread_local unsigned entered;

void finalize()
{
    cupti.cuptiFinalize();
    held = false;
    wanted = NOWHERE;
}

void enter(const cupti_callback *c)
{
    if (wanted == AT_ENTRY_OF_DESTROY && !std::strncmp(c->function, "cuCtxDestroy", 12)) {
        finalize();
        return;
    }
    if (!holds || ends)
        return;
    inside++;
    entered = attachment;
    for (int64_t begin = now(); held && now() - begin < 1000000000;) {
        inside--;
        std::this_thread::yield();
        inside++;
    }
}

void leave()
{
    if (!ends) {
        inside -= holds && entered == attachment;
        entered = 0;
        return;
    }
    if (wanted != AT_EXIT)
        return;
    held = holds.load();
    for (int64_t begin = now(); held && inside > 0; std::this_thread::yield())
        if (now() - begin > 20000000) {
            held = false; // they do not come out: at the next call
            return;
        }
    finalize();
}

void on_call(void *, int domain, uint32_t, const void *data)
{
    const auto *c = static_cast<const cupti_callback *>(data);
    if (domain != CUPTI_DOMAIN_DRIVER)
        return;
    if (c->site == CUPTI_SITE_ENTER)
        enter(c);
    else
        leave();
}

void subscribe()
{
    attachment++;
    inside = 0;
    cupti.cuptiSubscribe(&subscriber, on_call, nullptr);
    cupti.cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_DRIVER);
    for (int event : {CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_RESOURCE_CONTEXT_DESTROY})
        cupti.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, event);
}

void record()
{
    cupti.cuptiActivityRegisterCallbacks(take, give);
    cupti.cuptiActivityEnable(CUPTI_KIND_KERNEL);
}

void stop_recording()
{
    cupti.cuptiActivityDisable(CUPTI_KIND_KERNEL);
    cupti.cuptiActivityFlushAll(1);
}

// At the exit of a call of this thread, as CUPTI's guide has it.
void let_go(cudaStream_t stream)
{
    stop_recording();
    wanted = AT_EXIT;
    for (int64_t begin = now(); wanted != NOWHERE && now() - begin < 3000000000;) {
        kernel<<<1, 32, 0, stream>>>();
        CHECK(cudaStreamSynchronize(stream));
    }
    wanted = NOWHERE;
}

// ---- beside the making of contexts -------------------------------------------------------------

enum Coming {
    SUBSCRIBED_IN_MAKING,
    RECORDS_IN_MAKING,
    SUBSCRIBED_BEHIND,
    AGAIN_BEHIND,
    ENDS_AT_ENTRY
};

// How long the driver takes to make one, ms.
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

// One context, made and destroyed by another thread; CUPTI comes somewhere within its making.
void one_context(Coming coming, CUdevice device, double after_ms)
{
    std::atomic<int> state{0}; // 1: it is being made; 2: it is made, and used
    std::atomic<bool> over{false};
    if (coming == RECORDS_IN_MAKING)
        subscribe();
    std::thread maker([&] {
        CUcontext c;
        state = 1;
        must(cuCtxCreate(&c, nullptr, 0, device), "cuCtxCreate");
        kernel<<<1, 32>>>();
        CHECK(cudaStreamSynchronize(nullptr));
        state = 2;
        while (!over)
            pause_ms(0.1);
        must(cuCtxDestroy(c), "cuCtxDestroy");
    });
    while (!state)
        continue;
    pause_ms(after_ms);
    while (coming == SUBSCRIBED_BEHIND && state < 2)
        pause_ms(0.1);
    if (coming != RECORDS_IN_MAKING)
        subscribe();
    record();
    while (state < 2)
        pause_ms(0.1);
    if (coming == AGAIN_BEHIND) {
        let_go(nullptr);
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
        let_go(nullptr);
}

void contexts(Coming coming, unsigned seed)
{
    CUdevice device;
    CUcontext own;
    std::minstd_rand random(seed);
    CHECK(cudaFree(nullptr));
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuCtxGetCurrent(&own), "cuCtxGetCurrent");
    kernel<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    std::uniform_real_distribution<double> within(0, context_ms(device, own));
    for (int i = 0; i < CONTEXTS; i++)
        one_context(coming, device, within(random));
}

// ---- beside other calls ------------------------------------------------------------------------

// What another thread does over and over meanwhile. i: how often it has.
using Work = void (*)(cudaStream_t stream, int i);

void launches(cudaStream_t stream, int)
{
    for (int i = 0; i < 20; i++)
        kernel<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
}

void first_launches(cudaStream_t stream, int i)
{
    if (i < FIRSTS)
        firsts[i](stream);
    CHECK(cudaStreamSynchronize(stream));
    pause_ms(1.5); // that they last
}

void graphs(cudaStream_t stream, int)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 5; i++)
        kernel<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
}

void streams(cudaStream_t, int)
{
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    kernel<<<1, 32, 0, s>>>();
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s));
}

void events(cudaStream_t stream, int)
{
    cudaEvent_t e;
    CHECK(cudaEventCreate(&e));
    CHECK(cudaEventRecord(e, stream));
    CHECK(cudaEventSynchronize(e));
    CHECK(cudaEventDestroy(e));
}

void memory(cudaStream_t stream, int)
{
    void *device, *pooled, *pinned;
    CHECK(cudaMalloc(&device, 1 << 20));
    CHECK(cudaMallocHost(&pinned, 1 << 16));
    CHECK(cudaMallocAsync(&pooled, 1 << 16, stream));
    CHECK(cudaMemcpyAsync(device, pinned, 1 << 16, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(pooled, 0, 1 << 16, stream));
    CHECK(cudaFreeAsync(pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
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

void beside(Work work, unsigned seed)
{
    std::atomic<bool> over{false};
    std::minstd_rand random(seed);
    cudaStream_t stream;
    std::vector<std::thread> threads;
    CHECK(cudaFree(nullptr));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (Work w : {work, Work(launches)})
        threads.emplace_back([w, &over] {
            cudaStream_t s;
            CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
            for (int i = 0; !over; i++)
                w(s, i);
        });
    ends = true;
    for (int i = 0; i < FINALIZES; i++) {
        subscribe();
        record();
        launches(stream, i);
        pause_ms(random() % 8);
        let_go(stream);
        pause_ms(random() % 5);
    }
    over = true;
    for (auto &t : threads)
        t.join();
}

// ---- cases -------------------------------------------------------------------------------------

void in_contexts(unsigned seed, int coming)
{
    ends = true;
    contexts(Coming(coming), seed);
}

const Work works[] = {launches, first_launches, graphs, streams, events, memory, code};
enum Beside { LAUNCHES, FIRST_LAUNCHES, GRAPHS, STREAMS, EVENTS, MEMORY, CODE };

void beside_work(unsigned seed, int work)
{
    beside(works[work], seed);
}

void beside_held(unsigned seed, int work)
{
    holds = true;
    beside(works[work], seed);
}

const struct Case {
    const char *name, *what;
    void (*run)(unsigned seed, int which);
    int which;
} cases[] = {
    {"subscribed", "subscribed to within the making of each of 10 contexts", in_contexts,
     SUBSCRIBED_IN_MAKING},
    {"again", "the same; finalized and attached once more before the context's end", in_contexts,
     AGAIN_BEHIND},
    {"records", "records enabled within it, subscribed to before", in_contexts, RECORDS_IN_MAKING},
    {"behind", "attached to behind it", in_contexts, SUBSCRIBED_BEHIND},
    {"entry", "finalized at the entry of the context's end", in_contexts, ENDS_AT_ENTRY},
    {"launches", "finalized 60 times beside threads that launch and wait", beside_work, LAUNCHES},
    {"held", "the same, others being held up in callbacks", beside_held, LAUNCHES},
    {"firsts", "finalized 60 times beside one that launches kernels for the first time",
     beside_work, FIRST_LAUNCHES},
    {"graphs", "beside one that makes graphs, launches and destroys them", beside_work, GRAPHS},
    {"streams", "beside one that makes and destroys streams", beside_work, STREAMS},
    {"events", "beside one that makes and destroys events", beside_work, EVENTS},
    {"memory", "beside one that takes memory, copies, and gives it back", beside_work, MEMORY},
    {"code", "beside one that loads code, launches and unloads it", beside_work, CODE},
};

struct Ends {
    int well, faults, aborts, stuck, failed;
};

void count_end(Ends &e, int status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    e.stuck += signal == SIGALRM;
    e.aborts += signal == SIGABRT;
    e.faults += signal && signal != SIGALRM && signal != SIGABRT;
    e.well += !signal && WEXITSTATUS(status) == 0;
    e.failed += !signal && WEXITSTATUS(status) != 0;
}

// In processes that have not touched CUDA before: this one never does.
Ends run_case(const Case &c, int runs, int jobs)
{
    Ends ended = {};
    int running = 0, status;
    for (int i = 0; i < runs || running;) {
        if (i < runs && running < jobs) {
            pid_t child = fork();
            if (!child) {
                alarm(PATIENCE_S);
                open_cupti();
                c.run(unsigned(i + 1), c.which);
                std::_Exit(0);
            }
            running += child > 0;
            i++;
        } else if (wait(&status) > 0) {
            count_end(ended, status);
            running--;
        }
    }
    return ended;
}

bool is_chosen(const Case &c, const std::vector<const char *> &names)
{
    for (const char *name : names)
        if (!std::strcmp(name, c.name))
            return true;
    return names.empty();
}

} // namespace

int main(int argc, char **argv)
{
    int runs = 24, jobs = 4;
    std::vector<const char *> names;
    for (int i = 1; i < argc; i++) {
        if (!std::strcmp(argv[i], "--runs") && i + 1 < argc)
            runs = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--jobs") && i + 1 < argc)
            jobs = std::atoi(argv[++i]);
        else
            names.push_back(argv[i]);
    }
    for (const Case &c : cases) {
        if (!is_chosen(c, names))
            continue;
        Ends e = run_case(c, runs, jobs);
        std::printf(
            "{\"case\":\"%s\",\"what\":\"%s\",\"runs\":%d,\"well\":%d,\"faults\":%d,\"aborts\":%d,"
            "\"stuck\":%d,\"failed\":%d}\n",
            c.name, c.what, runs, e.well, e.faults, e.aborts, e.stuck, e.failed);
        std::fflush(stdout);
    }
    return 0;
}
