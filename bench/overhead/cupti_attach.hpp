// cupti_attach.hpp - CUPTI alone, attached to a running program and finalized again: its functions,
// its callbacks, and the moment at which a thread finalizes it. cupti_life.cu chooses what the
// program does meanwhile.
//
// A call that fails ends the process with FAILED, without its exit handlers, because other threads
// are inside CUDA.
#ifndef GPUFL_BENCH_CUPTI_ATTACH_HPP
#define GPUFL_BENCH_CUPTI_ATTACH_HPP

#include "backend/nvidia/abi/cupti.h"
#include "bench/overhead/cuda_check.hpp" // now()

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

constexpr int FAILED = 3; // exit code: a call that must succeed did not

static __global__ void kernel()
{
}

inline void pause_ms(double ms)
{
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

// Checks a result of the driver's API.
inline void must(CUresult result, const char *doing)
{
    if (result == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "%s: error %d of the driver\n", doing, result);
    std::_Exit(FAILED);
}

inline void must_rt(cudaError_t result, const char *doing)
{
    if (result == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(result));
    std::_Exit(FAILED); // not exit: other threads are inside CUDA
}

// Checks a result of CUPTI.
inline void must_cupti(int result, const char *doing)
{
    if (result == CUPTI_OK)
        return;
    std::fprintf(stderr, "%s: error %d of CUPTI\n", doing, result);
    std::_Exit(FAILED);
}

struct Cupti {
#define MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*cuptiEnableDomain)(uint32_t on, cupti_subscriber subscriber, int domain);
};
inline Cupti cupti;

inline void open_cupti()
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::_Exit(FAILED);
    }
#define MEMBER(required, result, name, arguments)                                                  \
    *reinterpret_cast<void **>(&cupti.name) = dlsym(library, #name);                               \
    must_cupti(required && !cupti.name, #name);
    CUPTI_FUNCTIONS(MEMBER)
    MEMBER(true, int, cuptiEnableDomain, )
    must_cupti(!cupti.cuptiFinalize, "cuptiFinalize");
#undef MEMBER
}

inline void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(64, *size));
    *records = 0;
}

inline void give(cuda_context, uint32_t, uint8_t *buffer, size_t, size_t)
{
    std::free(buffer);
}

enum Where { NOWHERE, AT_EXIT, AT_ENTRY_OF_DESTROY, APART };

inline cupti_subscriber subscriber;
inline std::atomic<int> wanted{NOWHERE}; // where CUPTI is to be finalized
inline std::atomic<bool> holds, held;    // other threads wait in callbacks meanwhile; they wait now
inline std::atomic<int> inside; // other threads inside a call that began in this attachment
inline std::atomic<unsigned> attachment;
inline thread_local bool ends; // the thread at whose exits CUPTI is finalized
inline thread_local unsigned entered;

inline void finalize()
{
    must_cupti(cupti.cuptiFinalize(), "cuptiFinalize");
    held = false;
    wanted = NOWHERE;
}

inline void enter(const cupti_callback *c)
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

inline void leave()
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
            held = false; // they do not leave their calls: try at the next exit
            return;
        }
    finalize();
}

inline void on_call(void *, int domain, uint32_t, const void *data)
{
    const auto *c = static_cast<const cupti_callback *>(data);
    if (domain != CUPTI_DOMAIN_DRIVER)
        return;
    if (c->site == CUPTI_SITE_ENTER)
        enter(c);
    else
        leave();
}

inline void subscribe()
{
    attachment++;
    inside = 0;
    must_cupti(cupti.cuptiSubscribe(&subscriber, on_call, nullptr), "cuptiSubscribe");
    must_cupti(cupti.cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_DRIVER), "cuptiEnableDomain");
    for (uint32_t event : {CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_RESOURCE_CONTEXT_DESTROY})
        must_cupti(cupti.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, event),
                   "cuptiEnableCallback");
}

inline void record()
{
    must_cupti(cupti.cuptiActivityRegisterCallbacks(take, give), "cuptiActivityRegisterCallbacks");
    must_cupti(cupti.cuptiActivityEnable(CUPTI_KIND_KERNEL), "cuptiActivityEnable");
}

inline void stop_recording()
{
    must_cupti(cupti.cuptiActivityDisable(CUPTI_KIND_KERNEL), "cuptiActivityDisable");
    must_cupti(cupti.cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
}

// Finalizes at the exit of a call of this thread, as CUPTI's guide does.
inline void detach(cudaStream_t stream)
{
    stop_recording();
    wanted = AT_EXIT;
    for (int64_t begin = now(); wanted != NOWHERE;) {
        if (now() - begin > 10000000000)
            must_cupti(CUPTI_E_UNKNOWN, "no moment to finalize in 10 s");
        kernel<<<1, 32, 0, stream>>>();
        must_rt(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
}

// Finalizes while this thread is inside no call.
inline void detach_separately()
{
    stop_recording();
    wanted = APART;
    finalize();
}

#endif
