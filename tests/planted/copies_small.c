/* copies_small.c - a table goes to the device row by row; clean: in one copy. */
#include "gpu.h"

#include <string.h>

enum { ROWS = 20000, ROW = 256 };

static void upload(bool whole, char *table, gpu_memory device)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    if (whole)
        GPU(cuMemcpyHtoDAsync_v2(device, table, ROWS * ROW, stream)); /* PLANTED: whole-copy */
    for (size_t at = 0; !whole && at < ROWS * ROW; at += ROW)
        GPU(cuMemcpyHtoDAsync_v2(device + at, table + at, ROW, stream)); /* PLANTED: small-copy */
    LAUNCH(kernel, GPU_SMS, 256, stream, 20 * MS);
    GPU(cuStreamSynchronize(stream)); /* PLANTED: small-end */
}

int main(int argc, char **argv)
{
    gpu_memory device;
    void *table;
    bool clean = gpu_open(argc, argv);
    GPU(cuMemAllocHost_v2(&table, ROWS * ROW));
    memset(table, 1, ROWS * ROW);
    GPU(cuMemAlloc_v2(&device, ROWS * ROW));
    upload(clean, table, device);
    GPU(cuMemFreeHost(table));
}
