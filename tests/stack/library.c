/* library.c - is a library to open, close and open again; built several times with other
 * contents. */
#include "tests/stack/shapes.h"

#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT int library_call(shape_probe *probe, void *arg, int n);
EXPORT int library_thread(shape_probe *probe, void *arg, int n);

#if LIBRARY_ANSWER == 2
/* This library has a frame of another size at the same address as the others. */
static volatile int room_used;
#endif

int library_call(shape_probe *probe, void *arg, int n)
{
#if LIBRARY_ANSWER == 2
    volatile int room[40];
    room[n % 40] = n;
    probe(arg);
    room_used = room[n % 40];
#else
    probe(arg);
#endif
    return n + LIBRARY_ANSWER;
}

static struct {
    shape_probe *probe;
    void *arg;
} in_thread;

static void *library_main(void *unused)
{
    in_thread.probe(in_thread.arg);
    return unused;
}

/* Calls probe on a thread that has only functions of this library. */
int library_thread(shape_probe *probe, void *arg, int n)
{
    pthread_t t;
    in_thread.probe = probe;
    in_thread.arg = arg;
    if (pthread_create(&t, NULL, library_main, NULL) != 0)
        return -1;
    pthread_join(t, NULL);
    return n;
}
