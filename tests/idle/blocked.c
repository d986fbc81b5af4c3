/* blocked.c - is a "CUDA program" in C over the fake driver. Between two launches its first thread
 * sleeps, waits for another thread, and computes. It knows nothing of profilers. At its end it
 * prints a line of JSON: how long it was in each function, in seconds, by its own clock.
 *
 *   idle_blocked STEPS */
#include "tests/fake/hooks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuStreamCreate(cuda_stream *stream, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cuda_stream stream, void **arguments,
                   void **extra);

enum { LOAD_MS = 6, INPUT_MS = 3, COMPUTE_MS = 3, BROKEN = 99 };

static cuda_stream stream;
static int asked[2], given[2]; /* pipes to the thread with the input and back */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *gives_input(void *unused)
{
    char byte;
    while (read(asked[0], &byte, 1) == 1) {
        nanosleep(&(struct timespec){0, INPUT_MS * 1000000L}, NULL);
        if (write(given[1], &byte, 1) != 1)
            _Exit(BROKEN);
    }
    return unused;
}

__attribute__((noinline)) static double load_batch(void)
{
    double begin = now();
    nanosleep(&(struct timespec){0, LOAD_MS * 1000000L}, NULL);
    return now() - begin;
}

__attribute__((noinline)) static double wait_for_input(void)
{
    double begin = now();
    char byte = 1;
    if (write(asked[1], &byte, 1) != 1 || read(given[0], &byte, 1) != 1)
        _Exit(BROKEN);
    return now() - begin;
}

__attribute__((noinline)) static double compute(void)
{
    double begin = now(), t;
    do
        t = now();
    while (t - begin < COMPUTE_MS * 1e-3);
    return t - begin;
}

__attribute__((noinline)) static void step(void)
{
    if (cuLaunchKernel("_Z4idlePf", 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL))
        _Exit(BROKEN);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 300;
    double spent[3] = {0};
    pthread_t thread;
    if (pipe(asked) || pipe(given) || cuInit(0) || cuStreamCreate(&stream, 0) ||
        pthread_create(&thread, NULL, gives_input, NULL))
        return BROKEN;
    step();
    for (int i = 0; i < steps; i++) {
        spent[0] += load_batch();
        spent[1] += wait_for_input();
        spent[2] += compute();
        step();
    }
    close(asked[1]);
    pthread_join(thread, NULL);
    printf("{\"load_batch\": %.6f, \"wait_for_input\": %.6f, \"compute\": %.6f}\n", spent[0],
           spent[1], spent[2]);
    return 0;
}
