/* gpu.c - see gpu.h: the parts that are equal for both vendors. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile double heat; /* what host work computes */

bool gpu_open(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "fault") != 0 && strcmp(argv[1], "clean") != 0)) {
        fprintf(stderr, "usage: %s fault|clean\n", argv[0]);
        exit(2);
    }
    gpu_up();
    return !strcmp(argv[1], "clean");
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void gpu_host_work(int64_t ns)
{
    double x = 1;
    for (int64_t end = now() + ns; now() < end;)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
    heat = x;
}
