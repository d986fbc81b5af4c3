/* launch_storm.c - launches 20000 kernels that are shorter than their launches; clean: 20 long
 * ones. */
#include "gpu.h"

static void compute(int kernels, int64_t each)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < kernels; i++)
        LAUNCH(kernel, 1, 64, stream, each); /* PLANTED: launch-storm */
    GPU(cuStreamSynchronize(stream));        /* PLANTED: storm-end */
}

int main(int argc, char **argv)
{
    if (gpu_open(argc, argv))
        compute(20, 3 * MS);
    else
        compute(20000, 300);
}
