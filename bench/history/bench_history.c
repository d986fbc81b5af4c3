/* bench_history.c - what it takes to find steps, outliers and machines in a history of many
 * sessions, on one core. Prints JSON.
 *
 * Each session has a mean of about 1 ms, spread by 5 %, a host and one of its two GPUs. With
 * `step` the second half of the sessions takes 10 % longer and ran on other hosts, so that groups
 * are compared within two levels.
 *
 *   bench_history [SESSIONS [HOSTS [step]]]      100000 1000 by default */
#include "analyze/compare/history.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, TEXT = 24 };

/* Returns a number in [0, 1), equal in each run. */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Names of `count` things, each in TEXT bytes. */
static char *names_new(const char *form, size_t count)
{
    char *names = calloc(count ? count : 1, TEXT);
    if (!names)
        exit(1);
    for (size_t i = 0; i < count; i++)
        snprintf(names + i * TEXT, TEXT, form, i);
    return names;
}

int main(int argc, char **argv)
{
    size_t sessions = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    size_t hosts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    bool step = argc > 3 && strcmp(argv[3], "step") == 0;
    if (!sessions || hosts < 2 || argc > 4 || (argc > 3 && !step)) {
        fputs(
            "usage: bench_history [SESSIONS [HOSTS [step]]], at least one session and two hosts\n",
            stderr);
        return 2;
    }
    char *session = names_new("session-%zu", sessions), *host = names_new("host-%zu", hosts);
    char *gpu = names_new("GPU-%zu", 2 * hosts);
    struct history_point *points = calloc(sessions, sizeof *points);
    int64_t least = INT64_MAX;
    struct history found = {0};
    if (!points)
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct region mem;
        uint64_t state = 1;
        for (size_t i = 0; i < sessions; i++) {
            size_t half = hosts / 2, later = step && i >= sessions / 2;
            size_t at =
                (size_t)(next_random(&state) * (double)(step ? half : hosts)) + later * half;
            double spread =
                (next_random(&state) + next_random(&state) + next_random(&state) - 1.5) * 0.1;
            points[i] = (struct history_point){.session = session + i * TEXT,
                                               .host = host + at * TEXT,
                                               .gpu = gpu + (2 * at + i % 2) * TEXT,
                                               .mean = 1e6 * (later ? 1.1 : 1) * exp(spread)};
        }
        region_init(&mem, SIZE_MAX);
        int64_t begin = clock_thread_cpu();
        if (history_find(&found, points, sessions, &mem) != 0)
            return 1;
        int64_t took = clock_thread_cpu() - begin;
        if (took < least)
            least = took;
        region_fini(&mem);
    }
    printf("{\"sessions\": %zu, \"hosts\": %zu, \"steps\": %zu, \"hosts_compared\": %zu, "
           "\"gpus_compared\": %zu,"
           " \"least_ms\": %.2f}\n",
           sessions, hosts, found.step_count, found.host_count, found.gpu_count,
           (double)least / 1e6);
    free(points);
    free(gpu);
    free(host);
    free(session);
    return 0;
}
