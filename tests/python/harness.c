/* harness.c - is the Python reader as a library that a real interpreter loads.
 *
 * ctypes releases the GIL around functions of a CDLL, as CUDA's waits do, and keeps it
 * around those of a PyDLL: both are tested. The frames that the reader finds are returned as text,
 * so that Python compares them with its own frames. */
#include "stack/common/safe.h"
#include "stack/python/python.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* Python finds them by name */

enum { FRAMES_MOST = 4096 };

EXPORT int harness_find(void)
{
    return python_find();
}

EXPORT const char *harness_status(void)
{
    return python_status();
}

EXPORT int harness_is_interpreter(void *pc)
{
    return python_is_interpreter((uintptr_t)pc);
}

EXPORT size_t harness_bytes(void)
{
    return python_bytes();
}

/* Writes a line for each frame, innermost first: name, file, line, first line, key, code, native,
 * number. */
EXPORT int harness_stack(char *out, int size, int most)
{
    static __thread struct python_frame frames[FRAMES_MOST];
    size_t n = python_walk(frames, most < FRAMES_MOST ? (size_t)most : FRAMES_MOST);
    int used = 0;
    *out = '\0';
    for (size_t i = 0; i < n; i++) {
        const struct stack_code *code = python_code(&frames[i]);
        used += snprintf(out + used, used < size ? (size_t)(size - used) : 0,
                         "%s\t%s\t%d\t%d\t%llx\t%zx\t%zx\t%u\n", code ? code->name : "?",
                         code ? code->file : "?", code ? python_line(code, frames[i].place) : 0,
                         code ? code->first_line : 0, (unsigned long long)frames[i].key,
                         (size_t)frames[i].code, (size_t)frames[i].native, code ? code->number : 0);
        if (used >= size)
            return -1;
    }
    return (int)n;
}

/* Nanoseconds of a walk, in the best of `rounds` rounds of 1000 walks; *depth: number of frames. */
EXPORT double harness_time(int rounds, int *depth)
{
    struct python_frame frames[512];
    double best = 1e9;
    *depth = (int)python_walk(frames, 512);
    for (int r = 0; r < rounds; r++) {
        int64_t begin = clock_mono();
        for (int i = 0; i < 1000; i++)
            python_walk(frames, 512);
        double ns = (double)(clock_mono() - begin) / 1000;
        best = ns < best ? ns : best;
    }
    return best;
}

static void *harness_other(void *to)
{
    struct python_frame frames[8];
    *(size_t *)to = python_walk(frames, 8);
    return NULL;
}

/* Returns the number of frames on a thread that Python does not know: always 0. */
EXPORT int harness_foreign_thread(void)
{
    pthread_t thread;
    size_t n = 99;
    if (pthread_create(&thread, NULL, harness_other, &n) != 0)
        return -1;
    pthread_join(thread, NULL);
    return (int)n;
}

EXPORT void harness_age(void)
{
    safe_age();
}

/* The address of this function's own C frame: those of running loops are above it. */
EXPORT __attribute__((noinline)) void *harness_here(void)
{
    return __builtin_frame_address(0);
}

EXPORT void harness_forget(void)
{
    python_forget();
}

/* Gets the limits of the calling thread's stack. */
EXPORT void harness_limits(size_t *low, size_t *high)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &begin, &size);
        pthread_attr_destroy(&attributes);
    }
    *low = (size_t)begin;
    *high = (size_t)begin + size;
}
