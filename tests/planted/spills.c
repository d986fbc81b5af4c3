/* spills.c - runs a kernel that keeps more values than it has registers for; clean: one that has
 * enough. */
#include "gpu.h"

enum { KERNELS = 40 };

static void compute(const char *name)
{
    gpu_stream stream;
    void *kernel = gpu_kernel(name);
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < KERNELS; i++)
        LAUNCH(kernel, GPU_SMS, 256, stream, 2 * MS); /* PLANTED: spilling-launch */
    GPU(cuStreamSynchronize(stream));                 /* PLANTED: spills-end */
}

int main(int argc, char **argv)
{
    compute(gpu_open(argc, argv) ? "spin" : "spill");
}
