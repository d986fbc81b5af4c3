/* bench_stack.c - ns per captured stack, at a repeated site and at many in turn.
 *
 * Compared with glibc's backtrace (libgcc's unwinder) and libunwind's unw_backtrace, which
 * only collect addresses: no modules, no id. All run inside the same stack, one after the other in
 * every round. Prints one JSON object: for each depth (frames that backtrace sees) median, least
 * and quartiles of the rounds.
 *
 *   bench_stack [--rounds N] */
#include "base/err.h"
#include "stack/stack.h"
#include "tests/stack/shapes.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

enum { ROUNDS_MAX = 1000, CAPTURES = 2000, SITES = 64, ADDRESSES = 256 };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void capture_ours(void)
{
    stacks_capture(NULL);
}

/* backtrace of libc: libunwind has a function of the same name. */
static int (*libc_backtrace)(void **addresses, int n);

static void capture_backtrace(void)
{
    void *addresses[ADDRESSES];
    libc_backtrace(addresses, ADDRESSES);
}

#ifdef HAVE_LIBUNWIND
static void capture_libunwind(void)
{
    void *addresses[ADDRESSES];
    unw_backtrace(addresses, ADDRESSES);
}
#endif

static const struct way {
    const char *name;
    void (*capture)(void);
    int captures; /* a round */
} ways[] = {
    {"gpufl", capture_ours, CAPTURES},
    {"backtrace", capture_backtrace, CAPTURES / 20},
#ifdef HAVE_LIBUNWIND
    {"unw_backtrace", capture_libunwind, CAPTURES / 10},
#endif
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct {
    double ns[WAYS][ROUNDS_MAX];
    int round, depth;
} measured;

/* Runs at the inner end of the stack. */
static void measure(void *arg)
{
    void *addresses[ADDRESSES];
    (void)arg;
    measured.depth = libc_backtrace(addresses, ADDRESSES);
    for (int w = 0; w < WAYS; w++) {
        int64_t begin = now();
        for (int i = 0; i < ways[w].captures; i++)
            ways[w].capture();
        measured.ns[w][measured.round] = (double)(now() - begin) / ways[w].captures;
    }
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void print(const char *name, double *ns, int n, const char *end)
{
    qsort(ns, (size_t)n, sizeof *ns, ascending);
    printf("\"%s\": {\"median\": %.0f, \"least\": %.0f, \"quartiles\": [%.0f, %.0f]}%s", name,
           ns[n / 2], ns[0], ns[n / 4], ns[n * 3 / 4], end);
}

static void capture_once(void *arg)
{
    (void)arg;
    stacks_capture(NULL);
}

static double ns_many[ROUNDS_MAX];

/* The probe that captures nothing: its time is subtracted from that of 64 different stacks in
 * turn. */
static void nothing(void *arg)
{
    (void)arg;
}

static double many(shape_probe *probe)
{
    int64_t begin = now();
    for (int i = 0; i < CAPTURES; i++)
        shape_path(probe, NULL, i * 37 % SITES);
    return (double)(now() - begin) / CAPTURES;
}

int main(int argc, char **argv)
{
    static const int depths[] = {10, 30, 100};
    int rounds = argc > 2 && strcmp(argv[1], "--rounds") == 0 ? atoi(argv[2]) : 200;
    struct err e;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    libc_backtrace = libc ? (int (*)(void **, int))dlsym(libc, "backtrace") : NULL;
    if (!libc_backtrace || stacks_open(false, &e) != 0) {
        fprintf(stderr, "%s\n", libc_backtrace ? e.text : "no backtrace in libc.so.6");
        return 1;
    }
    printf("{\"unit\": \"ns per capture\", \"rounds\": %d", rounds);
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        shape_deep(measure, NULL, depths[d]);
        int calls = depths[d] - (measured.depth - depths[d]); /* frames of main and libc count */
        for (measured.round = 0; measured.round < rounds; measured.round++)
            shape_deep(measure, NULL, calls);
        printf(",\n \"depth %d\": {", measured.depth);
        for (int w = 0; w < WAYS; w++)
            print(ways[w].name, measured.ns[w], rounds, w + 1 < WAYS ? ",\n              " : "}");
    }
    for (int i = 0; i < rounds; i++) {
        double calls = many(nothing);
        ns_many[i] = many(capture_once) - calls;
    }
    printf(",\n ");
    print("64 sites in turn, depth 24", ns_many, rounds, "}\n");
    return 0;
}
