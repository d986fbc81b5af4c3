/* queue_full.c - has no fault: the host only launches, and is ahead of the GPU until the queue is
 * full. From then on each call, a fill as well as a launch, waits inside the driver for room. The
 * GPU is busy all the time, so there is nothing to win. */
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
