/* small_stack.c - a CUDA program over the fake driver whose calls come from threads with little
 * stack, as fibers and the threads of some runtimes have. Each thread paints its stack, makes
 * calls of one kind, and counts the bytes that are no longer as painted.
 *
 *   fake_small_stack KIB
 *
 * Prints a line of JSON: the bytes that each kind of call used, of a stack of KIB. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra);

enum { PAINT = 0xa5, LAUNCHES = 200, BROKEN_EXIT = 70 };

static void *context;

static void need(int failed)
{
    if (failed)
        exit(BROKEN_EXIT);
}

static void init(void)
{
    int device;
    need(cuInit(0));
    need(cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
}

static void launch(void)
{
    need(cuCtxSetCurrent(context));
    for (int i = 0; i < LAUNCHES; i++)
        need(cuLaunchKernel("_Z6kernelPf", 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void wait_for_all(void)
{
    need(cuCtxSetCurrent(context));
    for (int i = 0; i < LAUNCHES; i++)
        need(cuCtxSynchronize());
}

static void copy(void)
{
    static char from[4096];
    uint64_t to;
    need(cuCtxSetCurrent(context));
    need(cuMemAlloc_v2(&to, sizeof from));
    for (int i = 0; i < LAUNCHES; i++)
        need(cuMemcpyHtoD_v2(to, from, sizeof from));
    need(cuMemFree_v2(to));
}

static void *thread_main(void *arg)
{
    ((void (*)(void))arg)();
    return NULL;
}

/* Runs the calls on a thread whose stack has that size; returns the bytes that they wrote to. */
static size_t used(void (*calls)(void), size_t size)
{
    pthread_attr_t attr;
    pthread_t thread;
    /* Memory below the stack is not accessible: a call that goes too deep crashes. */
    unsigned char *memory = mmap(NULL, size + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory == MAP_FAILED);
    unsigned char *stack = memory + 65536;
    need(mprotect(stack, size, PROT_READ | PROT_WRITE));
    memset(stack, PAINT, size);
    need(pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, size));
    need(pthread_create(&thread, &attr, thread_main, (void *)calls));
    pthread_attr_destroy(&attr);
    need(pthread_join(thread, NULL));
    size_t left = 0;
    while (left < size && stack[left] == PAINT)
        left++;
    munmap(memory, size + 65536);
    return size - left;
}

int main(int argc, char **argv)
{
    size_t size = (size_t)(argc > 1 ? atoi(argv[1]) : 64) << 10;
    size_t init_used = used(init, size), launch_used = used(launch, size),
           wait_used = used(wait_for_all, size), copy_used = used(copy, size);
    printf("{\"launches\":%d,\"init\":%zu,\"launch\":%zu,\"wait\":%zu,\"copy\":%zu}\n", LAUNCHES,
           init_used, launch_used, wait_used, copy_used);
    return 0;
}
