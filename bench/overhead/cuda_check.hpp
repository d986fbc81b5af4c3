// cuda_check.hpp - what the CUDA programs of bench/ and tests/device share: a check
// of every runtime call, the clock, and the memory that the process has now.
#ifndef GPUFL_BENCH_CUDA_CHECK_HPP
#define GPUFL_BENCH_CUDA_CHECK_HPP

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <time.h>

// Ends the program with a message if a runtime call failed.
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// The time in ns of CLOCK_MONOTONIC, the clock of session logs.
inline int64_t now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

// VmRSS of this process, KiB; -1: unknown.
inline long resident_kib()
{
    FILE *f = std::fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (f && std::fgets(line, sizeof line, f))
        if (std::sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (f)
        std::fclose(f);
    return kib;
}

#endif
