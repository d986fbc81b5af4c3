/* sync_thread.c - a thread other than the main one waits in its loop; clean: after it. */
#include "gpu.h"

#include <pthread.h>

enum { STEPS = 50, KERNELS = 4 };

static void *load(void *hoisted)
{
    gpu_stream stream;
    void *kernel = gpu_kernel("spin");
    gpu_thread();
    GPU(cuStreamCreate(&stream, GPU_NON_BLOCKING));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < KERNELS; i++)
            LAUNCH(kernel, GPU_SMS, 256, stream, 500 * US);
        if (!hoisted)
            GPU(cuStreamSynchronize(stream)); /* PLANTED: sync-in-thread */
    }
    GPU(cuStreamSynchronize(stream)); /* PLANTED: sync-after-thread */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    bool clean = gpu_open(argc, argv);
    pthread_create(&thread, NULL, load, clean ? &clean : NULL);
    pthread_join(thread, NULL);
}
