/* initialize.c - has cuInit of the fake driver: loads CUDA_INJECTION64_PATH, as the real one
 * does. */
#include "driver.h"
#include "hooks.h"

#include "backend/nvidia/abi/cuda.h"
#include "backend/nvidia/abi/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_bool initialized;

bool driver_initialized(void)
{
    return atomic_load(&initialized);
}

static _Atomic int initializing; /* the thread inside cuInit; 0: none */

/* The thread that is inside cuInit, or 0. The real library has no such function. */
EXPORT int fake_cuda_initializing(void)
{
    return atomic_load(&initializing);
}

/* Keeps cuInit going after the injected library has returned, for FAKE_CUDA_INIT_MS. */
static void pause_inside_init(void)
{
    const char *ms = getenv("FAKE_CUDA_INIT_MS");
    long ns = ms ? atol(ms) * 1000000 : 0;
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void start_injection(void)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    void *handle = injection && *injection ? dlopen(injection, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (injection && *injection && !handle)
        fprintf(stderr, "fake driver: %s\n", dlerror());
    int (*start)(void) = NULL;
    if (handle)
        *(void **)&start = dlsym(handle, "InitializeInjection");
    if (start)
        start();
}

/* Until cuInit returns, other calls say that the driver is not initialized, as in the real driver.
 * A second caller waits for the first. */
EXPORT int cuInit(unsigned flags)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    if (flags)
        return 1;
    const char *count = getenv("FAKE_CUDA_DEVICES");
    if (count && atoi(count) == 0)
        return CUDA_E_NO_DEVICE;
    pthread_mutex_lock(&once);
    bool first = !atomic_load(&initialized);
    if (first) {
        atomic_store(&initializing, (int)gettid());
        start_injection();
        pause_inside_init();
        atomic_store(&initializing, 0);
        atomic_store(&initialized, true);
    }
    pthread_mutex_unlock(&once);
    const struct fake_hooks *h = driver_hooks();
    if (first && h->context) {
        h->context(CUPTI_RESOURCE_INIT_FINISHED, 0);
        h->context(CUPTI_RESOURCE_CONTEXT_CREATED, FAKE_CONTEXT_NUMBER);
    }
    return CUDA_OK;
}
