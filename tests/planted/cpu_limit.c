/* cpu_limit.c - the host prepares each step while the GPU works, and is ahead of it. Fault: the
 * table runs the program in a control group that may use a fifth of a core, and each time the limit
 * stops it the GPU becomes idle; clean: the group has no limit. */
#include "gpu.h"

enum { STEPS = 80 };

static void train(void)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        gpu_host_work(2 * MS);
        LAUNCH(kernel, GPU_SMS, 256, stream, 4 * MS); /* PLANTED: limit-launch */
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: limit-end */
}

int main(int argc, char **argv)
{
    (void)gpu_open(argc, argv);
    train();
}
