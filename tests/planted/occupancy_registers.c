/* occupancy_registers.c - a kernel with so many registers that a third of the warps fit an SM;
 * clean: a kernel with few registers. */
#include "gpu.h"

enum { KERNELS = 40 };

static void compute(const char *name)
{
    gpu_stream stream;
    void *kernel = gpu_kernel(name);
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < KERNELS; i++)
        LAUNCH(kernel, 8 * GPU_SMS, 256, stream, 2 * MS);
    GPU(cuStreamSynchronize(stream)); /* PLANTED: registers-end */
}

int main(int argc, char **argv)
{
    compute(gpu_open(argc, argv) ? "spin" : "greedy");
}
