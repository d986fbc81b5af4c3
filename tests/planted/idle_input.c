/* idle_input.c - the next input is read only after the last one was launched, and reading
 * takes far longer than the GPU works; clean: it is read while the GPU works. */
#include "gpu.h"

enum { INPUTS = 5, KERNELS = 20 };

static void consume(bool prefetched)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int input = 0; input < INPUTS; input++) {
        if (!prefetched)
            gpu_host_work(45 * MS);
        for (int i = 0; i < KERNELS; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 1 * MS); /* PLANTED: idle-launch */
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: idle-end */
}

int main(int argc, char **argv)
{
    consume(gpu_open(argc, argv));
}
