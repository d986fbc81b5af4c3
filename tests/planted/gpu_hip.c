/* gpu_hip.c - is gpu.h for programs of HIP: only what differs from gpu.c. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gpu_check(int result, const char *call)
{
    if (!result)
        return;
    fprintf(stderr, "%s: HIP error %d\n", call, result);
    exit(9);
}

void gpu_thread(void)
{
    GPU(hipSetDevice(0));
}

void gpu_up(void)
{
    int devices;
    GPU(hipGetDeviceCount(&devices));
    gpu_thread();
}

void *gpu_kernel(const char *name)
{
    const void *kernel = fake_kernel_named(name);
    if (kernel)
        return (void *)(uintptr_t)kernel;
    fprintf(stderr, "the fake HIP has no kernel %s\n", name);
    exit(9);
}
