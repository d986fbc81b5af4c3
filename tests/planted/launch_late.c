/* launch_late.c - the host prepares each step for longer than the GPU works on it, so that the GPU
 * is idle between launches although nobody waits for it; clean: the host is ahead. */
#include "gpu.h"

enum { STEPS = 100 };

static void train(int64_t preparation)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US); /* PLANTED: late-launch */
        gpu_host_work(preparation);
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: late-end */
}

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv) ? 50 * US : 1500 * US);
}
