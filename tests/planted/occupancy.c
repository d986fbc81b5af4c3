/* occupancy.c - runs a kernel whose shared memory lets only 4 blocks of one warp run on an SM,
 * which has room for 64 warps; clean: a kernel without shared memory, in blocks that fill the
 * SM. */
#include "gpu.h"

enum { KERNELS = 40 };

static void compute(const char *name, unsigned threads)
{
    gpu_stream stream;
    void *kernel = gpu_kernel(name);
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < KERNELS; i++)
        LAUNCH(kernel, 4 * GPU_SMS, threads, stream, 2 * MS); /* PLANTED: hoarding-launch */
    GPU(cuStreamSynchronize(stream));                         /* PLANTED: occupancy-end */
}

int main(int argc, char **argv)
{
    if (gpu_open(argc, argv))
        compute("spin", 256);
    else
        compute("hoard", 32);
}
