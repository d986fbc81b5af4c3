/* sync_loop.c - runs training steps, each of which waits for its stream; clean: one wait after all
 * steps. */
#include "gpu.h"

enum { STEPS = 50, KERNELS = 4 };

static void train(bool hoisted)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < KERNELS; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
        if (!hoisted)
            GPU(cuStreamSynchronize(stream)); /* PLANTED: sync-in-loop */
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: sync-hoisted */
}

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv));
}
