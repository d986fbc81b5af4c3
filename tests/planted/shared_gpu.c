/* shared_gpu.c - launches kernels that are all launched before the GPU runs them, on a GPU that
 * another process uses every other 2 ms (the fake driver's FAKE_CUDA_SLICE_US): its slices are idle
 * time of this program. Clean: the other process exists and computes nothing, and the host launches
 * late. */
#include "gpu.h"

enum { QUEUED = 400, STEPS = 40 };

static void queue(gpu_stream stream, void *kernel)
{
    for (int i = 0; i < QUEUED; i++)
        LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
}

static void work_between(gpu_stream stream, void *kernel)
{
    for (int i = 0; i < STEPS; i++) {
        LAUNCH(kernel, GPU_SMS, 256, stream, 2 * MS); /* PLANTED: shared-late */
        gpu_host_work(5 * MS);
    }
}

int main(int argc, char **argv)
{
    bool clean = gpu_open(argc, argv);
    void *kernel = gpu_kernel("spin");
    gpu_stream stream;
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    (clean ? work_between : queue)(stream, kernel);
    GPU(cuStreamSynchronize(stream)); /* PLANTED: shared-end */
}
