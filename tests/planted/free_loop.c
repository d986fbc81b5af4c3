/* free_loop.c - every step allocates its scratch memory and frees it, which waits for the
 * device; clean: one allocation for all steps. */
#include "gpu.h"

enum { STEPS = 50, KERNELS = 4, SCRATCH = 16 << 20 };

static void train(bool keep)
{
    gpu_stream stream;
    gpu_memory scratch = 0;
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        if (!scratch)
            GPU(cuMemAlloc_v2(&scratch, SCRATCH)); /* PLANTED: alloc-in-loop */
        for (int i = 0; i < KERNELS; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
        if (!keep) {
            GPU(cuMemFree_v2(scratch)); /* PLANTED: free-in-loop */
            scratch = 0;
        }
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: free-end */
    if (scratch)
        GPU(cuMemFree_v2(scratch)); /* PLANTED: free-after */
}

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv));
}
