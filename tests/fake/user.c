/* user.c - is a "CUDA program" that profiles itself with CUPTI, as CUPTI's samples and PyTorch do.
 *
 *   fake_user WHEN LAUNCHES        the executable needs libcupti
 *   fake_library_user WHEN LAUNCHES  only a library of the program's needs libcupti
 *   fake_look_user WHEN LAUNCHES   the functions are found with dlsym
 *     WHEN  before  its profiler begins before cuInit
 *           later   after LAUNCHES kernels
 *           never   libcupti is there, and never called
 *           twice   later, ended, and begun once more
 *           during=MS  later, while another thread waits for work of MS ms
 * Each use records LAUNCHES kernels. Prints, as one line of JSON, how many kernels it launched
 * and, for each use, how many it recorded, how many of their times are within the use by
 * CUPTI's own clock, and how many buffers came that it never gave. */
#include "user.h"
#include "cuda_calls.h"

#include "tests/fake/hooks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fake_waiting(void);

enum { BROKEN_EXIT = 99 };

static int launched;

static void launch(int n)
{
    static char kernel[] = "_Z9fake_reluPfi";
    for (int i = 0; i < n; i++, launched++)
        if (cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL))
            exit(BROKEN_EXIT);
    cuCtxSynchronize();
}

static void use(int n, bool with_init)
{
    int result = user_begin();
    if (with_init && cuInit(0))
        exit(BROKEN_EXIT);
    launch(n);
    struct user_result r = {0};
    if (!result)
        user_end(&r);
    printf(",{\"begin\":%d,\"kernels\":%d,\"in_time\":%d,\"foreign\":%d}", result, r.kernels,
           r.in_time, r.foreign);
}

/* ms: of the work that the thread launches and waits for. */
static void *wait_for_work(void *ms)
{
    static cuda_stream stream;
    static cuda_graph graph; /* which the fake driver never frees */
    static cuda_exec exec;
    if (cuStreamCreate(&stream, 0) || cuGraphCreate(&graph, 0))
        exit(BROKEN_EXIT);
    fake_graph_add(graph, 1, *(int *)ms * INT64_C(1000000), NULL);
    if (cuGraphInstantiateWithFlags(&exec, graph, 0) || cuGraphLaunch(exec, stream))
        exit(BROKEN_EXIT);
    cuStreamSynchronize(stream);
    return NULL;
}

static void use_during(int n, int ms)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_work, &ms))
        exit(BROKEN_EXIT);
    while (!fake_waiting())
        sched_yield();
    use(n, false);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *when = argc > 2 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0, ms;
    bool before = strcmp(when, "before") == 0;
    if (n <= 0)
        return 2;
    printf("{\"uses\":[0");
    if (before)
        use(n, true);
    else if (cuInit(0))
        return BROKEN_EXIT;
    if (!before)
        launch(n);
    if (strcmp(when, "later") == 0 || strcmp(when, "twice") == 0)
        use(n, false);
    if (strcmp(when, "twice") == 0)
        use(n, false);
    if (sscanf(when, "during=%d", &ms) == 1)
        use_during(n, ms);
    printf("],\"launched\":%d}\n", launched);
    return 0;
}
