// cupti_turns.cu - the cost of passing CUPTI from one user to another in a running process, and
// whether records are lost or mixed up: CUPTI alone, without gpufl's library. ADR 18 has the
// conclusions.
//
//   bench_cupti_turns [--turns N]      5 turns, alone and while two threads launch
//
// Two users take turns. Each has its own buffers and its own clock. The first one gives CUPTI up as
// the capture library does (life/handover.c): records end, a forced flush, the subscription ends,
// CUPTI's own clock. It never calls cuptiFinalize. The second one has CUPTI's clock and gives it up
// in the same way. Prints one JSON object for each situation:
//   change_ms         the least, the median and the longest time to give CUPTI up
//   kept              buffers that CUPTI still has of the user that gave it up
//   foreign           buffers that one user got back and the other one gave
//   launched, found   launches of the main thread, and their records in its user's buffers
//   off_us            how far a record of the second user begins outside CLOCK_REALTIME's span
// Exit 1 if a buffer is kept or foreign, or a record is missing.

#include "backend/nvidia/abi/cupti.h"
#include "bench/overhead/cuda_check.hpp" // now()

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace
{

constexpr int LAUNCHES = 200, THREADS = 2;
constexpr size_t BUFFER = 1 << 20;
constexpr uint64_t SHIFT =
    1000000000ull * 3600 * 24 * 365; // the first user's clock: a year late, ns

__global__ void main_kernel()
{
}
__global__ void other_kernel()
{
}

struct Cupti {
#define MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

void must(int result, const char *doing)
{
    if (result == CUPTI_OK)
        return;
    std::fprintf(stderr, "%s: error %d of CUPTI\n", doing, result);
    std::_Exit(3);
}
#define MUST(call) must(cupti.call, #call)

void open_cupti()
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::_Exit(3);
    }
#define MEMBER(required, result, name, arguments)                                                  \
    *reinterpret_cast<void **>(&cupti.name) = dlsym(library, #name);                               \
    must(required && !cupti.name, #name);
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
}

// One of the two users, with what came back to it.
struct User {
    std::mutex lock;
    std::set<uint8_t *> out; // buffers that CUPTI has
    size_t foreign = 0, records = 0;
    std::vector<uint64_t> begins; // of the main thread's kernels, ns by this user's clock
    cupti_subscriber subscriber{};
} users[2];

template <int U> void take(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(64, BUFFER));
    *size = BUFFER;
    *records = 0;
    std::lock_guard<std::mutex> hold(users[U].lock);
    users[U].out.insert(*buffer);
}

template <int U> void give(cuda_context, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    User &u = users[U];
    std::lock_guard<std::mutex> hold(u.lock);
    if (!u.out.erase(buffer)) {
        u.foreign++;
        return; // the other user's buffer: nobody reads it
    }
    cupti_record *record = nullptr;
    while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
        u.records++;
        auto *kernel = reinterpret_cast<cupti_kernel *>(record);
        if (std::strstr(kernel->name, "main_kernel"))
            u.begins.push_back(kernel->start);
    }
    std::free(buffer);
}

uint64_t realtime()
{
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec);
}

uint64_t shifted()
{
    return realtime() - SHIFT;
}

void ignore(void *, int, uint32_t, const void *)
{
}

template <int U> void begin()
{
    users[U].begins.clear();
    MUST(cuptiSubscribe(&users[U].subscriber, ignore, nullptr));
    MUST(cuptiActivityRegisterCallbacks(take<U>, give<U>));
    if (U == 0)
        MUST(cuptiActivityRegisterTimestampCallback(shifted));
    MUST(cuptiActivityEnable(CUPTI_KIND_KERNEL));
}

// Gives CUPTI up; returns the time in ms.
template <int U> double end()
{
    int64_t from = now();
    MUST(cuptiActivityDisable(CUPTI_KIND_KERNEL));
    MUST(cuptiActivityFlushAll(CUPTI_FLUSH_FORCED));
    MUST(cuptiUnsubscribe(users[U].subscriber));
    MUST(cuptiActivityRegisterTimestampCallback(realtime));
    return double(now() - from) * 1e-6;
}

struct Result {
    std::vector<double> change_ms;
    size_t kept = 0, launched = 0;
    double off_us = 0;
};

template <int U> void turn(cudaStream_t stream, Result &r)
{
    uint64_t before = realtime();
    begin<U>();
    for (int i = 0; i < LAUNCHES; i++)
        main_kernel<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    uint64_t after = realtime();
    r.change_ms.push_back(end<U>());
    std::lock_guard<std::mutex> hold(users[U].lock);
    r.kept += users[U].out.size();
    r.launched += LAUNCHES;
    for (uint64_t b : users[U].begins) {
        int64_t early = int64_t(before - b), late = int64_t(b - after);
        if (U == 1)
            r.off_us = std::max({r.off_us, double(early) * 1e-3, double(late) * 1e-3});
    }
}

bool situation(const char *name, int turns, int threads)
{
    Result r;
    std::atomic<bool> over{false};
    std::vector<std::thread> others;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < threads; i++)
        others.emplace_back([&over] {
            cudaStream_t s;
            CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
            while (!over) {
                for (int k = 0; k < 50; k++)
                    other_kernel<<<1, 32, 0, s>>>();
                CHECK(cudaStreamSynchronize(s));
            }
        });
    size_t found = 0, foreign = 0;
    for (int i = 0; i < turns; i++) {
        turn<0>(stream, r);
        found += users[0].begins.size();
        turn<1>(stream, r);
        found += users[1].begins.size();
    }
    over = true;
    for (auto &t : others)
        t.join();
    foreign = users[0].foreign + users[1].foreign;
    std::sort(r.change_ms.begin(), r.change_ms.end());
    std::printf("{\"situation\":\"%s\",\"turns\":%d,\"change_ms\":[%.2f,%.2f,%.2f],\"kept\":%zu,"
                "\"foreign\":%zu,"
                "\"launched\":%zu,\"found\":%zu,\"off_us\":%.1f}\n",
                name, turns, r.change_ms.front(), r.change_ms[r.change_ms.size() / 2],
                r.change_ms.back(), r.kept, foreign, r.launched, found, r.off_us);
    return !r.kept && !foreign && found == r.launched;
}

} // namespace

int main(int argc, char **argv)
{
    int turns = argc == 3 && !std::strcmp(argv[1], "--turns") ? std::atoi(argv[2])
                : argc == 1                                   ? 5
                                                              : 0;
    if (turns < 1) {
        std::fprintf(stderr, "usage: bench_cupti_turns [--turns N]\n");
        return 2;
    }
    CHECK(cudaFree(nullptr));
    main_kernel<<<1, 32>>>(); // code is loaded before the turns
    other_kernel<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    open_cupti();
    bool alone = situation("alone", turns, 0);
    return situation("while two threads launch", turns, THREADS) && alone ? 0 : 1;
}
