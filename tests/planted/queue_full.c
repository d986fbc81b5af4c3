/* queue_full.c - no fault: the host has nothing to do but launch, and is ahead of the GPU until the
 * queue is full. From then on each call waits inside of the driver for room, a fill as well as a
 * launch. The GPU is busy all the time: nothing is to be won there. */
#include "gpu.h"

enum { STEPS = 150, ROOM = 4096 };

static void train(void)
{
    gpu_stream stream;
    gpu_memory sums;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    GPU(cuMemAlloc_v2(&sums, ROOM));
    for (int step = 0; step < STEPS; step++) {
        GPU(cuMemsetD8Async(sums, 0, ROOM, stream)); /* PLANTED: queue-fill */
        LAUNCH(kernel, GPU_SMS, 256, stream, 2 * MS);
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: queue-end */
}

int main(int argc, char **argv)
{
    (void)gpu_open(argc, argv);
    train();
}
