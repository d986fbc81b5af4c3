/* pipeline.c - is a program without a fault: pinned copies on a stream of their own, long kernels,
 * memory allocated once. The host waits for each slot's copy before it fills the slot again. So
 * there are as many waits as batches, but each is for work that ended long before. */
#include "gpu.h"

#include <string.h>

enum { BATCHES = 32, SLOTS = 4, BATCH = 4 << 20, CHANGED = 4096 };

static void run(void)
{
    gpu_stream copies, work;
    gpu_memory device[SLOTS];
    gpu_event copied[SLOTS];
    void *host[SLOTS], *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&copies, GPU_NON_BLOCKING));
    GPU(cuStreamCreate(&work, GPU_NON_BLOCKING));
    for (int i = 0; i < SLOTS; i++) {
        GPU(cuMemAlloc_v2(&device[i], BATCH));
        GPU(cuMemAllocHost_v2(&host[i], BATCH));
        GPU(cuEventCreate(&copied[i], GPU_NO_TIMING));
        GPU(cuEventRecord(copied[i], copies));
    }
    for (int i = 0; i < BATCHES; i++) {
        int slot = i % SLOTS;
        GPU(cuEventSynchronize(copied[slot])); /* PLANTED: pipeline-slot */
        memset(host[slot], i, CHANGED);
        GPU(cuMemcpyHtoDAsync_v2(device[slot], host[slot], BATCH, copies));
        GPU(cuEventRecord(copied[slot], copies));
        GPU(cuStreamWaitEvent(work, copied[slot], 0)); /* PLANTED: pipeline-order */
        LAUNCH(kernel, 8 * GPU_SMS, 256, work, 3 * MS);
    }
    GPU(cuStreamSynchronize(work)); /* PLANTED: pipeline-end */
    for (int i = 0; i < SLOTS; i++) {
        GPU(cuEventDestroy_v2(copied[i]));
        GPU(cuMemFreeHost(host[i]));
    }
}

int main(int argc, char **argv)
{
    gpu_open(argc, argv);
    run();
}
