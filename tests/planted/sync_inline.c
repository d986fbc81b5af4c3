/* sync_inline.c - the wait is in a function of a header, inlined into the loop; clean: the same
 * function is called once, after the loop. */
#include "hidden_wait.h"

enum { STEPS = 50, KERNELS = 4 };

static __attribute__((noinline)) void train(bool hoisted)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < KERNELS; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
        if (!hoisted)
            settle(stream);
    }
    settle(stream);
}

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv));
}
