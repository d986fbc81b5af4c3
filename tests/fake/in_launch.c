/* in_launch.c - is a CUDA program over the fake driver in which a thread is inside a launch while
 * the counting of instructions begins in another context.
 *
 *   fake_in_launch created   the context is created meanwhile
 *   fake_in_launch young     it was created before, and its first launch comes meanwhile
 *   fake_in_launch never     as with created, and the process ends meanwhile
 *
 * The launch returns when the program says so, however fast the machine is. Kernels "early" are
 * launched meanwhile, "late" ones when it has returned and one more context was created. Prints a
 * line of JSON: how many of each. */
#include "cuda_calls.h"
#include "hooks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EARLY = 10, LATE = 20, BROKEN_EXIT = 99 };

static cuda_context primary;

static void must(int result)
{
    if (result)
        exit(BROKEN_EXIT);
}

static void launch(const char *name)
{
    must(cuLaunchKernel((void *)name, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
}

static void *stay_inside(void *unused)
{
    must(cuCtxSetCurrent(primary));
    launch("held");
    return unused;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "created";
    cuda_context worked_in, one_more;
    pthread_t thread;
    must(cuInit(0) || cuDevicePrimaryCtxRetain(&primary, 0) || cuCtxSetCurrent(primary));
    launch("first");
    if (!strcmp(how, "young"))
        must(cuCtxCreate_v2(&worked_in, 0, 0));
    must(pthread_create(&thread, NULL, stay_inside, NULL));
    fake_cuda_await_stuck();
    if (strcmp(how, "young") != 0)
        must(cuCtxCreate_v2(&worked_in, 0, 0));
    for (int i = 0; i < EARLY; i++)
        launch("early");
    if (strcmp(how, "never") != 0) {
        fake_cuda_release_held();
        must(pthread_join(thread, NULL));
        must(cuCtxCreate_v2(&one_more, 0, 0) || cuCtxSetCurrent(worked_in));
        for (int i = 0; i < LATE; i++)
            launch("late");
        must(cuCtxSynchronize());
    }
    printf("{\"early\":%d,\"late\":%d}\n", EARLY, strcmp(how, "never") != 0 ? LATE : 0);
    return 0;
}
