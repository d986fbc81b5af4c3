/* copies_pageable.c - batches go to the device from memory of malloc; clean: from pinned memory. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 20, BATCH = 8 << 20 };

static void feed(const char *batch, gpu_memory device)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < BATCHES; i++) {
        GPU(cuMemcpyHtoDAsync_v2(device, batch, BATCH, stream)); /* PLANTED: pageable-copy */
        LAUNCH(kernel, GPU_SMS, 256, stream, 1 * MS);
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: pageable-end */
}

int main(int argc, char **argv)
{
    gpu_memory device;
    void *batch = NULL;
    bool clean = gpu_open(argc, argv);
    if (clean)
        GPU(cuMemAllocHost_v2(&batch, BATCH));
    else
        batch = malloc(BATCH);
    if (!batch)
        return 1;
    memset(batch, 1, BATCH);
    GPU(cuMemAlloc_v2(&device, BATCH));
    feed(batch, device);
    if (!clean)
        free(batch);
}
