/* sync_lead.c - runs training steps, each of which waits for its long kernel before the host
 * prepares the short ones: all of the host's work after the wait is idle time of the GPU, far from
 * the wait. Clean: the wait is for the step before, so that the host stays ahead. */
#include "gpu.h"

enum { STEPS = 40, SHORT = 8 };

static void train(bool ahead)
{
    gpu_stream stream;
    gpu_event events[2];
    void *kernel = gpu_kernel("spin");
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        GPU(cuEventCreate(&events[i], GPU_NO_TIMING));
    for (int step = 0; step < STEPS; step++) {
        LAUNCH(kernel, GPU_SMS, 256, stream, 8 * MS);
        GPU(cuEventRecord(events[step % 2], stream));
        if (!ahead)
            GPU(cuEventSynchronize(events[step % 2])); /* PLANTED: lead-lost */
        else if (step)
            GPU(cuEventSynchronize(events[(step + 1) % 2])); /* PLANTED: lead-kept */
        for (int i = 0; i < SHORT; i++) {
            gpu_host_work(400 * US);
            LAUNCH(kernel, 1, 64, stream, 5 * US);
        }
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: lead-end */
    for (int i = 0; i < 2; i++)
        GPU(cuEventDestroy_v2(events[i]));
}

int main(int argc, char **argv)
{
    train(gpu_open(argc, argv));
}
