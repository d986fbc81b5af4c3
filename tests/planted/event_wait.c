/* event_wait.c - two streams take turns, and the host waits for the event of each turn; clean: the
 * other stream waits for it, and the host goes on. */
#include "gpu.h"

enum { TURNS = 50, KERNELS = 4 };

static void relay(bool on_device)
{
    gpu_stream streams[2];
    gpu_event turn;
    void *kernel = gpu_kernel("spin");
    GPU(cuEventCreate(&turn, GPU_NO_TIMING));
    for (int i = 0; i < 2; i++)
        GPU(cuStreamCreate(&streams[i], GPU_NON_BLOCKING));
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < KERNELS; k++)
            LAUNCH(kernel, GPU_SMS, 256, streams[i % 2], 500 * US);
        GPU(cuEventRecord(turn, streams[i % 2]));
        if (on_device)
            GPU(cuStreamWaitEvent(streams[(i + 1) % 2], turn, 0)); /* PLANTED: stream-waits */
        else
            GPU(cuEventSynchronize(turn)); /* PLANTED: event-in-loop */
    }
    GPU(cuCtxSynchronize()); /* PLANTED: relay-end */
    GPU(cuEventDestroy_v2(turn));
}

int main(int argc, char **argv)
{
    relay(gpu_open(argc, argv));
}
