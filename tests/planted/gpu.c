/* gpu.c - see gpu.h. */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);

/* The text of kernels.ptx, ended by a NUL. */
extern const char planted_kernels[];
__asm__(".pushsection .rodata\n"
        ".global planted_kernels\n"
        ".hidden planted_kernels\n"
        "planted_kernels:\n"
        ".incbin \"" PLANTED_KERNELS "\"\n"
        ".byte 0\n"
        ".popsection\n");

static void *context, *module;
static volatile double heat; /* what host work computes */

void gpu_check(int result, const char *call)
{
    if (!result)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", call, result);
    exit(9);
}

void gpu_thread(void)
{
    GPU(cuCtxSetCurrent(context));
}

bool gpu_open(int argc, char **argv)
{
    int device;
    if (argc != 2 || (strcmp(argv[1], "fault") != 0 && strcmp(argv[1], "clean") != 0)) {
        fprintf(stderr, "usage: %s fault|clean\n", argv[0]);
        exit(2);
    }
    GPU(cuInit(0));
    GPU(cuDeviceGet(&device, 0));
    GPU(cuDevicePrimaryCtxRetain(&context, device));
    gpu_thread();
    GPU(cuModuleLoadData(&module, planted_kernels));
    return !strcmp(argv[1], "clean");
}

void *gpu_kernel(const char *name)
{
    void *function;
    GPU(cuModuleGetFunction(&function, module, name));
    return function;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void gpu_host_work(int64_t ns)
{
    double x = 1;
    for (int64_t end = now() + ns; now() < end;)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
    heat = x;
}
