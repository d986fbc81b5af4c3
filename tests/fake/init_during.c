/* init_during.c - is a "CUDA program" that calls gpufl_init while another thread of it is inside
 * cuInit; when both have returned, both threads launch.
 *
 *   fake_init_during ENGINE    a number of enum gpufl_engine */
#include "cuda_calls.h"
#include "hooks.h"

#include <gpufl/gpufl.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

int fake_cuda_initializing(void);

enum { LAUNCHES = 50, BROKEN_EXIT = 99 };

static void launch_some(void)
{
    static char kernel[] = "_Z9fake_reluPfi";
    for (int i = 0; i < LAUNCHES; i++)
        if (cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
            exit(BROKEN_EXIT);
    cuCtxSynchronize();
}

static sem_t begun;

static void *initialize(void *unused)
{
    if (cuInit(0))
        exit(BROKEN_EXIT);
    while (sem_wait(&begun)) {
    }
    launch_some();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "during";
    o.profiling_engine = argc > 1 ? atoi(argv[1]) : GPUFL_ENGINE_TRACE;
    sem_init(&begun, 0, 0);
    pthread_create(&other, NULL, initialize, NULL);
    while (!fake_cuda_initializing())
        sched_yield();
    if (gpufl_init(&o))
        return BROKEN_EXIT;
    sem_post(&begun);
    pthread_join(other, NULL);
    launch_some();
    gpufl_shutdown();
    printf("{\"launches\":%d}\n", 2 * LAUNCHES);
    return 0;
}
