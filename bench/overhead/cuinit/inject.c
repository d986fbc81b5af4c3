/* inject.c - the library whose InitializeInjection the driver calls inside cuInit
 * (CUDA_INJECTION64_PATH); CUINIT_CASE says what that function does. See run.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 20000, FORKS = 20 };

typedef int (*nvml_init_fn)(void);

static nvml_init_fn nvml_init;
static pthread_t thread;
static sem_t begun; /* the other thread is about to make its first call */
static bool started;

static void open_nvml(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    nvml_init = library ? (nvml_init_fn)dlsym(library, "nvmlInit_v2") : NULL;
}

static void init_nvml(void)
{
    printf("nvmlInit %d\n", nvml_init ? nvml_init() : -1);
    fflush(stdout);
}

/* Makes one call of the driver again and again; prints whether all results are equal. */
static void repeat(const char *name, int (*call)(void))
{
    int first = call(), same = 0;
    for (int i = 0; i < CALLS; i++)
        same += call() == first;
    printf("%s: first answer %d%s\n", name, first,
           same == CALLS ? ", as all others" : "; others differ");
    fflush(stdout);
}

static void *driver;

static int version(void)
{
    int v;
    return ((int (*)(int *))dlsym(driver, "cuDriverGetVersion"))(&v);
}
static int current(void)
{
    void *context;
    return ((int (*)(void **))dlsym(driver, "cuCtxGetCurrent"))(&context);
}
static int count(void)
{
    int n;
    return ((int (*)(int *))dlsym(driver, "cuDeviceGetCount"))(&n);
}
static int device(void)
{
    int d;
    return ((int (*)(int *, int))dlsym(driver, "cuDeviceGet"))(&d, 0);
}

static void *on_thread(void *name)
{
    sem_post(&begun);
    if (!strcmp(name, "nvml-thread"))
        init_nvml();
    if (!strcmp(name, "driver-thread")) {
        repeat("cuDriverGetVersion", version);
        repeat("cuCtxGetCurrent", current);
        repeat("cuDeviceGetCount", count);
        repeat("cuDeviceGet", device);
    }
    for (int i = 0; !strcmp(name, "fork-thread") && i < FORKS; i++) {
        pid_t child = fork();
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    return NULL;
}

int InitializeInjection(void)
{
    char *name = getenv("CUINIT_CASE");
    if (!name || !strcmp(name, "nothing"))
        return 1;
    if (!strcmp(name, "refused"))
        return 0;
    open_nvml();
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!strcmp(name, "nvml-here")) {
        init_nvml();
        return 1;
    }
    sem_init(&begun, 0, 0);
    started = !pthread_create(&thread, NULL, on_thread, name);
    if (started)
        sem_wait(&begun);
    return 1;
}

/* Waits for the thread, so that a call that never returns keeps the program from ending. */
__attribute__((destructor)) static void finish(void)
{
    if (started)
        pthread_join(thread, NULL);
}
