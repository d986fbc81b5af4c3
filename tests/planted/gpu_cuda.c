/* gpu_cuda.c - is gpu.h for programs of CUDA's driver interface. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);

/* Reads the text of kernels.ptx, with a NUL at its end. */
extern const char planted_kernels[];
__asm__(".pushsection .rodata\n"
        ".global planted_kernels\n"
        ".hidden planted_kernels\n"
        "planted_kernels:\n"
        ".incbin \"" PLANTED_KERNELS "\"\n"
        ".byte 0\n"
        ".popsection\n");

static void *context, *module;

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

void gpu_up(void)
{
    int device;
    GPU(cuInit(0));
    GPU(cuDeviceGet(&device, 0));
    GPU(cuDevicePrimaryCtxRetain(&context, device));
    gpu_thread();
    GPU(cuModuleLoadData(&module, planted_kernels));
}

void *gpu_kernel(const char *name)
{
    void *function;
    GPU(cuModuleGetFunction(&function, module, name));
    return function;
}
